#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of OpenCV or numpy through an element, and back.

    numpy_filter.py IN.jpg OUT.png "cudallf alpha=0.4"

`Filter` takes one picture after the other, as a loop over the frames of cv2.VideoCapture gives
them, and keeps the element: nothing is started anew for each.
"""
import sys

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)

# By the channels of an array: gray, OpenCV's BGR, and BGRA.
FORMATS = {1: "GRAY8", 3: "BGR", 4: "BGRA"}


class Filter:
    """`description` is an element with its properties, as gst-launch-1.0 writes them."""

    def __init__(self, description):
        # Rows of an array follow each other without padding; videoconvert gives such to the end.
        self._pipeline = Gst.parse_launch(
            f"appsrc name=source format=time ! videoconvert ! {description} ! videoconvert ! "
            "capsfilter name=same ! appsink name=sink sync=false")
        self._source = self._pipeline.get_by_name("source")
        self._same = self._pipeline.get_by_name("same")
        self._sink = self._pipeline.get_by_name("sink")
        self._shape = None

    def __call__(self, picture):
        """A picture of bytes: rows, columns and, unless it is gray, channels."""
        picture = np.ascontiguousarray(picture, np.uint8)
        if picture.shape != self._shape:
            self._start(picture)
        # GStreamer starts rows at multiples of four bytes.
        height = picture.shape[0]
        rows = picture.reshape(height, -1)
        width = rows.shape[1]
        padded = np.pad(rows, ((0, 0), (0, -width % 4)))
        self._source.emit("push-buffer", Gst.Buffer.new_wrapped(padded.tobytes()))
        buffer = self._pull().get_buffer()
        data = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
        return data.reshape(height, -1)[:, :width].reshape(picture.shape)

    def _start(self, picture):
        height, width = picture.shape[:2]
        channels = picture.shape[2] if picture.ndim == 3 else 1
        caps = Gst.Caps.from_string(f"video/x-raw,format={FORMATS[channels]},width={width},"
                                    f"height={height},framerate=0/1")
        self._pipeline.set_state(Gst.State.NULL)
        self._source.set_property("caps", caps)
        self._same.set_property("caps", caps)
        self._pipeline.set_state(Gst.State.PLAYING)
        self._shape = picture.shape

    def _pull(self):
        while True:
            sample = self._sink.emit("try-pull-sample", Gst.SECOND // 10)
            message = self._pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if message:
                self.close()
                raise RuntimeError(message.parse_error()[0].message)
            if sample:
                return sample

    def close(self):
        self._pipeline.set_state(Gst.State.NULL)
        self._shape = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    import cv2

    if len(sys.argv) != 4:
        sys.exit(__doc__)
    picture = cv2.imread(sys.argv[1])
    if picture is None:
        sys.exit(f"{sys.argv[1]} is no picture that OpenCV can read")
    with Filter(sys.argv[3]) as filtered:
        cv2.imwrite(sys.argv[2], filtered(picture))


if __name__ == "__main__":
    main()
