#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The elements in programs that edit and transcode: as effects of GStreamer Editing Services, from
the command line and from Python, and as the video-filter of uritranscodebin."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

import frames
import harness

WIDTH, HEIGHT, RATE, COUNT = 256, 192, 25, 25
CAPS = f"video/x-raw,width={WIDTH},height={HEIGHT},framerate={RATE}/1"
EFFECTS = ("cudallf alpha=0.3", "cudagaussblur sigma=4", "cudablockavg block-width=12",
           "cudasepconv preset=sharpen")
# Debian's bindings belong to this one, whichever runs the tests.
PYTHON = "/usr/bin/python3"
# What renders: pictures as they are, and AAC.
FORMAT = "video/x-matroska:video/x-raw:audio/mpeg,mpegversion=4"
KEYFRAMES = """
import sys
import gi
for name in ("Gst", "GES", "GstPbutils", "GstController"):
    gi.require_version(name, "1.0")
from gi.repository import GES, Gst, GstController, GstPbutils

Gst.init(None)
GES.init()
source, output, caps = sys.argv[1:]
timeline = GES.Timeline.new_audio_video()
for track in timeline.get_tracks():
    if track.props.track_type == GES.TrackType.VIDEO:
        track.set_restriction_caps(Gst.Caps.from_string(caps))
clip = GES.UriClip.new(source)
timeline.append_layer().add_clip(clip)
blur = GES.Effect.new("cudagaussblur border=reflect-101")
clip.add(blur)
keys = GstController.InterpolationControlSource(mode=GstController.InterpolationMode.LINEAR)
keys.set(0, 0.0)
keys.set(Gst.SECOND, 10.0)
assert blur.set_control_source(keys, "sigma", "direct-absolute")
found, sigma = blur.get_child_property("border")
assert found and sigma.value_nick == "reflect-101", sigma

profile = GstPbutils.EncodingContainerProfile.new(
    None, None, Gst.Caps.from_string("video/x-matroska"), None)
profile.add_profile(GstPbutils.EncodingVideoProfile.new(
    Gst.Caps.from_string("video/x-raw"), None, None, 0))
pipeline = GES.Pipeline.new()
pipeline.set_timeline(timeline)
pipeline.set_render_settings(output, profile)
pipeline.set_mode(GES.PipelineFlags.RENDER)
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(
    60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
sys.exit(0 if message and message.type == Gst.MessageType.EOS else 1)
"""


def make_source(folder):
    photograph = np.rint(255 * frames.photograph("astronaut.png")).astype(np.uint8)
    images = [photograph[40:40 + HEIGHT, 60 + 4 * number:60 + 4 * number + WIDTH]
              for number in range(COUNT)]
    raw = folder / "in.raw"
    raw.write_bytes(b"".join(np.ascontiguousarray(image).tobytes() for image in images))
    path = folder / "in.mp4"
    unlimited = "queue max-size-time=0 max-size-bytes=0 max-size-buffers=0"
    harness.launch("filesrc", [f"location={raw}"], "! rawvideoparse format=rgb",
                   f"width={WIDTH} height={HEIGHT} framerate={RATE}/1 ! videoconvert !",
                   "video/x-raw,format=I420 ! x264enc pass=quant quantizer=6 !",
                   f"h264parse ! {unlimited} ! mp4mux name=mux ! filesink", [f"location={path}"],
                   "audiotestsrc num-buffers=43 ! audioconvert ! avenc_aac ! aacparse !",
                   f"{unlimited} ! mux.")
    return path


def read(path, elements="identity"):
    """The pictures of a file, behind some elements."""
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "raw")
        demuxer = "qtdemux" if str(path).endswith(".mp4") else "matroskademux"
        harness.launch("filesrc", [f"location={path}"], f"! {demuxer} name=file file.video_0 !",
                       "queue ! decodebin ! videoconvert !", elements,
                       "! videoconvert ! video/x-raw,format=RGB ! filesink",
                       [f"location={raw}"])
        data = np.fromfile(raw, np.uint8)
    return data.reshape(-1, HEIGHT, WIDTH, 3).astype(float)


