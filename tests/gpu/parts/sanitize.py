# SPDX-License-Identifier: LGPL-2.1-or-later
"""compute-sanitizer on every-kernel.c: every algorithm in every format, on small pictures."""
import concurrent.futures
import os
import re
import shutil

from . import common

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PROCESSES = 3  # of each tool at once: the host's work between launches is most of it
SECONDS_PER_TOOL = 140
ROWS_PER_PROCESS = 48  # two algorithms in all formats; a process takes seconds to start


def sanitizer():
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    for place in filter(None, places):
        if os.access(place, os.X_OK):
            return place
    raise common.Skipped("there is no compute-sanitizer here")


def batches(program):
    """Lists of rows."""
    rows = common.run_command([str(program), "--list"], 60).text.split()
    return [rows[i:i + ROWS_PER_PROCESS] for i in range(0, len(rows), ROWS_PER_PROCESS)]


def watch(tool, program, rows, deadline):
    """How a tool judged a process: "" if it is clean, None if there was no time."""
    if deadline.passed():
        return None
    said = common.run_command(
        [sanitizer(), "--tool", tool, "--error-exitcode", "9", "--print-limit", "3", str(program),
         *rows], deadline.left(), {"OMP_WAIT_POLICY": "passive"})
    if said.status is None:
        return None
    summary = re.search(r"(ERROR|RACECHECK) SUMMARY: (\d+) ", said.text)
    clean = said.status == 0 and summary and summary[2] == "0" and "not ok" not in said.text
    return "" if clean else said.detail()


def run(host, result, deadline):
    host.need_gpu()
    sanitizer()
    program = host.program("tests/gpu/every-kernel")
    work = batches(program)
    work = work[::4] if host.quick else work
    until = common.Deadline(min(SECONDS_PER_TOOL, deadline.left()))
    with concurrent.futures.ThreadPoolExecutor(PROCESSES * len(TOOLS)) as pool:
        # The tools take turns, so that a budget cuts all of them.
        jobs = [(tool, rows, pool.submit(watch, tool, program, rows, until))
                for rows in work for tool in TOOLS]
        done = {tool: [0, 0] for tool in TOOLS}
        for tool, rows, job in jobs:
            problem = job.result()
            if problem is None:
                continue
            done[tool][0] += len(rows)
            done[tool][1] += bool(problem)
            result.check(not problem, f"{tool} {rows[0]} to {rows[-1]}", problem)
    rows_in_all = sum(map(len, work))
    for tool, (rows, bad) in done.items():
        if rows < rows_in_all:
            result.skip(tool, f"no time for {rows_in_all - rows} of {rows_in_all} rows")
        result.figures.append(f"{tool} {rows} rows, {bad} bad")
