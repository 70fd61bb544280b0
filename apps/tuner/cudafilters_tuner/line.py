# SPDX-License-Identifier: LGPL-2.1-or-later
"""One filter between an appsrc and two appsinks: a frame goes in, and comes out as it was and as it
is filtered. The filter can be given the same frame again, which is how a still picture follows a
slider; and its errors stop it alone, not what plays.
"""
import re

from gi.repository import GLib, Gst

from .source import detached

SHOWN = "BGRA"  # what cairo and GTK paint fastest
# Formats in which cudatonemap takes HDR; SDR passes it in all formats.
HDR_FORMATS = ("P010_10LE", "I420_10LE", "I422_10LE", "P012_LE", "P016_LE", "Y444_10LE",
               "Y444_16LE")
QUEUE = "queue max-size-buffers=2 max-size-bytes=0 max-size-time=0"
SHOW = (f"videoconvert n-threads=2 ! video/x-raw,format={SHOWN} ! "
        "appsink sync=false async=false emit-signals=true max-buffers=2")


class Line:
    """Calls `on_pair(before, after)`, `on_error(text)` and `on_warning(text)` in the main loop."""

    def __init__(self, name, on_pair, on_error, on_warning):
        self._on_pair, self._on_error, self._on_warning = on_pair, on_error, on_warning
        self._takes_hdr = name == "cudatonemap"
        self._pipeline = Gst.parse_launch(
            f"appsrc name=in format=time ! tee name=both both. ! {QUEUE} ! {name} name=filter ! "
            f"{SHOW} name=after both. ! {QUEUE} ! {SHOW} name=before")
        self._in = self._pipeline.get_by_name("in")
        self.element = self._pipeline.get_by_name("filter")
        for end in ("before", "after"):
            self._pipeline.get_by_name(end).connect("new-sample", self._take, end)
        bus = self._pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message::error", self._report)
        bus.connect("message::warning", self._warn)
        self._out = {}
        self._turn = 0  # number of the start; output of earlier ones is dropped
        self.busy = False

    def formats(self):
        """Formats that the filter takes in system memory, for its purpose."""
        caps = self.element.get_static_pad("sink").get_pad_template_caps().to_string()
        for part in caps.split("; "):
            found = re.match(r"video/x-raw(\(memory:SystemMemory\))?, .*?format=\(string\)"
                             r"({[^}]*}|\w+)", part)
            if found:
                names = re.findall(r"\w+", found[2].replace("(string)", ""))
                return [name for name in names if name in HDR_FORMATS or not self._takes_hdr]
        return [SHOWN]

    def push(self, sample):
        """Filters a frame, only while not busy. It comes back through on_pair, or on_error."""
        _, state, _ = self._pipeline.get_state(0)
        if state != Gst.State.PLAYING:
            self._pipeline.set_state(Gst.State.PLAYING)
        self.busy = True
        self._out = {}
        self._in.emit("push-sample", sample)

    def stop(self):
        """Stops until the next push."""
        self._turn += 1
        self._pipeline.set_state(Gst.State.NULL)
        self._out = {}
        self.busy = False

    def close(self):
        self.stop()
        self._pipeline.get_bus().remove_signal_watch()

    def _take(self, sink, end):
        """On a streaming thread."""
        sample = detached(sink.emit("pull-sample"))
        GLib.idle_add(self._collect, self._turn, end, sample, priority=GLib.PRIORITY_DEFAULT_IDLE)
        return Gst.FlowReturn.OK

    def _collect(self, turn, end, sample):
        if turn == self._turn and sample:
            self._out[end] = sample
            if len(self._out) == 2:
                self.busy = False
                out, self._out = self._out, {}
                self._on_pair(out["before"], out["after"])
        return GLib.SOURCE_REMOVE

    def _report(self, _bus, message):
        error, _details = message.parse_error()
        self.stop()
        self._on_error(error.message)

    def _warn(self, _bus, message):
        error, _details = message.parse_warning()
        self._on_warning(error.message)
