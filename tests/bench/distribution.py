#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""distribution.py BENCH SOURCE MESON: the CPU engines as a distribution compiles them, with
CFLAGS=-O2 and --buildtype=plain, are as fast as those of BENCH; and who turns optimisation off, to
look at them in a debugger, gets that."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

WORK = (
    ("sepconv", "NV12", "preset=gaussian", "preset-size=17"),
    ("gaussblur", "NV12", "sigma=10"),
    ("llf", "I420"),
    ("blockavg", "RGBA"),
)
# Of the least times of interleaved runs, as many as it takes, since other programs disturb them:
# loops that are not vectorised take 2 to 17 times as long, however often they run.
SLOWEST = 1.5
ROUNDS = range(5, 20)


def configure(meson, source, build, flags, *options):
    subprocess.run([meson, "setup", str(build), source, "-Dcuda=disabled", "-Dexamples=false",
                    *options], env={**os.environ, "CFLAGS": flags}, check=True,
                   stdout=subprocess.DEVNULL)


def levels(build):
    """The optimisation that the compiler sees last, by file of cpu/ and plan/."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = (build / entry["file"]).resolve()
        if file.parent.name in ("cpu", "plan", "reference"):
            flags = [word for word in shlex.split(entry["command"]) if word.startswith("-O")]
            found.setdefault(file.name, set()).add(flags[-1] if flags else "none")
    return found


def wrong_levels(build, allowed):
    """The files with another optimisation than allowed, as text."""
    found = levels(build)
    wrong = [f"{name}: {', '.join(sorted(flags))}" for name, flags in sorted(found.items())
             if not flags <= allowed]
    return "\n".join(wrong) if found else "no file was found"


def least_ms(bench, element, layout, settings):
    words = [word for setting in settings for word in ("--property", setting)]
    said = subprocess.run(
        [str(bench), "--element", f"cuda{element}", "--backend", "cpu", "--format", layout,
         "--size", "320x240", "--threads", "1", "--runs", "100", "--json", *words],
        check=True, capture_output=True, text=True)
    return json.loads(said.stdout)["cpu_ms"]


def report(number, wrong, name):
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}", flush=True)
    for line in wrong.splitlines():
        print(f"# {line}", flush=True)
    return bool(wrong)


def compare(number, benches, work):
    element, layout, *settings = work
    ours = theirs = float("inf")
    for number_of_rounds in range(1, ROUNDS.stop):
        ours = min(ours, least_ms(benches[0], element, layout, settings))
        theirs = min(theirs, least_ms(benches[1], element, layout, settings))
        if number_of_rounds >= ROUNDS.start and theirs <= SLOWEST * ours:
            break
    wrong = (f"{theirs} ms, where this build takes {ours} ms" if theirs > SLOWEST * ours else "")
    return report(number, wrong, f"{' '.join(work)} is as fast")


def main():
    bench, source, meson = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        plain, debug = pathlib.Path(directory, "plain"), pathlib.Path(directory, "debug")
        configure(meson, source, plain, "-g -O2", "--buildtype=plain")
        configure(meson, source, debug, "", "-Doptimization=0")
        failures = report(1, wrong_levels(plain, {"-O3"}), "-O3 comes last")
        failures += report(2, wrong_levels(debug, {"-O0", "none"}), "optimisation=0 is kept")
        theirs = plain / "tests/bench/cudafilters-bench"
        subprocess.run(["ninja", "-C", str(plain), str(theirs.relative_to(plain))], check=True,
                       stdout=subprocess.DEVNULL)
        for number, work in enumerate(WORK, 3):
            failures += compare(number, (bench, theirs), work)
    print(f"1..{len(WORK) + 2}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
