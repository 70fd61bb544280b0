# SPDX-License-Identifier: LGPL-2.1-or-later
"""A clip decoded on the GPU and filtered there, against the CPU filtering the same frames."""
import os
import re

from . import chain, common, rawvideo


def measure_clip(host, start):
    """Frames, width and height."""
    said = host.launch(f"{start} ! video/x-h264,alignment=au ! identity silent=false ! fakesink",
                       options=("-v",))
    frames = len(re.findall(r"identity0: last-message = chain", said.text))
    size = re.search(r"width=\(int\)(\d+), height=\(int\)(\d+)", said.text)
    if not said.good or not frames or not size:
        raise OSError(f"the clip cannot be read\n{said.detail()}")
    return frames, int(size[1]), int(size[2])


def run(host, result, deadline):
    if not host.clip:
        raise common.Skipped("no --clip FILE was given")
    host.need_cuda_memory()
    for element in ("qtdemux", "h264parse", "nvh264dec"):
        if not host.has_element(element):
            raise common.Skipped(f"GStreamer has no working {element} here")
    start = f"filesrc location={os.path.abspath(host.clip)} ! qtdemux ! h264parse"
    frames, width, height = measure_clip(host, start)
    layout = rawvideo.Layout("NV12", width, height)
    got, want = host.folder / "decode-got", host.folder / "decode-want"
    decoded = f"{start} ! nvh264dec ! {common.ON_DEVICE},format=NV12"
    end = "video/x-raw,format=NV12 ! filesink location="
    for title, pipeline in {
        "decoded and filtered on the GPU":
            f"{decoded} ! {chain.joined(chain.FOUR, 'auto')} ! {common.ON_DEVICE} ! "
            f"cudadownload ! {end}{got}",
        "decoded on the GPU, filtered on the CPU":
            f"{decoded} ! cudadownload ! video/x-raw ! {chain.joined(chain.FOUR, 'cpu')} ! "
            f"{end}{want}",
    }.items():
        said = host.launch(pipeline, deadline.left())
        if not result.check(said.good, title, said.detail()):
            return
    try:
        difference = rawvideo.compare_files(layout, got, want, frames)
    except ValueError as error:
        result.check(False, f"all {frames} frames come out", str(error))
        return
    result.check(True, f"all {frames} frames come out")
    result.check(difference.worst <= chain.BOUND and difference.mean <= chain.MEAN_BOUND,
                 "pixels as filtered on the CPU", difference.text())
    result.figures.append(f"{frames} frames {width}x{height}: {difference.text()}")