def read_audio(path):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "audio")
        harness.launch("filesrc", [f"location={path}"], "! parsebin ! audio/mpeg ! filesink",
                       [f"location={name}"])
        return pathlib.Path(name).read_bytes()


def psnr(images, others):
    count = min(len(images), len(others))
    error = np.mean((images[:count] - others[:count]) ** 2)
    return 10 * np.log10(255 ** 2 / max(error, 1e-9))


def check_like(tap, name, images, expected, originals, least):
    """As the same element makes them in a pipeline, to `least` dB, and not as they were."""
    right, unchanged = psnr(images, expected), psnr(images, originals)
    tap.check(len(images) == COUNT and right > least and right > unchanged + 3, name,
              f"{len(images)} frames, {right:.1f} dB, {unchanged:.1f} dB to the input")


def has(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def check_ges_launch(tap, folder, source):
    originals = read(source)
    for effect in EFFECTS:
        output = folder / f"{effect.split()[0]}.mkv"
        done = subprocess.run(["ges-launch-1.0", "+clip", str(source), "+effect", effect,
                               "--video-caps", CAPS, "--format", FORMAT, "-o", str(output)],
                              capture_output=True, text=True, check=False,
                              timeout=harness.TIMEOUT_SECONDS)
        if tap.check(done.returncode == 0 and "CRITICAL" not in done.stderr,
                     f"ges-launch-1.0 {effect}: renders", done.stdout + done.stderr):
            check_like(tap, f"ges-launch-1.0 {effect}: as in a pipeline", read(output),
                       read(source, effect), originals, 60)


def check_keyframes(tap, folder, source):
    output = folder / "keys.mkv"
    done = subprocess.run([PYTHON, "-c", KEYFRAMES, source.as_uri(), output.as_uri(), CAPS],
                          capture_output=True, text=True, check=False,
                          timeout=harness.TIMEOUT_SECONDS)
    if not tap.check(done.returncode == 0 and "CRITICAL" not in done.stderr,
                     "Python: an effect with keyframes renders", done.stdout + done.stderr):
        return
    images, originals = read(output), read(source)
    sharp = [np.abs(np.diff(image, axis=1)).mean() / np.abs(np.diff(original, axis=1)).mean()
             for image, original in zip(images, originals)]
    tap.check(sharp[0] > 0.85 and sharp[-1] < 0.35 and
              all(after < before + 0.03 for before, after in zip(sharp, sharp[1:])),
              "Python: the blur grows from keyframe to keyframe",
              " ".join(f"{value:.2f}" for value in sharp))


def check_transcodebin(tap, folder, source):
    originals, audio = read(source), read_audio(source)
    for effect in EFFECTS:
        output = folder / "transcoded.mp4"
        done = subprocess.run(
            ["gst-launch-1.0", "-q", "uritranscodebin", f"source-uri={source.as_uri()}",
             f"dest-uri={output.as_uri()}", "profile=video/quicktime,variant=iso:video/x-h264:"
             "audio/mpeg,mpegversion=4", "avoid-reencoding=true", f"video-filter={effect}"],
            capture_output=True, text=True, check=False, timeout=harness.TIMEOUT_SECONDS)
        if tap.check(done.returncode == 0, f"uritranscodebin {effect}: runs",
                     done.stdout + done.stderr):
            check_like(tap, f"uritranscodebin {effect}: as in a pipeline", read(output),
                       read(source, effect), originals, 30)
            tap.check(read_audio(output) == audio != b"",
                      f"uritranscodebin {effect}: the sound is the same, byte for byte")


def run(tap):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = make_source(folder)
        if shutil.which("ges-launch-1.0"):
            check_ges_launch(tap, folder, source)
        else:
            tap.skip("ges-launch-1.0", "it is not installed")
        if has([PYTHON, "-c", "import gi; gi.require_version('GES', '1.0')"]):
            check_keyframes(tap, folder, source)
        else:
            tap.skip("GES in Python", "python3-gi or GES's typelib is not installed")
        if has(["gst-inspect-1.0", "--exists", "uritranscodebin"]):
            check_transcodebin(tap, folder, source)
        else:
            tap.skip("uritranscodebin", "GStreamer has none here")


if __name__ == "__main__":
    harness.main(run)
