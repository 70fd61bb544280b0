#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudagaussblur and cudasepconv on the CPU beside what else blurs: OpenCV, GStreamer's gaussianblur
and cvsmooth, FFmpeg. Time of 1920x1080 frames of 4 channels (cvsmooth: 3) in milliseconds, and the
error: largest and rms distance in codes of 8 bits from scipy in double precision before rounding,
away from the borders, on a photograph with a band of black and white noise.

The time is that of all processors together, so that other programs and threads that wait disturb it
little; of programs, what the filter adds to a pipeline without it. Each is the median of rounds
that alternate. Not a test; what is not installed is left out:

    GST_PLUGIN_PATH=build/gst tests/bench/peers-blur.py [ROUNDS]
"""
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.ndimage

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from photographs import photograph

try:
    import cv2
except ImportError:
    cv2 = None

WIDTH, HEIGHT, THREADS, FRAMES = 1920, 1080, 2, 8


# Pictures: rows, columns, 4 channels of bytes, alpha 255.

def picture():
    photo = photograph("astronaut.png")
    bars = np.random.default_rng(1).integers(0, 2, (120, photo.shape[1], 3)) * 255
    stacked = np.concatenate([photo[:256], bars, photo[256:]]).astype(np.uint8)
    return np.concatenate([stacked, np.full_like(stacked[..., :1], 255)], -1)


def exact(samples, sigma):
    return scipy.ndimage.gaussian_filter(samples.astype(float), (sigma, sigma, 0), truncate=6,
                                         mode="nearest")


def correlated(samples, kernel):
    result = samples.astype(float)
    for axis in (0, 1):
        result = scipy.ndimage.correlate1d(result, kernel, axis, mode="nearest")
    return result


def error(output, wanted, margin):
    inner = np.abs(output.astype(float) - wanted)[margin:-margin, margin:-margin, :3]
    return inner.max(), np.sqrt((inner ** 2).mean())


# Programs: pictures go through files.

def gstreamer(samples, raw_format, words):
    """Through elements that take `raw_format`."""
    with tempfile.TemporaryDirectory() as directory:
        source, result = pathlib.Path(directory, "in"), pathlib.Path(directory, "out")
        source.write_bytes(samples.tobytes())
        subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={source}",
                        f"blocksize={samples.size}", "!", "rawvideoparse", f"format={raw_format}",
                        f"width={samples.shape[1]}", f"height={samples.shape[0]}", "!", *words, "!",
                        "filesink", f"location={result}"], check=True, capture_output=True)
        return np.frombuffer(result.read_bytes(), np.uint8).reshape(samples.shape)


def ffmpeg(samples, graph):
    """Planar, as FFmpeg's filters want it: no conversion."""
    planes = np.ascontiguousarray(samples[..., [1, 2, 0, 3]].transpose(2, 0, 1))
    result = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "gbrap", "-s",
         f"{samples.shape[1]}x{samples.shape[0]}", "-i", "-", "-vf", graph, "-f", "rawvideo",
         "-pix_fmt", "gbrap", "-"], input=planes.tobytes(), check=True, capture_output=True)
    data = np.frombuffer(result.stdout, np.uint8).reshape(planes.shape).transpose(1, 2, 0)
    return data[..., [2, 0, 1, 3]]


def processor_seconds(words):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    subprocess.run(words, check=True, capture_output=True)
    return used() - before


def added_ms(with_filter, without):
    """A frame, from runs that differ by the filter and by their number of frames."""
    few, many = FRAMES, 4 * FRAMES
    once = [processor_seconds(words(count))
            for words in (with_filter, without) for count in (few, many)]
    return 1000 * ((once[1] - once[0]) - (once[3] - once[2])) / (many - few)


def gstreamer_ms(video_format, words):
    def pipeline(middle):
        return lambda count: [
            "gst-launch-1.0", "-q", "videotestsrc", "pattern=blue", f"num-buffers={count}", "!",
            f"video/x-raw,format={video_format},width={WIDTH},height={HEIGHT}", "!", *middle,
            "fakesink"]
    return added_ms(pipeline([*words, "!"]), pipeline([]))


def ffmpeg_ms(graph):
    def command(middle):
        return lambda count: [
            "ffmpeg", "-loglevel", "error", "-filter_threads", str(THREADS), "-f", "lavfi", "-i",
            f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap", "-vf", middle, "-frames:v", str(count),
            "-f", "null", "-"]
    return added_ms(command(graph), command("null"))


def opencv_ms(run):
    frames = [np.random.default_rng(i).integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8)
              for i in range(4)]
    results = [np.empty_like(frame) for frame in frames]
    cv2.setNumThreads(THREADS)
    times = []
    for number in range(FRAMES):
        start = time.process_time()
        run(frames[number % 4], results[number % 4])
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


# Contestants: (name, time of a frame, output for a picture or None).

def ours(element, settings):
    words = [element, "backend=cpu", f"n-threads={THREADS}", *settings.split()]
    return (f"{element} {settings}", lambda: gstreamer_ms("RGBA", words),
            lambda samples: gstreamer(samples, "rgba", words))


