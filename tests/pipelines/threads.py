#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads of the CPU engines: a system that allows few of them, or a number of them that no system
has, neither ends the program nor changes a byte, and they cost nothing while they wait."""
import os
import resource
import tempfile

import harness

ELEMENTS = ("cudallf", "cudagaussblur sigma=20", "cudablockavg", "cudasepconv preset=gaussian",
            "cudallf engine=exact levels=2", "cudatonemap")
CAPS = "video/x-raw,format=RGBA,width=320,height=240,framerate=30/1"
HDR_CAPS = CAPS.replace("RGBA", "P010_10LE") + ",colorimetry=bt2100-pq"
LIMITED = ("prlimit", f"--as={450000 * 1024}")

PACED_FRAMES = 90
# Seconds of CPU time that a second thread may cost in all these frames, which take three seconds
# to come; one that spun between them would cost ten times that.
PACED_COST = 0.15


def frames(element, prefix=()):
    caps = HDR_CAPS if element.startswith("cudatonemap") else CAPS
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "frames")
        harness.launch("videotestsrc num-buffers=3 pattern=smpte100 !", [caps], "!", element,
                       "backend=cpu ! filesink", [f"location={file}"], prefix=prefix)
        with open(file, "rb") as content:
            return content.read()


def check_limits(tap):
    for element in ELEMENTS:
        want = frames(f"{element} n-threads=1")
        for threads, prefix in ((32, LIMITED), (40000, LIMITED), (40000, ())):
            name = f"{element} n-threads={threads}{', limited memory' if prefix else ''}"
            try:
                tap.check(frames(f"{element} n-threads={threads}", prefix) == want, name,
                          "other bytes than with one thread")
            except harness.PipelineError as error:
                tap.check(False, name, str(error))


def paced_seconds(threads):
    """CPU time of the whole process that shows a mosaic in real time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.launch(f"videotestsrc is-live=true num-buffers={PACED_FRAMES} pattern=black !",
                   ["video/x-raw,format=GRAY8,width=640,height=480,framerate=30/1"],
                   f"! cudablockavg backend=cpu n-threads={threads} ! fakesink sync=true")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_waiting(tap):
    """The least of several runs each: what else the machine does costs time too."""
    alone = min(paced_seconds(1) for _ in range(2))
    together = min(paced_seconds(2) for _ in range(3))
    tap.check(together <= alone + PACED_COST, "a second thread sleeps between frames",
              f"{alone:.3f} s of CPU time with one thread, {together:.3f} s with two")
    print(f"# {alone:.3f} s of CPU time with one thread, {together:.3f} s with two", flush=True)


def run(tap):
    check_limits(tap)
    check_waiting(tap)


if __name__ == "__main__":
    harness.main(run)
