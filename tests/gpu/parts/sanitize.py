# SPDX-License-Identifier: LGPL-2.1-or-later
"""compute-sanitizer on the engine tests: as many of their CUDA rows as the time allows."""
import concurrent.futures
import itertools
import os
import re
import shutil

from . import common, kernels

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SECONDS_PER_TOOL = 110
ROWS_PER_PROCESS = 4
FORMATS = ("NV12", "RGBA", "P010_10LE")  # one of each kind: two planes, alpha, shifted 16-bit


def sanitizer():
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    for place in filter(None, places):
        if os.access(place, os.X_OK):
            return place
    raise common.Skipped("there is no compute-sanitizer here")


def rows_on_cuda(test):
    said = common.run_command([str(test), "--list"], 60)
    names = [name for name in said.text.split() if name.startswith("cuda/")]
    return [name for name in names if name.count("/") == 1 or name.split("/")[-1] in FORMATS]


def batches(host):
    """(test, rows), the tests taking turns, so that a budget cuts all of them."""
    turns = []
    for test in kernels.kernel_tests(host):
        rows = rows_on_cuda(test)
        turns.append([(test, rows[i:i + ROWS_PER_PROCESS])
                      for i in range(0, len(rows), ROWS_PER_PROCESS)])
    return [batch for turn in itertools.zip_longest(*turns) for batch in turn if batch]


def run_tool(program, tool, work):
    """(title, problem) of each process that found its end in time, and how many rows those were."""
    deadline = common.Deadline(SECONDS_PER_TOOL)
    outcomes, rows_done = [], 0
    for test, rows in work:
        if deadline.passed():
            break
        said = common.run_command(
            [program, "--tool", tool, "--error-exitcode", "9", "--print-limit", "3", str(test),
             *rows], deadline.left(), {"OMP_WAIT_POLICY": "passive"})
        if said.status is None:
            break
        summary = re.search(r"(ERROR|RACECHECK) SUMMARY: (\d+) ", said.text)
        clean = said.status == 0 and summary and summary[2] == "0"
        outcomes.append((f"{tool} {test.name} {' '.join(rows)}", "" if clean else said.detail()))
        rows_done += len(rows)
    return outcomes, rows_done


def run(host, result, deadline):
    host.need_gpu()
    program = sanitizer()
    work = batches(host)
    if not work:
        raise common.Skipped("the engine tests have no CUDA rows")
    work = work[:8] if host.quick else work
    rows_in_all = sum(len(rows) for _, rows in work)
    with concurrent.futures.ThreadPoolExecutor(len(TOOLS)) as pool:
        for tool, (outcomes, rows_done) in zip(
                TOOLS, pool.map(lambda tool: run_tool(program, tool, work), TOOLS)):
            for title, problem in outcomes:
                result.check(not problem, title, problem)
            errors = sum(bool(problem) for _, problem in outcomes)
            result.note(f"{tool}: ERROR SUMMARY: {errors} of {len(outcomes)} processes with errors")
            if rows_done < rows_in_all:
                result.skip(tool, f"no time for {rows_in_all - rows_done} of {rows_in_all} rows")
            result.figures.append(f"{tool} {rows_done} rows, {errors} bad")
