# SPDX-License-Identifier: LGPL-2.1-or-later
"""GStreamer for both passes: the streams of a file, bus messages, the end."""
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstVideo", "1.0")
# GstApp: methods of appsink.
from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: E402, F401

Gst.init(None)

from .errors import Problem  # noqa: E402

POLL_NS = 100 * Gst.MSECOND
# Each takes a thread and memory.
MOST_STREAMS = 256


def decode_on_the_cpu():
    """Disables hardware decoders, whose output may not be in system memory."""
    for factory in Gst.ElementFactory.list_get_elements(
            Gst.ELEMENT_FACTORY_TYPE_DECODER | Gst.ELEMENT_FACTORY_TYPE_MEDIA_VIDEO,
            Gst.Rank.MARGINAL):
        if "Hardware" in factory.get_metadata(Gst.ELEMENT_METADATA_KLASS):
            factory.set_rank(Gst.Rank.NONE)


def make(factory, **properties):
    element = Gst.ElementFactory.make(factory, None)
    if not element:
        raise Problem(f"GStreamer has no element {factory} here; gst-inspect-1.0 lists what it has")
    for name, value in properties.items():
        if isinstance(value, str):
            Gst.util_set_object_arg(element, name.replace("_", "-"), value)
        else:
            element.set_property(name.replace("_", "-"), value)
    return element


def parse(description):
    try:
        return Gst.parse_bin_from_description(description, True)
    except GLib.Error as error:
        raise Problem(f"\"{description}\" cannot be read: {error.message}") from error


def is_video(caps):
    name = caps.get_structure(0).get_name()
    return name.startswith("video/") or name == "image/jpeg"


def is_ssa(caps):
    return caps.get_structure(0).get_name() in ("application/x-ass", "application/x-ssa")


class File:
    """A file's streams, unpacked and parsed. The first video goes to where put_video() says;
    `use(pad, caps, number)` sees each stream as it appears, before anything flows, and links the
    others: number 0 is the first video, later videos count up, and None is any other stream.
    keeps_ssa: subtitles of SubStation Alpha stay such, and do not become plain text.
    is_turned: the first video's pictures do not lie upright in the file."""

    def __init__(self, path, use, keeps_ssa=False):
        self.use = use
        self.video = None  # the pad that takes the first one
        self.streams = self.videos = 0
        self.problem = None
        self.is_turned = False
        self.is_matroska = False
        self.pipeline = Gst.Pipeline()
        source, parser = make("filesrc", location=path), make("parsebin")
        for element in (source, parser):
            self.pipeline.add(element)
        source.link(parser)
        parser.connect("pad-added", self.guarded(self.on_pad, "a stream cannot be taken"))
        parser.connect("deep-element-added", self.on_element)
        if keeps_ssa:
            parser.connect("autoplug-continue", lambda *arguments: not is_ssa(arguments[-1]))

    def on_element(self, _, __, element):
        if element.get_factory().get_name() == "matroskademux":
            self.is_matroska = True

    def on_pad(self, _, pad):
        self.streams += 1
        if self.streams > MOST_STREAMS:
            raise Problem(f"it has more than {MOST_STREAMS} streams, which no film has")
        caps = pad.get_current_caps() or pad.query_caps(None)
        if caps.get_structure(0).get_name().endswith("gif"):
            raise Problem("GStreamer repeats GIF pictures without an end; make a video of it "
                          "first: ffmpeg -i IN.gif -pix_fmt yuv420p OUT.mkv")
        number = None
        if is_video(caps):
            number = self.videos
            self.videos += 1
        self.watch_events(pad, self.on_event if number == 0 else self.on_other_event)
        if self.is_matroska:
            self.watch_events(pad, begin_at_zero)
        self.use(pad, caps, number)
        if number == 0:
            pad.link(self.video)

    def watch_events(self, pad, probe):
        pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM,
                      self.guarded(probe, "an event cannot be read"))

    def on_event(self, _, info):
        event = info.get_event()
        if event.type == Gst.EventType.TAG:
            found, text = event.parse_tag().get_string(Gst.TAG_IMAGE_ORIENTATION)
            if found:
                self.is_turned = text != "rotate-0"
        return Gst.PadProbeReturn.OK

    def on_other_event(self, _, info):
        if info.get_event().type == Gst.EventType.EOS and self.videos == 0:
            self.fail(Problem("there is no video in it"))
        return Gst.PadProbeReturn.OK

    def guarded(self, callback, failure):
        """A callback for GStreamer's threads, where nobody catches what it raises: that ends the
        pass, and a probe drops what it was called for."""
        def call(*arguments):
            try:
                return callback(*arguments)
            except Problem as problem:
                self.fail(problem)
            except Exception as error:  # pylint: disable=broad-except
                self.fail(Problem(f"{failure}: {error}"))
            return Gst.PadProbeReturn.DROP
        return call

    def fail(self, problem):
        """Ends the pass with this problem, unless there is one already. Any thread."""
        self.problem = self.problem or problem
        self.pipeline.post_message(Gst.Message.new_application(
            self.pipeline, Gst.Structure.new_empty("problem")))

    def put_video(self, *elements):
        """Before start(): decodes the first video, and hands its pictures to these elements. Bins
        and sinks that were added later would race with the pipeline's change of state."""
        queue = make("queue")
        decoder = make("decodebin", caps=Gst.Caps.from_string("video/x-raw"))
        self.add(*elements)
        self.add(queue, decoder)
        first = elements[0].get_static_pad("sink")

        def take(_, raw):
            self.watch_events(raw, complete_colours)
            raw.link(first)
        decoder.connect("pad-added", self.guarded(take, "the pictures cannot be taken"))
        self.video = queue.get_static_pad("sink")

    def add(self, *elements):
        """Adds elements to the pipeline, links them in this order, and sets its state."""
        for element in elements:
            self.pipeline.add(element)
        for one, other in zip(elements, elements[1:]):
            if not one.link(other):
                raise Problem(f"{one.get_name()} cannot be linked to {other.get_name()}")
        for element in reversed(elements):
            element.sync_state_with_parent()

    def discard(self, pad):
        """Discards a stream. The sink waits in PAUSED; the leaky queue lets other streams go on."""
        queue = make("queue", max_size_buffers=1, max_size_bytes=0, max_size_time=0)
        queue.set_property("leaky", 2)
        self.add(queue, make("fakesink", sync=False, **{"async": False}))
        pad.link(queue.get_static_pad("sink"))

    def start(self):
        if self.pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            self.message(0)
            raise Problem("the pipeline could not be started")

    def message(self, timeout):
        """Waits up to `timeout` ns for a message. True at the end of the file; raises errors."""
        message = self.pipeline.get_bus().timed_pop_filtered(
            timeout, Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.APPLICATION)
        if self.problem:
            raise self.problem
        if message and message.type == Gst.MessageType.ERROR:
            raise Problem(describe_message(message))
        return message is not None and message.type == Gst.MessageType.EOS

    def duration(self):
        """The duration in ns, or None."""
        found, duration = self.pipeline.query_duration(Gst.Format.TIME)
        return duration if found and duration > 0 else None

    def stop(self):
        self.pipeline.set_state(Gst.State.NULL)


