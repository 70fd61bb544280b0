# SPDX-License-Identifier: LGPL-2.1-or-later
"""compute-sanitizer on every-kernel.c: every algorithm in every format, on small pictures."""
import concurrent.futures
import os
import re
import shutil

from . import common

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
CORES_PER_PROCESS = 2
SECONDS_PER_TOOL = 280

# racecheck takes seconds for what takes the others tenths. These formats have gray, two planes,
# alpha and shifted 16-bit samples; the others differ from them by where a channel lies.
FORMATS = {"racecheck": ("GRAY8", "NV12", "RGBA", "P010_10LE")}


def sanitizer():
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    for place in filter(None, places):
        if os.access(place, os.X_OK):
            return place
    raise common.Skipped("there is no compute-sanitizer here")


def batches(program, tool):
    """The rows of each algorithm."""
    algorithms = {}
    for row in common.run_command([str(program), "--list"], 60).text.split():
        algorithm, video_format = row.split("/")
        if video_format in FORMATS.get(tool, (video_format,)):
            algorithms.setdefault(algorithm, []).append(row)
    return list(algorithms.values())


def watch(tool, program, rows, deadline, environment):
    """How a tool judged a process: "" if it is clean, None if there was no time."""
    if deadline.passed():
        return None
    said = common.run_command(
        [sanitizer(), "--tool", tool, "--error-exitcode", "9", "--print-limit", "3", str(program),
         *rows], deadline.left(), environment)
    if said.status is None:
        return None
    summary = re.search(r"(ERROR|RACECHECK) SUMMARY: (\d+) ", said.text)
    clean = said.status == 0 and summary and summary[2] == "0" and "not ok" not in said.text
    return "" if clean else said.detail()


def run(host, result, deadline):
    host.need_gpu()
    sanitizer()
    program = host.program("tests/gpu/every-kernel")
    until = common.Deadline(min(SECONDS_PER_TOOL, deadline.left()))
    work = {tool: batches(program, tool)[::4 if host.quick else 1] for tool in TOOLS}
    devices = common.visible_devices()
    processes = max(os.cpu_count() // (CORES_PER_PROCESS * len(TOOLS)), 4)
    pools = {tool: concurrent.futures.ThreadPoolExecutor(processes) for tool in TOOLS}
    jobs = {tool: [(rows, pools[tool].submit(watch, tool, program, rows, until,
                                             common.take_turns(devices, index)))
                   for index, rows in enumerate(work[tool])]
            for tool in TOOLS}
    for tool in TOOLS:
        done = bad = 0
        for rows, job in jobs[tool]:
            problem = job.result()
            if problem is None:
                result.skip(f"{tool} {rows[0]} to {rows[-1]}", "no time")
                continue
            done += len(rows)
            bad += bool(problem)
            result.check(not problem, f"{tool} {rows[0]} to {rows[-1]}", problem)
        result.figures.append(f"{tool} {done} of {sum(map(len, work[tool]))} rows in "
                              f"{deadline.used():.0f} s, {bad} bad")
