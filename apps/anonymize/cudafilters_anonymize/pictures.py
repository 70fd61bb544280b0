# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first pass: every picture of a file, upright and small, in order."""
import dataclasses
import heapq

import cv2
import numpy as np

from . import media
from .errors import Problem
from .media import Gst, GstVideo


@dataclasses.dataclass
class Picture:
    """pts: in ns, None where the file tells none; time: in ns from the file's beginning; damaged:
    the decoder had to guess, or left pictures out just before; image: BGR, upright, of which one
    pixel is `scale` pixels of the file's."""
    pts: int
    time: int
    damaged: bool
    image: np.ndarray
    scale: float


class Pictures:
    """Iterates over Pictures whose longer side is at most `detect_size`. Once there has been one,
    width and height are those of the upright picture in the file, is_turned says
    whether the file has it turned, and has_alpha whether it can be transparent."""

    def __init__(self, path, detect_size):
        self.detect_size = detect_size
        self.width = self.height = 0
        self.streams = []  # (number, caps), as media.File tells them
        self.path = path
        self.sink = media.make("appsink", sync=False, max_buffers=4,
                               caps=Gst.Caps.from_string("video/x-raw,format=BGR"))
        self.file = media.File(path, self.use)
        self.convert = media.make("videoconvert", n_threads=2)
        self.file.put_video(self.convert, media.upright(), self.sink)
        self.waiting = []  # times of packets whose pictures have not come, a heap
        self.file.video.add_probe(Gst.PadProbeType.BUFFER, self.on_packet)

    def on_packet(self, _, info):
        time = known(info.get_buffer().pts)
        if time is not None:
            heapq.heappush(self.waiting, time)
        return Gst.PadProbeReturn.OK

    def leaves_out(self, pts):
        """Whether pictures before the one of this time will not come: they come in order."""
        left_out = False
        while self.waiting and self.waiting[0] <= pts:
            left_out |= heapq.heappop(self.waiting) < pts
        return left_out and shows_each_packet(self.file.video.get_current_caps())

    def use(self, pad, caps, number):
        self.streams.append((number, caps))
        if number != 0:
            self.file.discard(pad)

    @property
    def is_turned(self):
        return self.file.is_turned

    @property
    def has_alpha(self):
        caps = self.convert.get_static_pad("sink").get_current_caps()
        return media.has_alpha(GstVideo.VideoInfo.new_from_caps(caps).finfo.format)

    def duration(self):
        return self.file.duration()

    def __iter__(self):
        last = None
        count = 0
        try:
            self.file.start()
            stands = media.Standstill(self.file)
            while True:
                stands.check(f"{count} pictures were decoded")
                sample = self.sink.try_pull_sample(media.POLL_NS)
                if sample:
                    picture = self.picture(sample)
                    if picture.pts is not None and self.leaves_out(picture.pts) and count:
                        picture.damaged = True
                    last = picture.pts
                    count += 1
                    yield picture
                elif self.file.message(0):
                    break
        except Problem as problem:
            where = "" if last is None else f", at {last / Gst.SECOND:.3f} s"
            raise Problem(f"{self.path}: {problem}{where}") from problem
        finally:
            self.file.stop()
        if count == 0:
            raise Problem(f"{self.path}: no picture could be decoded")

    def picture(self, sample):
        structure = sample.get_caps().get_structure(0)
        width, height = structure.get_value("width"), structure.get_value("height")
        if self.width and (width, height) != (self.width, self.height):
            raise Problem(f"the picture changes its size from {self.width}x{self.height} to "
                          f"{width}x{height}; cut the file there")
        self.width, self.height = width, height
        buffer = sample.get_buffer()
        scale = max(max(width, height) / self.detect_size, 1.0)
        pts = known(buffer.pts)
        time = pts if pts is None else sample.get_segment().to_stream_time(Gst.Format.TIME, pts)
        return Picture(pts, time if time is None else known(time) or 0,
                       buffer.has_flags(Gst.BufferFlags.CORRUPTED),
                       small_image(buffer, width, height, scale), scale)


def small_image(buffer, width, height, scale):
    found, mapping = buffer.map(Gst.MapFlags.READ)
    if not found:
        raise Problem("a picture's memory cannot be read")
    try:
        stride = (3 * width + 3) // 4 * 4
        rows = np.frombuffer(mapping.data, np.uint8, stride * height).reshape(height, stride)
        image = rows[:, :3 * width].reshape(height, width, 3)
        if scale > 1:
            size = max(round(width / scale), 1), max(round(height / scale), 1)
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        else:
            image = image.copy()
    finally:
        buffer.unmap(mapping)
    return image


def shows_each_packet(caps):
    """Not VP8, and not interlaced video, of which a packet may be a field."""
    structure = caps.get_structure(0)
    return (structure.get_name() != "video/x-vp8" and
            structure.get_string("interlace-mode") in (None, "progressive"))


def known(time):
    return None if time == Gst.CLOCK_TIME_NONE else time