class Standstill:
    """Raises a Problem when there is no progress any more, so that the program does not hang."""
    SECONDS = 120
    # Until there is a stream: parsebin posts no error of a demuxer that it is just starting.
    SECONDS_AT_START = 10
    # Longest time between two checks that counts: more was spent stopped, as by Ctrl-Z.
    MOST_AT_ONCE = 1

    def __init__(self, file):
        self.file = file
        self.where = None
        self.last = time.monotonic()
        self.still = 0

    def check(self, where):
        """where: a text that changes while there is progress, and says how much is done."""
        now = time.monotonic()
        self.still = (self.still + min(now - self.last, self.MOST_AT_ONCE)
                      if where == self.where else 0)
        self.where, self.last = where, now
        if self.still > self.SECONDS_AT_START and not self.file.streams:
            raise Problem("no stream is found in it")
        if self.still > self.SECONDS:
            raise Problem(f"no progress for {self.SECONDS} seconds: {where}")


def begin_at_zero(pad, info):
    """A probe: matroskademux takes the first time stamp it meets for the beginning of the file, and
    another one when it meets an earlier one; time stamps count from zero there. What this pushes
    instead passes through it again."""
    event = info.get_event()
    if event.type != Gst.EventType.SEGMENT:
        return Gst.PadProbeReturn.OK
    segment = event.parse_segment()
    if segment.start == 0:
        return Gst.PadProbeReturn.OK
    moved = segment.copy()
    moved.start = moved.time = moved.position = 0
    pad.push_event(Gst.Event.new_segment(moved))
    return Gst.PadProbeReturn.DROP


def complete_colours(pad, info):
    """A probe: names a matrix where caps name none, since GstVideoInfo ignores their range then.
    What this pushes instead passes through it again."""
    event = info.get_event()
    if event.type != Gst.EventType.CAPS:
        return Gst.PadProbeReturn.OK
    caps = event.parse_caps().copy()
    video, told = GstVideo.VideoInfo.new_from_caps(caps), GstVideo.VideoColorimetry()
    told.from_string(caps.get_structure(0).get_string("colorimetry") or "")
    if (told.matrix != GstVideo.VideoColorMatrix.UNKNOWN or
            video.finfo.flags & GstVideo.VideoFormatFlags.RGB):
        return Gst.PadProbeReturn.OK
    colours = video.colorimetry
    colours.range = told.range or colours.range
    colours.transfer = told.transfer or colours.transfer
    colours.primaries = told.primaries or colours.primaries
    caps.set_value("colorimetry", colours.to_string())
    pad.push_event(Gst.Event.new_caps(caps))
    return Gst.PadProbeReturn.DROP


def describe_message(message):
    error, detail = message.parse_error()
    last = (detail or "").strip().splitlines()[-1:]
    reason = last[0] if last else ""
    is_place = ".c(" in reason  # in the source of an element, where nothing else is told
    if reason and reason not in error.message and not is_place:
        return f"{error.message} ({message.src.get_name()}: {reason})"
    return f"{error.message} ({message.src.get_name()})"


def has_alpha(video_format):
    return bool(GstVideo.VideoFormat.get_info(video_format).flags & GstVideo.VideoFormatFlags.ALPHA)


def opaque():
    """An element that has what is before it leave transparency out, and convert nothing else."""
    names = ", ".join(GstVideo.VideoFormat.to_string(one) for one in GstVideo.video_formats_raw()
                      if not has_alpha(one))
    return make("capsfilter", caps=Gst.Caps.from_string(f"video/x-raw, format={{{names}}}"))


def upright():
    """Elements that rotate pictures as players do; their tag then says that they are upright."""
    return make("videoflip", video_direction="auto")
