#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists the ladders, and where there is a GPU climbs them: every rung makes the right picture.

usage: check.py CUDAFILTERS-LADDERS
"""
import json
import subprocess
import sys

RUNGS = {"blur-map": 6, "block-mean": 25, "separable": 7, "bands": 5, "convolution": 5, "matrix": 6}
MISTAKES = [(["--only", "nothing"], "--list"), (["--runs", "0"], "1 to"), (["--runs"], "--runs"),
            (["--fast"], "--fast"), (["now"], "now")]
SKIPPED_STATUS = 77

count = failed = 0


def report(name, problem="", skip=""):
    global count, failed
    count += 1
    failed += bool(problem)
    for line in problem.splitlines():
        print("#", line)
    print(f"{'not ' if problem else ''}ok {count} - {name}" + (f" # SKIP {skip}" if skip else ""),
          flush=True)


def run(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)


def counts(names):
    found = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def main():
    listed = run("--list")
    lines = listed.stdout.splitlines()
    found = counts(line.split("/")[0] for line in lines)
    report("the list has all rungs", "" if found == RUNGS else f"{found}: {listed.stderr}")
    silent = [line for line in lines if not line.endswith(".")]
    report("each teaches something", "\n".join(silent))
    for arguments, part in MISTAKES:
        done = run(*arguments)
        refused = done.returncode == 2 and part in done.stderr and not done.stdout
        report(f"refuses {' '.join(arguments)}",
               "" if refused else f"status {done.returncode}: {done.stdout}{done.stderr}")
    done = run("--check", "--json")
    if done.returncode == SKIPPED_STATUS:
        report("all rungs are right", skip=done.stderr.strip())
    else:
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        found = counts(row["ladder"] for row in rows)
        good = done.returncode == 0 and found == RUNGS
        report("all rungs are right", "" if good else f"{found}\n{done.stderr}")
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
