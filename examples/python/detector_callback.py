#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Your detector, in Python, and a mosaic where it sees something.

    detector_callback.py [SOURCE [SINK]]

SOURCE and SINK are parts of a pipeline; by default a moving ball is covered in a window. `detect`
gets the luma of each frame as an array and returns boxes: put your own there.
"""
import sys

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, Gst, GstVideo


def detect(luma):
    """Boxes (x, y, width, height) of what is to be hidden: here, of what is bright."""
    rows, columns = np.nonzero(luma > 200)
    if not len(rows):
        return []
    left, top = columns.min(), rows.min()
    return [(left, top, columns.max() - left + 1, rows.max() - top + 1)]


def luma_of(buffer, caps):
    info = GstVideo.VideoInfo.new_from_caps(caps)
    meta = GstVideo.buffer_get_video_meta(buffer)
    offset, stride = (meta.offset[0], meta.stride[0]) if meta else (info.offset[0], info.stride[0])
    good, mapped = buffer.map(Gst.MapFlags.READ)
    if not good:
        return None
    try:
        plane = np.frombuffer(mapped.data, np.uint8)[offset:offset + stride * info.height]
        return plane.reshape(info.height, stride)[:, :info.width].copy()
    finally:
        buffer.unmap(mapped)


def on_frame(pad, info, mosaic):
    """Before the mosaic filters the frame. What cannot be looked at is covered whole."""
    luma = luma_of(info.get_buffer(), pad.get_current_caps())
    boxes = detect(luma) if luma is not None else [(0, 0, 1 << 15, 1 << 15)]
    mosaic.set_property("regions", ";".join(f"{x},{y},{w},{h}" for x, y, w, h in boxes))
    return Gst.PadProbeReturn.OK


def main():
    Gst.init(None)
    source = sys.argv[1] if len(sys.argv) > 1 else "videotestsrc pattern=ball is-live=true"
    sink = sys.argv[2] if len(sys.argv) > 2 else "videoconvert ! autovideosink"
    pipeline = Gst.parse_launch(
        f"{source} ! videoconvert ! video/x-raw,format=(string){{I420,NV12}} ! cudablockavg "
        f"name=mosaic roi-mode=inside roi-expand=0.2 anchor=region blocks-across=5 ! {sink}")
    mosaic = pipeline.get_by_name("mosaic")
    mosaic.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, on_frame, mosaic)
    loop, failures = GLib.MainLoop(), []
    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message::eos", lambda *_: loop.quit())
    bus.connect("message::error", lambda _bus, message: (
        failures.append(message.parse_error()[0].message), loop.quit()))
    pipeline.set_state(Gst.State.PLAYING)
    try:
        loop.run()
    except KeyboardInterrupt:
        pass
    pipeline.set_state(Gst.State.NULL)
    if failures:
        sys.exit(failures[0])


if __name__ == "__main__":
    main()
