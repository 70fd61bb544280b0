#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the grid of tests/bench/grid.py on this machine, the ladders and what peers there are,
prints tables, and writes all of it as JSON. tools/bench builds first and calls it.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import grid

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# Kinds of CPU by vendor, family and model, where the name of a virtual machine's tells nothing.
CPU_KINDS = {("GenuineIntel", 6, 85): "Cascade Lake", ("GenuineIntel", 6, 106): "Ice Lake",
             ("GenuineIntel", 6, 143): "Sapphire Rapids",
             ("GenuineIntel", 6, 207): "Emerald Rapids", ("GenuineIntel", 6, 173): "Granite Rapids",
             ("AuthenticAMD", 23): "Zen 1 or 2", ("AuthenticAMD", 25): "Zen 3 or 4",
             ("AuthenticAMD", 26): "Zen 5"}
GROUPS = ("sizes", "formats", "sigma", "taps", "blocks", "maps", "regions", "streams", "energy",
          "ladders", "peers")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/bench",
        description="Times every element over frame sizes, formats and settings on this machine, "
                    "on its GPU where it has one, beside a copy of the same frames and beside "
                    "other libraries where they are installed; prints tables and writes JSON, "
                    "which tools/charts draws.")
    parser.add_argument("--full", action="store_true",
                        help="all rows, some minutes; else a few of each group, a minute or two")
    parser.add_argument("--backend", choices=("cpu", "cuda"),
                        help="what to measure (default: cuda where there is a GPU, else cpu)")
    parser.add_argument("--only", metavar="GROUP", action="append", choices=GROUPS,
                        help="may be given again; groups are " + ", ".join(GROUPS))
    parser.add_argument("--output", metavar="FILE", default="bench.json",
                        help="where the JSON goes (default: bench.json); with --only, groups that "
                             "it has of this machine and that are not measured now stay")
    parser.add_argument("--build", metavar="DIRECTORY", default=ROOT / "build", type=pathlib.Path,
                        help="measure this build, and neither install nor build anything")
    arguments = parser.parse_args()
    arguments.keep = bool(arguments.only)
    arguments.only = arguments.only or GROUPS
    return arguments


# ---- The machine ----

def say(*words):
    """What a program prints, or nothing."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe_cpu():
    facts = dict(re.findall(r"^([\w ]+):\s*(.*)", say("lscpu"), re.MULTILINE))
    key = (facts.get("Vendor ID"), int(facts.get("CPU family", 0)), int(facts.get("Model", 0)))
    kind = CPU_KINDS.get(key) or CPU_KINDS.get(key[:2])
    name = re.sub(r"\((R|TM)\)", "", facts.get("Model name", platform.processor()))
    return f"{name} ({kind})" if kind else name


def describe_machine(backend):
    gpu = say("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    flags = pathlib.Path("/proc/cpuinfo")
    words = flags.read_text(encoding="utf-8").split() if flags.exists() else []
    return {
        "backend": backend,
        "cpu": describe_cpu(),
        "cores": os.cpu_count(),
        "instructions": [name for name in ("amx_tile", "avx512f", "avx2") if name in words],
        "gpu": gpu.splitlines()[0].split(", ")[0] if gpu else None,
        "driver": gpu.splitlines()[0].split(", ")[1] if gpu else None,
        "system": platform.platform(),
        "date": datetime.date.today().isoformat(),
        "version": say("git", "-C", str(ROOT), "describe", "--always", "--tags"),
    }


def has_gpu(bench):
    done = subprocess.run([bench, "--element", "cudablockavg", "--backend", "cuda", "--format",
                           "GRAY8", "--size", "64x64", "--runs", "1"], capture_output=True,
                          check=False)
    return done.returncode == 0


# ---- Measuring ----

def measure_rows(bench, rows, backend):
    """Results of rows in one process, each as its line comes; what stands in several groups is
    measured once."""
    commands = list(dict.fromkeys(" ".join(row.arguments(backend)) for row in rows))
    results, started = {}, time.monotonic()
    with subprocess.Popen([bench, "--batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write("\n".join(commands) + "\n")
        process.stdin.close()
        for command, line in zip(commands, process.stdout):
            results[command] = json.loads(line)
            print(f"\r{len(results)} of {len(commands)} rows, {time.monotonic() - started:.0f} s",
                  end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [{"group": row.group, "series": row.series, "place": row.place, "title": row.title,
             **results.get(" ".join(row.arguments(backend)), {"error": "missing"})}
            for row in rows]


def lines_of(command):
    """JSON objects that a program prints, without it none."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except OSError:
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure_ladders(build):
    program = build / "tests/bench/ladders/cudafilters-ladders"
    return lines_of([program, "--json"]) if program.exists() else []


