#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Looks for cliffs: settings of the CPU engines that cost many times what their neighbours do.

usage: cost.py CUDAFILTERS-BENCH

Costs are the least processor time of several runs in turn on one thread, and bounds a few times
what is usual. Other work on the machine takes caches and clock rate from one of two settings, so
what exceeds its bound is run again, up to the last round.
"""
import json
import subprocess
import sys

ROUNDS = range(3, 12)
PAIRS = [  # element, format, settings, what they are compared with, at most so many times as long
    ("cudallf", "NV12", [], ["protect=false", "noise-floor=0"], 3),
    ("cudagaussblur", "RGBA", ["sigma=-20"], ["sigma=20"], 9),
    ("cudagaussblur", "RGBA", ["sigma=-100"], ["sigma=100"], 15),
    ("cudagaussblur", "NV12", ["sigma=-250"], ["sigma=250"], 15),
    ("cudagaussblur", "I420_10LE", ["sigma=-30"], ["sigma=30"], 9),
    ("cudagaussblur", "RGBA", ["sigma=250"], ["sigma=5"], 4),
    ("cudagaussblur", "RGBA", ["sigma=250", "border=wrap"], ["sigma=250"], 6),
    ("cudagaussblur", "NV12", ["sigma=100", "border=reflect"], ["sigma=100"], 6),
    ("cudagaussblur", "RGBA", ["sigma=-250", "border=reflect-101"], ["sigma=-250"], 10),
]


def milliseconds(element, video_format, properties):
    arguments = [word for one in properties for word in ("--property", one)]
    done = subprocess.run(
        [sys.argv[1], "--element", element, "--backend", "cpu", "--format", video_format,
         "--size", "640x360", "--threads", "1", "--runs", "5", "--json", *arguments],
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["cpu_ms"]


def ratio(element, video_format, dear, cheap, bound):
    ours = theirs = float("inf")
    for count in range(1, ROUNDS.stop):
        ours = min(ours, milliseconds(element, video_format, dear))
        theirs = min(theirs, milliseconds(element, video_format, cheap))
        if count >= ROUNDS.start and ours <= bound * theirs:
            break
    return ours / theirs


def main():
    failed = 0
    for count, (element, video_format, dear, cheap, bound) in enumerate(PAIRS, 1):
        times = ratio(element, video_format, dear, cheap, bound)
        good = times <= bound
        failed += not good
        print(f"{'' if good else 'not '}ok {count} - {element} {video_format} {' '.join(dear)} "
              f"beside {' '.join(cheap)}")
        print(f"# {times:.1f} times, allowed are {bound}", flush=True)
    print(f"1..{len(PAIRS)}")
    return 1 if failed else 0


sys.exit(main())