def opencv(name, run):
    return (f"OpenCV {name}", lambda: opencv_ms(run), lambda samples: run(samples, None))


def pipeline(element, settings, video_format):
    def output(samples):
        if video_format == "AYUV":  # any 4 channels
            return gstreamer(samples, "ayuv", [element, *settings.split()])
        three = gstreamer(np.ascontiguousarray(samples[..., :3]), "bgr",
                          [element, *settings.split()])
        return np.concatenate([three, samples[..., 3:]], -1)
    return (f"{element} {settings}", lambda: gstreamer_ms(video_format, [element,
                                                                        *settings.split()]), output)


def filtergraph(graph):
    return f"FFmpeg {graph}", lambda: ffmpeg_ms(graph), lambda samples: ffmpeg(samples, graph)


def has_element(name):
    return subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode == 0


def gaussian_contestants(sigma):
    yield ours("cudagaussblur", f"sigma={sigma}")
    if cv2:
        for name, size in (("GaussianBlur", 0), ("GaussianBlur, 8 sigma wide", 2 * 4 * sigma + 1)):
            yield opencv(name, lambda source, result, size=size: cv2.GaussianBlur(
                source, (size, size), sigma, dst=result, borderType=cv2.BORDER_REPLICATE))
    if has_element("gaussianblur") and sigma <= 20:
        yield pipeline("gaussianblur", f"sigma={sigma}", "AYUV")
    if has_element("cvsmooth"):
        size = 2 * 3 * sigma + 1
        yield pipeline("cvsmooth", f"kernel-width={size} kernel-height={size} color={sigma}", "BGR")
    if shutil.which("ffmpeg"):
        yield filtergraph(f"gblur=sigma={sigma}")
        yield filtergraph(f"gblur=sigma={sigma}:steps=6")


def taps_contestants(kernel):
    words = "<" + ",".join(repr(tap) for tap in kernel) + ">"
    _, measure, output = ours("cudasepconv", f"row-kernel={words} column-kernel={words}")
    yield f"cudasepconv, {len(kernel)} taps", measure, output
    if cv2:
        taps = np.array(kernel)
        yield opencv("sepFilter2D", lambda source, result: cv2.sepFilter2D(
            source, -1, taps, taps, dst=result, borderType=cv2.BORDER_REPLICATE))


def map_contestants(sigma):
    yield ours("cudagaussblur", f"map-mode=radial sigma={sigma}")
    yield ours("cudagaussblur", f"map-mode=luma sigma={sigma}")


def varblur(sigma):
    """Of a soft circle: the original, and a map of radii."""
    return ("FFmpeg varblur", lambda: added_ms(
        lambda count: ["ffmpeg", "-loglevel", "error", "-filter_complex_threads", str(THREADS),
                       "-f", "lavfi", "-i", f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap", "-f",
                       "lavfi", "-i", f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap",
                       "-filter_complex", f"[0][1]varblur=min_r=0:max_r={sigma * 2}",
                       "-frames:v", str(count), "-f", "null", "-"],
        lambda count: ["ffmpeg", "-loglevel", "error", "-filter_complex_threads", str(THREADS),
                       "-f", "lavfi", "-i", f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap", "-f",
                       "lavfi", "-i", f"color=gray:s={WIDTH}x{HEIGHT},format=gbrap",
                       "-filter_complex", "[0][1]mix=2:weights=1 0", "-frames:v", str(count), "-f",
                       "null", "-"]), None)


def contest(title, contestants, rounds, wanted=None, margin=1):
    times = {name: [] for name, _, _ in contestants}
    for _ in range(rounds):
        for name, measure, _ in contestants:
            times[name].append(measure())
    first = statistics.median(times[contestants[0][0]])
    print(f"{title}: milliseconds of processors, times the first, error (largest, rms)")
    for name, _, output in contestants:
        ms = statistics.median(times[name])
        line = f"  {name[:60]:60} {ms:8.2f} {ms / first:6.1f}"
        if wanted is not None and output:
            line += "   {:.2f} {:.3f}".format(*error(output(picture()), wanted, margin))
        print(line, flush=True)


def main(rounds):
    samples = picture()
    for sigma in (2, 5, 10, 30):
        contest(f"sigma {sigma}", list(gaussian_contestants(sigma)), rounds,
                exact(samples, sigma), min(4 * sigma + 1, 140))
    for size in (9, 33):
        sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8
        kernel = np.exp(-0.5 * (np.arange(size) - size // 2) ** 2 / sigma ** 2)
        kernel = [float(tap) for tap in kernel / kernel.sum()]
        contest(f"{size} taps", list(taps_contestants(kernel)), rounds,
                correlated(samples, kernel), size)
    for sigma in (8, 32):
        contestants = list(map_contestants(sigma))
        if shutil.which("ffmpeg"):
            contestants.append(varblur(sigma))
        contest(f"blur maps to sigma {sigma}", contestants, rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