def python_with(module):
    """Debian's packages are of /usr/bin/python3, before which another may come in PATH."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", f"import {module}"], capture_output=True,
                              check=False).returncode == 0:
                return python
        except OSError:
            pass
    return sys.executable


def measure_peers(build, backend):
    gpu = backend == "cuda"
    found = lines_of([python_with("torch" if gpu else "cv2"), HERE / "peers.py",
                      "gpu" if gpu else "cpu", "3840x2160" if gpu else "1920x1080"])
    npp = build / "tests/bench/peers-npp"
    return found + (lines_of([npp, "--json"]) if gpu and npp.exists() else [])


# ---- Tables ----

def time_of(row, unit):
    """On a CPU, where units are milliseconds, the least of many: other programs disturb it least.
    """
    return row["median_ms"] if unit > 1 else row["min_ms"]


def figure(result, unit):
    """What a row shows: a time and how many copies that is, a rate, or an energy."""
    if "error" in result:
        return "-"
    if "frames_per_second" in result:
        return f"{result['frames_per_second']:.0f}"
    if "frame_mj" in result:
        return f"{result['frame_mj']:.2f}" if result["frame_mj"] else "-"
    time_ms = time_of(result, unit)
    return f"{time_ms * unit:.{1 if unit > 1 else 2}f} ({time_ms / result['copy_ms']:.2f})"


def print_table(title, results, unit):
    places = list(dict.fromkeys(result["place"] for result in results))
    if all(isinstance(place, (int, float)) for place in places):
        places.sort()
    order = {size: index for index, size in enumerate(grid.SIZES + grid.FORMATS)}
    places.sort(key=lambda place: order.get(place, 0))
    cells = {(result["series"], result["place"]): figure(result, unit) for result in results}
    series = list(dict.fromkeys(result["series"] for result in results))
    first = max(len(name) for name in series)
    widths = [max([len(str(place))] + [len(cells.get((name, place), "")) for name in series])
              for place in places]
    print(f"\n{title}")
    print(" " * first, *(f"{place:>{width}}" for place, width in zip(places, widths)), sep="  ")
    for name in series:
        print(f"{name:<{first}}", *(f"{cells.get((name, place), ''):>{width}}"
                                    for place, width in zip(places, widths)), sep="  ")


def print_tables(report):
    gpu = report["machine"]["backend"] == "cuda"
    unit, name = (1000, "microseconds") if gpu else (1, "milliseconds")
    titles = {"streams": "frames a second of all streams together",
              "energy": "millijoules of a frame"}
    for group in GROUPS:
        results = [row for row in report["rows"] if row["group"] == group]
        if any(figure(result, unit) != "-" for result in results):
            print_table(f"{group}: {titles.get(group, name + ' of a frame (copies)')}", results,
                        unit)
    if report["ladders"]:
        print(f"\nladders: {name} of a picture (times the production kernel)")
    for rung in report["ladders"]:
        warps = f", {rung['warps']} warps" if rung["warps"] else ""
        print(f"{rung['ladder'] + '/' + rung['rung'] + warps:<36} "
              f"{rung['median_ms'] * unit:10.1f} "
              f"({rung['median_ms'] / rung['production_ms']:.2f})")
    if report["peers"]:
        print(f"\npeers: {name} of a frame")
    for row in report["peers"]:
        work = f"{row['work']} {row['value']}" if row["value"] else row["work"]
        print(f"{row['peer']:<36} {work:<10} {row['format']:<6} "
              f"{time_of(row, unit) * unit:10.2f}")


def keep_others(report, path, measured):
    """What an earlier run of this machine says of groups that this one has not measured."""
    try:
        old = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if any(old["machine"][fact] != report["machine"][fact] for fact in ("backend", "cpu", "gpu")):
        return
    report["rows"] += [row for row in old["rows"] if row["group"] not in measured]
    for name in ("ladders", "peers"):
        if name not in measured:
            report[name] = old[name]


def as_text(report):
    """JSON with a row a line, so that files can be compared."""
    lists = [f' "{name}": [\n' + ",\n".join("  " + json.dumps(row) for row in report[name])
             + "\n ]" for name in ("rows", "ladders", "peers")]
    return (f'{{\n "machine": {json.dumps(report["machine"])},\n' + ",\n".join(lists)
            + "\n}\n")


def main():
    arguments = parse_arguments()
    bench = arguments.build / "tests/bench/cudafilters-bench"
    backend = arguments.backend or ("cuda" if has_gpu(bench) else "cpu")
    rows = [row for row in grid.rows(arguments.full, backend == "cuda")
            if row.group in arguments.only]
    report = {"machine": describe_machine(backend), "rows": measure_rows(bench, rows, backend),
              "ladders": [], "peers": []}
    if backend == "cuda" and "ladders" in arguments.only:
        report["ladders"] = measure_ladders(arguments.build)
    if "peers" in arguments.only:
        report["peers"] = measure_peers(arguments.build, backend)
    print_tables(report)
    failed = [row["title"] for row in report["rows"] if "error" in row]
    output = pathlib.Path(arguments.output)
    if arguments.keep:
        keep_others(report, output, arguments.only)
    output.write_text(as_text(report), encoding="utf-8")
    print(f"\n{arguments.output} has all of it; tools/charts draws it.")
    for title in failed:
        print(f"failed: {title}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
