# SPDX-License-Identifier: LGPL-2.1-or-later
"""The container for a file name, the streams that it can hold, and the encoder for it."""
import os

from . import media
from .errors import USAGE, Problem
from .media import Gst

MUXERS = {".mp4": "mp4mux", ".m4v": "mp4mux", ".mov": "qtmux", ".mkv": "matroskamux",
          ".webm": "webmmux"}

# Constant quality that is hard to tell from the source.
ENCODERS = {
    "video/x-h264": ("x264enc pass=qual quantizer={quality} speed-preset=medium",
                     "nvh264enc rc-mode=constqp qp-const={quality}",
                     "openh264enc rate-control=quality qp-max={quality}"),
    "video/x-h265": ("x265enc option-string=crf={quality} speed-preset=fast",
                     "nvh265enc rc-mode=constqp qp-const={quality}"),
    "video/x-vp9": ("vp9enc end-usage=cq cq-level={quality} target-bitrate=20000000 deadline=1 "
                    "cpu-used=4 row-mt=true threads=4",),
    "video/x-vp8": ("vp8enc end-usage=cq cq-level={quality} target-bitrate=20000000 deadline=1 "
                    "cpu-used=4 threads=4",),
    "video/x-av1": ("svtav1enc crf={quality} preset=8",
                    "av1enc end-usage=q min-quantizer={quality} max-quantizer={quality} cpu-used=6 "
                    "row-mt=true threads=4"),
}
# What players look for in these. The muxers take VP8 and VP9 too; those of GStreamer 1.22 crash on
# some.
PLAYED = {"mp4mux": ("video/x-h264", "video/x-h265", "video/x-av1"),
          "qtmux": ("video/x-h264", "video/x-h265")}
PARSERS = {"video/x-h264": "h264parse", "video/x-h265": "h265parse", "video/x-vp9": "vp9parse",
           "video/x-av1": "av1parse"}
PACKAGES = {"video/x-h264": "gstreamer1.0-plugins-ugly", "video/x-h265": "gstreamer1.0-plugins-bad",
            "video/x-vp9": "gstreamer1.0-plugins-good", "video/x-vp8": "gstreamer1.0-plugins-good",
            "video/x-av1": "gstreamer1.0-plugins-bad"}
# What both passes and an encoder that looks ahead take of memory, for a pixel of the picture.
BYTES_PER_PIXEL = 300
# Caps of streams that are copied: audio and subtitles.
COPIED = ("audio/", "text/", "subtitle/", "subpicture/", "application/x-ssa", "application/x-ass",
          "application/x-usf", "application/x-subtitle")
PANGO = Gst.Caps.from_string("text/x-raw,format=pango-markup")


def muxer_name(path):
    ending = os.path.splitext(path)[1].lower()
    if ending not in MUXERS:
        raise Problem(f"{path}: the name of the new file has to end in "
                      f"{', '.join(MUXERS)}", USAGE)
    return MUXERS[ending]


def plain_text(caps):
    """The caps of subtitles that muxers take: demuxers call UTF-8 text Pango markup."""
    if caps.can_intersect(PANGO):
        return Gst.Caps.from_string("text/x-raw,format=utf8")
    return caps


def template_for(muxer, caps):
    """The sink pad template of a muxer's factory for these caps, or None."""
    for template in muxer.get_static_pad_templates():
        if template.direction == Gst.PadDirection.SINK and template.get_caps().can_intersect(caps):
            return template
    return None


def keeps_ssa(path):
    muxer = Gst.ElementFactory.find(muxer_name(path))
    return template_for(muxer, Gst.Caps.from_string("application/x-ass")) is not None


def is_copied(caps):
    """Whether a stream is audio or subtitles, and not data such as a camera's measurements."""
    return caps.get_structure(0).get_name().startswith(COPIED)


def check(path, streams):
    """Raises a Problem if the container cannot hold a stream that is copied. streams: (number,
    caps), as in media.File."""
    muxer = Gst.ElementFactory.find(muxer_name(path))
    if not muxer:
        raise Problem(f"GStreamer has no {muxer_name(path)} here: install "
                      "gstreamer1.0-plugins-good")
    for number, caps in streams:
        if (number is None and is_copied(caps) and
                not template_for(muxer, plain_text(caps))):
            raise Problem(f"{path} cannot hold the stream {caps.get_structure(0).get_name()}; name "
                          "it .mkv, which holds most, or leave such streams out with --video-only",
                          USAGE)


def check_memory(width, height, there):
    """Raises a Problem if the encoders take more than the bytes that are there."""
    wanted = BYTES_PER_PIXEL * width * height
    if wanted > there:
        raise Problem(f"encoding pictures of {width}x{height} takes about {wanted / 1e9:.0f} GB of "
                      f"memory, and this machine has {there / 1e9:.0f}: make them smaller first, "
                      "or name an encoder that does not look ahead: --encoder \"x264enc "
                      "rc-lookahead=0 sync-lookahead=0 bframes=0 ! h264parse\"")


def codec_for(path, source):
    """The media type to encode to: the source's, if it can be encoded and the container can hold
    it, else a fallback of the container."""
    muxer = Gst.ElementFactory.find(muxer_name(path))
    fallbacks = ("video/x-vp9", "video/x-vp8") if path.lower().endswith(".webm") else (
        "video/x-h264",)
    for codec in (source, *fallbacks):
        if (codec in PLAYED.get(muxer_name(path), ENCODERS) and
                template_for(muxer, Gst.Caps.new_empty_simple(codec)) and
                encoder_description(codec)):
            return codec
    raise Problem(f"GStreamer has no encoder for {fallbacks[0]} here: install "
                  f"{PACKAGES[fallbacks[0]]}, or name one with --encoder")


def encoder_description(codec):
    for description in ENCODERS[codec]:
        element = Gst.ElementFactory.make(description.split()[0], None)
        if element:
            opens = element.set_state(Gst.State.READY) != Gst.StateChangeReturn.FAILURE
            element.set_state(Gst.State.NULL)
            if opens:
                return description
    return None


def encoder(codec, quality):
    """A bin that encodes raw video for a muxer."""
    description = encoder_description(codec).format(quality=quality)
    parser = PARSERS.get(codec)
    return media.parse(f"{description} ! {parser}" if parser else description), description
