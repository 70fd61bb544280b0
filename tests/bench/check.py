#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the benchmark on small frames, for every element and backend, and checks what it prints.

usage: check.py CUDAFILTERS-BENCH cuda|no-cuda
"""
import json
import re
import subprocess
import sys

ELEMENTS = {  # and a property of each that is not its default
    "cudallf": "alpha=0.4",
    "cudagaussblur": "sigma=3.5",
    "cudablockavg": "block-width=5",
    "cudasepconv": "row-kernel=<1,2,1>",
    "cudatonemap": "detail=1.5",
}
FORMATS = {"cudatonemap": ("P010_10LE", "Y444_16LE")}  # instead of those of the others
OTHERS_FORMATS = ("NV12", "RGBA", "GRAY16_LE")
FIELDS = {
    "element": str, "backend": str, "algorithm": str, "format": str, "width": int, "height": int,
    "threads": int, "runs": int, "median_ms": float, "min_ms": float, "copy_ms": float,
    "ratio": float,
}
MISTAKES = [  # arguments, what the message must say
    ([], "--element"),
    (["--element", "cudablur"], "--backend"),
    (["--element", "cudablur", "--backend", "cpu", "--format", "NV12", "--size", "8x8"],
     "cudagaussblur"),
    (["--backend", "opencl"], "reference cpu"),
    (["--format", "NV61"], "NV61"),
    (["--size", "8"], "1920x1080"),
    (["--size", "0x8"], "1920x1080"),
    (["--property", "block-width"], "sigma=2.5"),
    (["--property", "sigma=2"], "no property"),
    (["--property", "block-width=0"], "1 to 4096"),
    (["--property", "mode=median"], "average, min, max"),
    (["--output-format", "RGBA"], "cudatonemap"),
    (["--threads", "many"], "--threads"),
    (["--runs", "-1"], "--runs"),
    (["--alpha", "half"], "opaque"),
    (["--streams", "0"], "1 to"),
    (["--regions", "2000"], "0 to"),
    (["--batch", "/nowhere"], "/nowhere"),
    (["--fast"], "--fast"),
    (["now"], "now"),
]
GOOD = ["--element", "cudablockavg", "--backend", "cpu", "--format", "NV12", "--size", "33x17",
        "--runs", "4"]


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def line(self, name, problem="", skip=""):
        self.count += 1
        self.failed += bool(problem)
        for line in problem.splitlines():
            print("#", line)
        print(f"{'not ' if problem else ''}ok {self.count} - {name}"
              + (f" # SKIP {skip}" if skip else ""), flush=True)


def run(arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)


def problem_with(line, element, backend, video_format):
    try:
        result = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}: {line!r}"
    fields = FIELDS if backend == "cuda" else {**FIELDS, "cpu_ms": float}
    if list(result) != list(fields):
        return f"fields {list(result)}"
    for field, kind in fields.items():
        if not isinstance(result[field], (int, float) if kind is float else kind):
            return f"{field} is {result[field]!r}"
    said = (result["element"], result["backend"], result["format"], result["width"],
            result["height"], result["runs"])
    if said != (element, backend, video_format, 33, 17, 4):
        return f"it measured {said}"
    if not (result["algorithm"] and result["threads"] >= 1):
        return f"algorithm {result['algorithm']!r}, threads {result['threads']}"
    if not 0 < result["min_ms"] <= result["median_ms"] or not result["copy_ms"] > 0:
        return f"times {result}"
    if backend != "cuda" and not result["cpu_ms"] > 0:
        return f"processor time {result['cpu_ms']}"
    if abs(result["ratio"] * result["copy_ms"] / result["median_ms"] - 1) > 0.01:
        return f"ratio {result}"
    return ""


def check_engine(tap, element, backend, video_format):
    name = f"{element}/{backend}/{video_format}"
    done = run(["--element", element, "--backend", backend, "--format", video_format,
                "--size", "33x17", "--runs", "4", "--json", "--property", ELEMENTS[element]])
    if done.returncode == 1 and backend == "cuda" and re.search("device|GPU", done.stderr):
        tap.line(name, skip=done.stderr.strip())
    elif done.returncode:
        tap.line(name, problem=f"status {done.returncode}: {done.stderr}")
    elif done.stdout.count("\n") != 1:
        tap.line(name, problem=f"not one line: {done.stdout!r}")
    else:
        tap.line(name, problem=problem_with(done.stdout, element, backend, video_format))


def check_mistake(tap, arguments, part):
    whole = arguments if not arguments or arguments[0] == "--element" else GOOD + arguments
    done = run(whole)
    problem = ""
    if done.returncode != 2 or done.stdout or part not in done.stderr:
        problem = f"status {done.returncode}, said {done.stderr!r}, printed {done.stdout!r}"
    tap.line("refuses " + (" ".join(arguments) or "nothing"), problem)


def check_additions(tap):
    """What a row may ask for besides."""
    for option, value, field in (("--streams", "3", "frames_per_second"),
                                 ("--regions", "3", "regions")):
        done = run([*GOOD, "--json", option, value])
        good = done.returncode == 0 and json.loads(done.stdout).get(field, 0) > 0
        tap.line(option, "" if good else done.stdout + done.stderr)
    done = run([*GOOD, "--json", "--energy"])
    millijoules = json.loads(done.stdout).get("frame_mj", 0) if done.returncode == 0 else 0
    tap.line("--energy", "" if millijoules is None or millijoules > 0 else done.stdout)


def check_batch(tap):
    """A row that is refused does not stop those behind it."""
    good = " ".join([*GOOD, "--json"])
    done = subprocess.run([sys.argv[1], "--batch", "-"], capture_output=True, text=True,
                          check=False, input=f"{good}\n\n{good} --runs x\n{good} --runs 5\n")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    right = done.returncode == 1 and "--runs" in done.stderr
    right = right and [row.get("runs") for row in rows] == [4, None, 5] and "error" in rows[1]
    tap.line("--batch", "" if right else done.stdout + done.stderr)


def main():
    tap = Tap()
    backends = ["reference", "cpu"] + (["cuda"] if sys.argv[2] == "cuda" else [])
    for element in ELEMENTS:
        for backend in backends:
            for video_format in FORMATS.get(element, OTHERS_FORMATS):
                check_engine(tap, element, backend, video_format)
    for arguments, part in MISTAKES:
        check_mistake(tap, arguments, part)
    check_additions(tap)
    check_batch(tap)
    done = run(GOOD)
    readable = done.returncode == 0 and "median" in done.stdout and "ratio" in done.stdout
    tap.line("readable line", "" if readable else done.stdout + done.stderr)
    done = run(["--help"])
    complete = done.returncode == 0 and all(word in done.stdout for word in ELEMENTS)
    tap.line("help", "" if complete else done.stdout + done.stderr)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


sys.exit(main())
