# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clips decoded on the GPU and filtered there, against the CPU filtering the same frames."""
import dataclasses
import os
import re

from . import chain, common, rawvideo


@dataclasses.dataclass(frozen=True)
class Way:
    """What becomes of a clip."""
    clip: str  # the command line's
    codec: str
    decoded: str  # the format that the decoder gives
    elements: tuple
    worst: float  # of the differences, in codes of NV12
    mean: float

    @property
    def parser(self):
        return f"{self.codec}parse"

    @property
    def decoder(self):
        return f"nv{self.codec}dec"


WAYS = (Way("clip", "h264", "NV12", chain.FOUR, chain.BOUND, chain.MEAN_BOUND),
        Way("hdr-clip", "h265", "P010_10LE", ("cudatonemap",), 1.0, 0.02))


def measure_clip(host, way, start):
    """Frames, width and height."""
    said = host.launch(f"{start} ! video/x-{way.codec},alignment=au ! identity silent=false ! "
                       "fakesink", options=("-v",))
    frames = len(re.findall(r"identity0: last-message = chain", said.text))
    size = re.search(r"width=\(int\)(\d+), height=\(int\)(\d+)", said.text)
    if not said.good or not frames or not size:
        raise OSError(f"the clip cannot be read\n{said.detail()}")
    return frames, int(size[1]), int(size[2])


def compare(host, result, deadline, way, clip):
    start = f"filesrc location={os.path.abspath(clip)} ! qtdemux ! {way.parser}"
    frames, width, height = measure_clip(host, way, start)
    layout = rawvideo.Layout("NV12", width, height)
    got, want = (host.folder / f"{way.clip}-{name}" for name in ("got", "want"))
    decoded = f"{start} ! {way.decoder} ! {common.ON_DEVICE},format={way.decoded}"
    end = "video/x-raw,format=NV12 ! filesink location="
    for title, pipeline in {
        f"{way.codec}, decoded and filtered on the GPU":
            f"{decoded} ! {chain.joined(way.elements, 'auto')} ! {common.ON_DEVICE},format=NV12 ! "
            f"cudadownload ! {end}{got}",
        f"{way.codec}, decoded on the GPU, filtered on the CPU":
            f"{decoded} ! cudadownload ! video/x-raw ! {chain.joined(way.elements, 'cpu')} ! "
            f"{end}{want}",
    }.items():
        said = host.launch(pipeline, deadline.left())
        if not result.check(said.good, title, said.detail()):
            return
    try:
        difference = rawvideo.compare_files(layout, got, want, frames)
    except ValueError as error:
        result.check(False, f"{way.codec}: all {frames} frames come out", str(error))
        return
    result.check(True, f"{way.codec}: all {frames} frames come out")
    result.check(difference.worst <= way.worst and difference.mean <= way.mean,
                 f"{way.codec}: pixels as filtered on the CPU", difference.text())
    result.figures.append(f"{way.codec}, {frames} frames {width}x{height}: {difference.text()}")


def run(host, result, deadline):
    if not any(host.clips.values()):
        raise common.Skipped("neither --clip FILE nor --hdr-clip FILE was given")
    host.need_cuda_memory()
    for way in WAYS:
        lacking = [name for name in ("qtdemux", way.parser, way.decoder)
                   if not host.has_element(name)]
        if not host.clips[way.clip]:
            result.skip(way.codec, f"no --{way.clip} FILE was given")
        elif lacking:
            result.skip(way.codec, f"GStreamer has no working {lacking[0]} here")
        else:
            compare(host, result, deadline, way, host.clips[way.clip])
