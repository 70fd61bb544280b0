# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes SDR of HDR clips: `cudatonemap` in a pipeline, and what people use today. A method
takes the file of a clip, and gives what is shown: frames of red, green and blue, 0..1."""
import functools
import os
import shlex
import subprocess
import tempfile

import numpy as np

import harness
from hdr_clips import HEIGHT, WIDTH

# libplacebo's newest settings want a newer FFmpeg than Debian 12's. A command with its arguments.
FFMPEG = shlex.split(os.environ.get("HDR_FFMPEG", "ffmpeg"))


def colours(data, channels):
    frames = np.frombuffer(data, np.uint8).reshape(-1, HEIGHT, WIDTH, channels)
    return [frame[..., :3] / 255 for frame in frames]


def element(words="cudatonemap"):
    """As a player has it: the metadata of the file tells the element the peak."""
    def apply(path):
        with tempfile.TemporaryDirectory() as directory:
            result = os.path.join(directory, "out.rgba")
            harness.launch("filesrc", [f"location={path}"],
                           f"! matroskademux ! h265parse ! avdec_h265 ! {words} backend=cpu"
                           " ! video/x-raw,format=RGBA ! filesink", [f"location={result}"])
            with open(result, "rb") as file:
                return colours(file.read(), 4)

    return apply


@functools.lru_cache
def ffmpeg_help(what):
    try:
        return subprocess.run([*FFMPEG, "-hide_banner", "-h", what], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout
    except OSError:
        return ""


def has(name, option=""):
    text = ffmpeg_help(f"filter={name}")
    return name in text and "Unknown filter" not in text and option in text


def ffmpeg(filters, before=()):
    def apply(path):
        with open(path, "rb") as clip:
            data = subprocess.run(
                [*FFMPEG, "-loglevel", "error", *before, "-i", "pipe:0", "-vf", filters, "-f",
                 "rawvideo", "-pix_fmt", "rgb24", "pipe:1"], stdin=clip, stdout=subprocess.PIPE,
                check=True).stdout
        return colours(data, 3)

    return apply


VULKAN = ("-init_hw_device", "vulkan=v", "-filter_hw_device", "v")


def libplacebo(settings):
    """Since FFmpeg 6 the filter takes frames of system memory."""
    upload, download = "", ",format=rgb24"
    if not has("libplacebo", "contrast_recovery"):
        upload, download = "format=yuv420p10,hwupload,", ",hwdownload,format=rgba"
    return ffmpeg(f"{upload}libplacebo=colorspace=gbr:color_primaries=bt709:color_trc=bt709:"
                  f"range=pc:format=rgba:{settings}{download}", VULKAN)


def zscale(settings):
    return ffmpeg("zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,"
                  f"tonemap={settings},zscale=t=bt709,format=gbrp")


def libplacebos():
    """(name, settings), the local part first. Dithering is left out: it is noise to a measure."""
    if not has("libplacebo"):
        return
    if has("libplacebo", "contrast_recovery"):
        for curve, amount in ("bt.2390", 1.0), ("bt.2390", 0.3), ("spline", 0.3):
            yield (f"libplacebo, {curve}, contrast recovery {amount}",
                   f"dithering=-1:tonemapping={curve}:contrast_recovery={amount}")
    off = ":contrast_recovery=0" if has("libplacebo", "contrast_recovery") else ""
    for curve in "bt.2390", "spline", "bt.2446a":
        yield f"libplacebo, {curve}", f"dithering=-1:tonemapping={curve}{off}"


def peers():
    """(name, method) of what there is."""
    for name, settings in libplacebos():
        yield name, libplacebo(settings)
    if has("zscale") and has("tonemap"):
        yield "FFmpeg, zscale and tonemap, mobius", zscale("mobius:desat=0")
        yield "FFmpeg, zscale and tonemap, hable", zscale("hable:desat=0")


def steady(method, path):
    """(frames, "") where the method works on this clip and gives the same twice, else (None, why
    not): libplacebo wants Vulkan, and some software renderers of it are not to be trusted."""
    try:
        first, second = method(path), method(path)
    except (subprocess.CalledProcessError, OSError):
        return None, "it does not run here"
    if not first or any(np.abs(a - b).max() > 4 / 255 for a, b in zip(first, second)):
        return None, "it gives another picture in every run here"
    return first, ""
