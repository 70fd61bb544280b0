#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The block average on the CPU beside OpenCV's resize and frei0r's pixeliz0r, on the same frames in
the same run: 1920x1080 RGBA, the least milliseconds of many runs, which other programs disturb
least, and multiples of a memcpy. Not a test; run it where
python3-opencv and frei0r-plugins are installed:

    tests/bench/peers-blockavg.py build/tests/bench/cudafilters-bench
"""
import ctypes
import glob
import json
import subprocess
import sys
import time

import numpy as np

WIDTH, HEIGHT, FRAMES, RUNS = 1920, 1080, 8, 60


def least_ms(run):
    """Of frames that rotate, so that none of them stays in the cache."""
    times = []
    for number in range(RUNS):
        start = time.perf_counter()
        run(number % FRAMES)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def ours(bench, block, threads):
    result = subprocess.run(
        [bench, "--element", "cudablockavg", "--backend", "cpu", "--format", "RGBA", "--size",
         f"{WIDTH}x{HEIGHT}", "--property", f"block-width={block}", "--property",
         f"block-height={block}", "--threads", str(threads), "--runs", str(RUNS), "--json"],
        check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["min_ms"]


def opencv(sources, block, threads):
    try:
        import cv2
    except ImportError:
        return None
    cv2.setNumThreads(threads)
    size = (-(-WIDTH // block), -(-HEIGHT // block))
    small = np.empty((size[1], size[0], 4), np.uint8)
    large = [np.empty_like(source) for source in sources]

    def run(number):
        cv2.resize(sources[number], size, dst=small, interpolation=cv2.INTER_AREA)
        cv2.resize(small, (WIDTH, HEIGHT), dst=large[number], interpolation=cv2.INTER_NEAREST)
    return least_ms(run)


def pixeliz0r(sources, block):
    paths = glob.glob("/usr/lib/*/frei0r-1/pixeliz0r.so") + glob.glob(
        "/usr/lib/frei0r-1/pixeliz0r.so")
    if not paths:
        return None
    plugin = ctypes.CDLL(paths[0])
    plugin.f0r_init()
    plugin.f0r_construct.restype = ctypes.c_void_p
    instance = ctypes.c_void_p(plugin.f0r_construct(WIDTH, HEIGHT))
    for index, size in enumerate((WIDTH, HEIGHT)):
        value = ctypes.c_double(block / size)
        plugin.f0r_set_param_value(instance, ctypes.byref(value), index)
    results = [np.empty_like(source) for source in sources]

    def run(number):
        plugin.f0r_update(instance, ctypes.c_double(0.0),
                          ctypes.c_void_p(sources[number].ctypes.data),
                          ctypes.c_void_p(results[number].ctypes.data))
    return least_ms(run)


def main(bench):
    random = np.random.default_rng(1)
    sources = [random.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8) for _ in range(FRAMES)]
    copies = [np.empty_like(source) for source in sources]
    for source in sources:
        source[..., 3] = 255
    copy = least_ms(lambda number: np.copyto(copies[number], sources[number]))
    print(f"copy {copy:.2f} ms")
    for block in (8, 16, 32, 64):
        rows = {f"cudablockavg, {threads} threads": ours(bench, block, threads)
                for threads in (1, 2)}
        rows.update({f"OpenCV resize, {threads} threads": opencv(sources, block, threads)
                     for threads in (1, 2)})
        rows["frei0r pixeliz0r"] = pixeliz0r(sources, block)
        for name, ms in rows.items():
            print(f"{block}x{block} {name}: " +
                  (f"{ms:.2f} ms = {ms / copy:.1f} copies" if ms else "missing"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build/tests/bench/cudafilters-bench")
