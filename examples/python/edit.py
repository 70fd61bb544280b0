#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cut with GStreamer Editing Services: two parts of a video, one after the other, the second one
filtered; with sound, if there is some.

    edit.py IN.mp4 OUT.mp4 "cudallf alpha=0.4"

Editors on GES, such as Pitivi, offer the elements as effects in the same way.
"""
import pathlib
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstPbutils", "1.0")
gi.require_version("GES", "1.0")
from gi.repository import GES, GLib, Gst, GstPbutils

SECOND = Gst.SECOND


def profile_for(info):
    """H.264 in MP4 at the size and rate of the input, and AAC where there is sound."""
    video = info.get_video_streams()[0]
    container = GstPbutils.EncodingContainerProfile.new(
        "mp4", None, Gst.Caps.from_string("video/quicktime,variant=iso"), None)
    restriction = Gst.Caps.from_string(
        f"video/x-raw,width={video.get_width()},height={video.get_height()},"
        f"framerate={video.get_framerate_num()}/{video.get_framerate_denom()}")
    container.add_profile(GstPbutils.EncodingVideoProfile.new(
        Gst.Caps.from_string("video/x-h264"), None, restriction, 0))
    if info.get_audio_streams():
        container.add_profile(GstPbutils.EncodingAudioProfile.new(
            Gst.Caps.from_string("audio/mpeg,mpegversion=4"), None, None, 0))
    return container, restriction


def make_timeline(uri, info, restriction, effect):
    """The first third of the video as it is, then its last third, filtered."""
    timeline = GES.Timeline.new()
    if info.get_audio_streams():
        timeline.add_track(GES.AudioTrack.new())
    track = GES.VideoTrack.new()
    track.set_restriction_caps(restriction)  # or GES makes 1280x720 of it
    timeline.add_track(track)
    layer = timeline.append_layer()
    asset = GES.UriClipAsset.request_sync(uri)
    third = info.get_duration() // 3
    layer.add_asset(asset, 0, 0, third, GES.TrackType.UNKNOWN)
    filtered = layer.add_asset(asset, third, 2 * third, third, GES.TrackType.UNKNOWN)
    filtered.add(GES.Effect.new(effect))
    return timeline


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Gst.init(None)
    GES.init()
    uri, result = (pathlib.Path(name).resolve().as_uri() for name in sys.argv[1:3])
    try:
        info = GstPbutils.Discoverer.new(10 * SECOND).discover_uri(uri)
        profile, restriction = profile_for(info)
        timeline = make_timeline(uri, info, restriction, sys.argv[3])
    except GLib.Error as error:
        sys.exit(f"{sys.argv[1]}: {error.message}")
    pipeline = GES.Pipeline.new()
    pipeline.set_timeline(timeline)
    pipeline.set_render_settings(result, profile)
    pipeline.set_mode(GES.PipelineFlags.RENDER)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        sys.exit(message.parse_error()[0].message)


if __name__ == "__main__":
    main()
