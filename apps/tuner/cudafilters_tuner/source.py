# SPDX-License-Identifier: LGPL-2.1-or-later
"""The source of frames: a file, a camera, a test picture or an address. The newest frame wins."""
import dataclasses
import os
import pathlib

from gi.repository import GLib, Gst

from .text import _

ANY_FORMAT = "automatic"
TEST_PATTERNS = ("smpte", "ball", "zone-plate", "checkers-8", "gradient", "snow")


@dataclasses.dataclass(frozen=True)
class Place:
    """A source to open. `where` is a URI, a device or a pattern of videotestsrc."""
    kind: str  # uri camera test
    where: str = ""

    @classmethod
    def of(cls, text):
        """From a text: a file, a URI, `camera`, `camera:/dev/video0` or `test:ball`."""
        kind, _, rest = text.partition(":")
        if kind == "camera":
            return cls("camera", rest)
        if kind == "test":
            return cls("test", rest or TEST_PATTERNS[0])
        if Gst.uri_is_valid(text):
            return cls("uri", text)
        return cls("uri", pathlib.Path(os.path.abspath(text)).as_uri())

    @property
    def text(self):
        return self.where if self.kind == "uri" else f"{self.kind}:{self.where}"

    @property
    def path(self):
        """The path of a file; None for other sources."""
        if self.kind != "uri" or not self.where.startswith("file:"):
            return None
        return GLib.filename_from_uri(self.where)[0]

    @property
    def title(self):
        return os.path.basename(self.path) if self.path else self.text


def quoted(text):
    """`text` quoted as a property's value in a pipeline description."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def head_of(place):
    """The description of the elements that give decoded frames."""
    if place.kind == "camera":
        device = f" device={quoted(place.where)}" if place.where else ""
        return f"v4l2src{device} ! decodebin"
    if place.kind == "test":
        return (f"videotestsrc is-live=true pattern={place.where} ! "
                "video/x-raw,format=I420,width=1280,height=720,framerate=25/1")
    return (f"uridecodebin name=reader uri={quoted(place.where)} expose-all-streams=false "
            "caps=video/x-raw(ANY)")


def take_decoders_of_any_output(reader):
    """Makes uridecodebin use vp8alphadecodebin and vp9alphadecodebin, whose pad templates say ANY:
    it discards decoders whose output it should go on from and is none of its `caps`."""
    reader.connect("autoplug-continue", lambda _reader, _pad, caps: not caps.is_any())


def detached(sample):
    """A copy that shares the buffer: an appsink reuses the sample that it gave."""
    return sample and Gst.Sample.new(sample.get_buffer(), sample.get_caps(), sample.get_segment(),
                                     None)


def read_orientation():
    """Makes decodebin of 1.22 use jpegparse, which reads the orientation."""
    parser = Gst.ElementFactory.find("jpegparse")
    if parser:
        parser.set_rank(Gst.Rank.PRIMARY + 1)


def has_faces():
    return Gst.ElementFactory.find("facedetect") is not None


class Source:
    """Calls `on_frame(sample)` for each frame that is due, and `on_error(text)`, in the main loop.

    A video starts again at its end; a photograph is one frame.
    """

    def __init__(self, on_frame, on_error):
        self._on_frame, self._on_error = on_frame, on_error
        self._pipeline = self._latest = None
        self._frames = 0
        self._wants_to_play = True
        self.place = None

    def open(self, place, formats, faces=False):
        """`formats`: those that the filter takes, or the one chosen."""
        self.close()
        self.place = place
        detector = ("videoconvert ! video/x-raw,format=RGB ! "
                    "facedetect display=false updates=every_frame ! " if faces else "")
        try:
            self._pipeline = Gst.parse_launch(
                f"{head_of(place)} ! queue max-size-buffers=3 max-size-bytes=0 max-size-time=0 ! "
                f"videoconvert n-threads=2 ! videoflip video-direction=auto ! {detector}"
                "videoconvert n-threads=2 ! capsfilter name=format ! "
                "appsink name=out sync=true max-buffers=1 drop=true emit-signals=true")
        except GLib.Error as error:
            self._on_error(error.message)
            return
        self._pipeline.get_by_name("format").set_property(
            "caps", Gst.Caps.from_string(f"video/x-raw,format={{{','.join(formats)}}}"))
        reader = self._pipeline.get_by_name("reader")
        if reader:
            take_decoders_of_any_output(reader)
        out = self._pipeline.get_by_name("out")
        out.connect("new-sample", self._take, "pull-sample")
        out.connect("new-preroll", self._take, "pull-preroll")
        bus = self._pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message::error", self._report)
        bus.connect("message::eos", self._start_again)
        self._frames = 0
        self._pipeline.set_state(Gst.State.PLAYING if self._wants_to_play else Gst.State.PAUSED)

    def close(self):
        if self._pipeline:
            self._pipeline.get_bus().remove_signal_watch()
            self._pipeline.set_state(Gst.State.NULL)
        self._pipeline = self._latest = None

    def _take(self, out, how):
        """On the streaming thread."""
        sample = detached(out.emit(how))
        if sample:
            waiting = self._latest is not None
            self._latest = (out, sample)
            if not waiting:
                # Lower priority than input and painting: frames are skipped where these are slow.
                GLib.idle_add(self._hand_over, priority=GLib.PRIORITY_DEFAULT_IDLE)
        return Gst.FlowReturn.OK

    def _hand_over(self):
        latest, self._latest = self._latest, None
        if latest and self._pipeline and latest[0].get_parent() == self._pipeline:
            self._frames += 1
            self._on_frame(latest[1])
        return GLib.SOURCE_REMOVE

    def _report(self, _bus, message):
        error, _details = message.parse_error()
        self.close()
        lacks = error.matches(Gst.CoreError.quark(), Gst.CoreError.MISSING_PLUGIN)
        self._on_error(_("{name} has no video that can be decoded here.").format(
            name=self.place.title) if lacks else f"{self.place.title}: {error.message}")

    def _start_again(self, _bus, _message):
        if self._frames > 1:
            self.seek(0)

    @property
    def is_open(self):
        return self._pipeline is not None

    @property
    def plays(self):
        return self._wants_to_play

    def play(self, wants):
        self._wants_to_play = wants
        if self._pipeline:
            self._pipeline.set_state(Gst.State.PLAYING if wants else Gst.State.PAUSED)

    def seek(self, position):
        """Seeks to a position in nanoseconds."""
        if self._pipeline:
            self._pipeline.seek_simple(
                Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE, int(position))

    def position(self):
        """(position, duration) in nanoseconds; duration 0: unknown, or a picture."""
        if not self._pipeline:
            return 0, 0
        known, position = self._pipeline.query_position(Gst.Format.TIME)
        ends, duration = self._pipeline.query_duration(Gst.Format.TIME)
        return position if known else 0, duration if ends and self._frames > 1 else 0
