#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What else blurs, filters and averages, where it is installed: a JSON object a line.

usage: peers.py cpu|gpu WIDTHxHEIGHT

CPU: OpenCV, frei0r, FFmpeg, torchvision. GPU: torchvision, CuPy, CV-CUDA. Frames of RGBA bytes take
turns; `work` and `value` say what was done: sigma, taps or blocks. All of a CPU's threads work
where the peer can use them; a copy of a frame is a row too.
"""
import importlib.util
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

SIGMAS = (2, 10, 30)
TAPS = (9, 33)
BLOCKS = (16, 32)
FRAMES = 8
LONGEST = 1.0  # seconds that a row takes, if 3 runs do


def report(peer, work, value, times):
    """Milliseconds of several runs."""
    print(json.dumps({"peer": peer, "work": work, "value": value, "format": "RGBA",
                      "width": WIDTH, "height": HEIGHT,
                      "median_ms": round(statistics.median(times), 5),
                      "min_ms": round(min(times), 5)}), flush=True)


def gaussian(taps):
    sigma = 0.3 * ((taps - 1) / 2 - 1) + 0.8
    kernel = np.exp(-0.5 * (np.arange(taps) - taps // 2) ** 2 / sigma ** 2)
    return (kernel / kernel.sum()).astype(np.float32)


def frames():
    random = np.random.default_rng(1)
    first = random.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8)
    first[..., 3] = 255
    return [np.roll(first, HEIGHT * i // FRAMES, 0) for i in range(FRAMES)]


# ---- Either ----

def torchvision(sources, device, times, sigmas):
    import torch
    import torchvision as vision
    peer = f"torchvision {vision.__version__.split('+')[0]}"
    planes = [torch.from_numpy(np.ascontiguousarray(source.transpose(2, 0, 1))).to(device)
              for source in sources]
    copies = [torch.empty_like(one) for one in planes]
    report("PyTorch", "copy", 0, times(lambda i: copies[i].copy_(planes[i])))
    for sigma in sigmas:
        size = 2 * 4 * sigma + 1
        report(peer, "sigma", sigma, times(
            lambda i, sigma=sigma, size=size: vision.transforms.functional.gaussian_blur(
                planes[i], [size, size], [sigma, sigma])))


# ---- CPU ----

def host_times(run):
    run(0)
    times = []
    end = time.perf_counter() + LONGEST
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run(len(times) % FRAMES)
        times.append(1000 * (time.perf_counter() - start))
    return times


def opencv(sources, results):
    import cv2
    peer = f"OpenCV {cv2.__version__}"
    border = cv2.BORDER_REPLICATE
    for sigma in SIGMAS:
        report(peer, "sigma", sigma, host_times(lambda i, sigma=sigma: cv2.GaussianBlur(
            sources[i], (0, 0), sigma, dst=results[i], borderType=border)))
    for taps in TAPS:
        kernel = gaussian(taps)
        report(peer, "taps", taps, host_times(lambda i, kernel=kernel: cv2.sepFilter2D(
            sources[i], -1, kernel, kernel, dst=results[i], borderType=border)))
    for block in BLOCKS:
        def average(i, size=(-(-WIDTH // block), -(-HEIGHT // block))):
            small = cv2.resize(sources[i], size, interpolation=cv2.INTER_AREA)
            cv2.resize(small, (WIDTH, HEIGHT), dst=results[i], interpolation=cv2.INTER_NEAREST)
        report(peer, "blocks", block, host_times(average))


def frei0r(sources, results):
    path = pathlib.Path(__file__).with_name("peers-blockavg.py")
    spec = importlib.util.spec_from_file_location("peers_blockavg", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.WIDTH, module.HEIGHT = WIDTH, HEIGHT
    for block in BLOCKS:
        least = module.pixeliz0r(sources, block)
        if least is None:
            raise ImportError("pixeliz0r is not installed")
        report("frei0r pixeliz0r", "blocks", block, [least])


def ffmpeg_seconds(graph, count):
    start = time.perf_counter()
    subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i",
                    f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap", "-vf", graph, "-frames:v",
                    str(count), "-f", "null", "-"], check=True, capture_output=True)
    return time.perf_counter() - start


def ffmpeg(_sources, _results):
    """From runs that differ by the filter and by their number of frames."""
    if not shutil.which("ffmpeg"):
        raise ImportError("ffmpeg")
    few, many = 5, 45
    for sigma in SIGMAS:
        graph = f"gblur=sigma={sigma}:steps=6"
        rounds = [[ffmpeg_seconds(words, many) - ffmpeg_seconds(words, few)
                   for words in (graph, "null")] for _ in range(3)]
        report("FFmpeg gblur, 6 steps", "sigma", sigma,
               [1000 * (filtered - plain) / (many - few) for filtered, plain in rounds])


def torchvision_on_cpu(sources, _results):
    """Its kernels are not separable: sigma 30 would take minutes."""
    torchvision(sources, "cpu", host_times, SIGMAS[:2])


def cpu():
    sources = frames()
    results = [np.empty_like(source) for source in sources]
    report("NumPy", "copy", 0, host_times(lambda i: np.copyto(results[i], sources[i])))
    for peer in (opencv, frei0r, ffmpeg, torchvision_on_cpu):
        attempt(peer, sources, results)


# ---- GPU ----

def device_times(run):
    """By PyTorch's events, which see CuPy's and CV-CUDA's work too, on the current stream."""
    import torch
    run(0)
    torch.cuda.synchronize()
    times = []
    end = time.perf_counter() + LONGEST
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 100):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        marks[0].record()
        run(len(times) % FRAMES)
        marks[1].record()
        marks[1].synchronize()
        times.append(marks[0].elapsed_time(marks[1]))
    return times


def torchvision_on_gpu(sources):
    torchvision(sources, "cuda", device_times, SIGMAS)


def cupy(sources):
    import cupy as cp
    import torch
    from cupyx.scipy import ndimage
    with cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        planes = [cp.asarray(source, dtype=cp.float32) for source in sources]
        for sigma in SIGMAS:
            report(f"CuPy {cp.__version__}", "sigma", sigma, device_times(
                lambda i, sigma=sigma: ndimage.gaussian_filter(
                    planes[i], (sigma, sigma, 0), mode="nearest")))


def cvcuda(sources):
    import cvcuda as cv
    import torch
    stream = cv.cuda.as_stream(torch.cuda.current_stream().cuda_stream) \
        if hasattr(cv, "cuda") else None
    frames_on_device = [torch.from_numpy(source).cuda() for source in sources]
    tensors = [cv.as_tensor(one, "HWC") for one in frames_on_device]
    results = [cv.as_tensor(torch.empty_like(one), "HWC") for one in frames_on_device]
    for sigma in SIGMAS[:2]:
        size = 2 * 4 * sigma + 1
        report(f"CV-CUDA {cv.__version__}", "sigma", sigma, device_times(
            lambda i, sigma=sigma, size=size: cv.gaussian_into(
                results[i], tensors[i], (size, size), (sigma, sigma), cv.Border.REPLICATE,
                **({"stream": stream} if stream else {}))))


def gpu():
    sources = frames()
    for peer in (torchvision_on_gpu, cupy, cvcuda):
        attempt(peer, sources)


def attempt(peer, *arguments):
    """Without it, or where it fails, its rows are missing, and standard error says why."""
    try:
        peer(*arguments)
    except Exception as error:  # whatever others raise
        print(f"{peer.__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("cpu", "gpu"):
        sys.exit(__doc__)
    WIDTH, HEIGHT = map(int, sys.argv[2].split("x"))
    (cpu if sys.argv[1] == "cpu" else gpu)()
