# SPDX-License-Identifier: LGPL-2.1-or-later
"""The second pass: decodes the video, covers the regions of the plan, encodes it, and copies audio,
subtitles, tags and chapters."""
import os

from . import containers, mask, matroska, media
from .errors import Problem
from .media import Gst

# Tags with pictures (covers, previews), which may show faces, and are left out.
TAGS_WITH_PICTURES = ("image", "preview-image", "attachment")


class Filtering:
    """Writes `part` from the file `path`; is_turned: its pictures have to be turned upright first.
    plan_regions(pts) returns the boxes to cover in the frame of that time, or None for all of
    it."""

    def __init__(self, path, part, options, is_turned, plan_regions):
        self.path, self.part = path, part
        self.options = options
        self.is_turned = is_turned
        self.plan_regions = plan_regions
        self.frames = 0
        self.whole_unknown = 0
        self.covering = None
        self.element = options.mask.element()
        self.encoder, self.encoder_description = options.make_encoder()
        self.muxer = media.make(containers.muxer_name(options.output))
        self.file = media.File(path, self.use, containers.keeps_ssa(options.output))
        sink = media.make("filesink", location=part)
        self.file.add(self.muxer, sink)
        self.put_video()

    def use(self, pad, caps, number):
        if number is None and not self.options.video_only and containers.is_copied(caps):
            self.copy(pad, caps)
        elif number != 0:
            self.file.discard(pad)
        self.file.watch_events(pad, strip_pictures)

    def put_video(self):
        before, after = media.make("videoconvert", n_threads=2), media.make("videoconvert")
        # An encoder that somebody names may take it.
        opaque = [] if self.options.options.encoder else [media.opaque()]
        aside = media.make("queue", max_size_buffers=4, max_size_bytes=0, max_size_time=0)
        turn = [media.upright()] if self.is_turned else []
        coded = endless_queue()
        self.file.put_video(before, *opaque, *turn, self.element, after, aside, self.encoder, coded)
        self.element.get_static_pad("sink").add_probe(
            Gst.PadProbeType.BUFFER,
            self.file.guarded(self.on_frame, "a frame could not be covered"))
        self.to_muxer(coded.get_static_pad("src"),
                      self.encoder.get_static_pad("src").query_caps(None))

    def copy(self, pad, caps):
        queue = endless_queue()
        chain = [queue]
        if caps.can_intersect(containers.PANGO):
            chain.append(media.make("capssetter", replace=True, caps=containers.plain_text(caps)))
        self.file.add(*chain)
        self.to_muxer(chain[-1].get_static_pad("src"), containers.plain_text(caps))
        pad.link(queue.get_static_pad("sink"))

    def to_muxer(self, pad, caps):
        template = containers.template_for(self.muxer.get_factory(), caps)
        sink = template and self.muxer.request_pad(
            self.muxer.get_pad_template(template.name_template), None, None)
        if not sink or pad.link(sink) != Gst.PadLinkReturn.OK:
            raise Problem(f"{self.muxer.get_factory().get_name()} does not take {caps.to_string()}")

    def on_frame(self, pad, info):
        """A probe: sets the regions of a frame. Fails closed: a frame whose regions could not be
        set is dropped, and ends the pass."""
        self.set_regions(info.get_buffer().pts, pad.get_current_caps().get_structure(0))
        self.frames += 1
        return Gst.PadProbeReturn.OK

    def set_regions(self, pts, structure):
        boxes = self.plan_regions(pts)
        if boxes is None:
            self.whole_unknown += 1
        if boxes is None or mask.WHOLE in boxes:
            boxes = [self.options.mask.whole(structure.get_value("width"),
                                             structure.get_value("height"))]
        text = mask.as_text(boxes)
        if text != self.covering:
            self.element.set_property("regions", text)
            if self.element.get_property("regions") != text:
                raise Problem(f"the element did not take the regions {text}")
            self.covering = text

    def advice(self, problem):
        width, height = self.options.size
        if "encoder" not in problem or not (width % 2 or height % 2):
            return ""
        return (f"; the pictures are of {width}x{height}, and most encoders want even sizes: "
                f"--encoder \"videocrop right={width % 2} bottom={height % 2} ! x264enc ! "
                "h264parse\" makes one")

    def written(self):
        return os.path.getsize(self.part) if os.path.exists(self.part) else 0

    def run(self, progress):
        """Runs the pass; calls progress(frames) at intervals."""
        try:
            self.file.start()
            stands = media.Standstill(self.file)
            while not self.file.message(media.POLL_NS):
                stands.check(f"{self.frames} frames were covered, {self.written()} bytes written")
                progress(self.frames)
        except Problem as problem:
            file = self.part if "filesink" in str(problem) else self.path
            raise Problem(f"{file}: {problem}{self.advice(str(problem))}") from problem
        finally:
            self.file.stop()
        if self.muxer.get_factory().get_name() in ("matroskamux", "webmmux"):
            matroska.correct(self.part)


def endless_queue():
    """A queue without limits: files may interleave streams coarsely, and encoders look ahead, so
    that streams wait for each other at the muxer."""
    return media.make("queue", max_size_buffers=0, max_size_bytes=0, max_size_time=0)


def strip_pictures(pad, info):
    """A probe: removes pictures from tags. It pushes new events, and so gets them itself."""
    event = info.get_event()
    if event.type != Gst.EventType.TAG:
        return Gst.PadProbeReturn.OK
    tags = event.parse_tag()
    if not any(tags.get_tag_size(name) for name in TAGS_WITH_PICTURES):
        return Gst.PadProbeReturn.OK
    kept = tags.copy()
    for name in TAGS_WITH_PICTURES:
        kept.remove_tag(name)
    pad.push_event(Gst.Event.new_tag(kept))
    return Gst.PadProbeReturn.DROP


def put_in_place(part, path):
    """Syncs the finished file to disk, and renames it."""
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    os.replace(part, path)
