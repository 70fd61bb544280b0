#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What cudafilters-anonymize leaves as it was, by files of detections: sound, subtitles, chapters,
every time stamp, rotation; and what it takes out: pictures in tags."""
import json
import pathlib
import sys
import tempfile

import cv2
import numpy as np

import clips
import files

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
import harness

FRAMES = 30
BOX = clips.FACE
SRT = """1
00:00:00,200 --> 00:00:00,600
Hello

2
00:00:00,700 --> 00:00:01,000
Is <i>this</i> you?
"""
TITLE = "b\u00f6ses \"spiel\" \\ 2"
CHAPTERS = """;FFMETADATA1
[CHAPTER]
TIMEBASE=1/1000
START=0
END=600
title=The first
[CHAPTER]
TIMEBASE=1/1000
START=600
END=1200
title=Two
"""


def face_rows(clip):
    """Of each frame, the box of its face."""
    return [{"frame": number, "x": x - half_width, "y": y - half_height, "width": 2 * half_width,
             "height": 2 * half_height}
            for number, truth in enumerate(clip.truth)
            for x, y, half_width, half_height, _ in truth]


class Source:
    """A clip, its boxes as a file, and the parts that files are made of."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.clip = clips.pan(FRAMES)
        self.boxes = self.folder / "boxes.json"
        self.boxes.write_text(json.dumps(face_rows(self.clip)))
        self.path("words.srt").write_text(SRT)
        self.path("chapters.txt").write_text(CHAPTERS)
        for name, tone in (("one", 440), ("two", 660)):
            files.ffmpeg("-f", "lavfi", "-i", f"sine={tone}:sample_rate=48000:duration=1.2",
                         self.path(f"{name}.wav"))
        clips.write(self.clip, self.path("plain.mp4"), "-c:v", "libx264", "-crf", "14", "-bf", "3")

    def path(self, name):
        return self.folder / name

    def anonymize(self, name, output, *arguments):
        return files.anonymize("--quiet", "--detections", self.boxes, *arguments, self.path(name),
                               self.path(output))


def hidden(images, originals, truths):
    """Frames whose face still has its detail."""
    from faces import MOST_DETAIL, detail_left

    return [number for number, three in enumerate(zip(images, originals, truths))
            if detail_left(*three) > MOST_DETAIL]


def check_kept(tap, source, name, output, audio=0, subtitles=False):
    process = source.anonymize(name, output)
    title = f"{name} to {output}"
    if not tap.check(process.returncode == 0, f"{title}: runs", process.stderr):
        return
    before, after = source.path(name), source.path(output)
    tap.check(files.times(before) == files.times(after), f"{title}: every time stamp",
              f"{files.times(before)}\n{files.times(after)}")
    for number in range(audio):
        stream = f"a:{number}"
        tap.check(files.packets(before, stream) == files.packets(after, stream) != [],
                  f"{title}: audio {number} has the same packets")
    if subtitles:
        tap.check(files.subtitles(before) == files.subtitles(after) != "", f"{title}: subtitles",
                  f"{files.subtitles(before)}\n{files.subtitles(after)}")
    images = clips.read(after)
    shown = hidden(images, source.clip.images, source.clip.truth)
    tap.check(len(images) == FRAMES and not shown, f"{title}: the face is covered",
              f"{len(images)} frames, not in {shown}")


def check_containers(tap, source):
    plain = source.path("plain.mp4")
    sounds = "-i", source.path("one.wav"), "-i", source.path("two.wav")
    files.ffmpeg("-i", plain, *sounds, "-i", source.path("words.srt"), "-i",
                 source.path("chapters.txt"), "-map", "0:v", "-map", "1", "-map", "2", "-map", "3",
                 "-map", "3", "-map_chapters", "4", "-c:v", "copy", "-c:a:0", "libopus", "-c:a:1",
                 "flac", "-c:s:0", "srt", "-c:s:1", "ass", "-metadata", f"title={TITLE}",
                 "-metadata:s:a:1", f"title={TITLE}", source.path("all.mkv"))
    check_kept(tap, source, "all.mkv", "all-out.mkv", audio=2, subtitles=True)
    styled = [files.packets(source.path(name), "s:1") for name in ("all.mkv", "all-out.mkv")]
    codec = files.streams(source.path("all-out.mkv"))[-1]
    tap.check(styled[0] == styled[1] != [] and codec == ("ass", "subtitle"),
              "subtitles with their styles", f"{styled} {codec}")
    chapters = [files.probe(source.path(name), "-show_entries", "chapter=start_time,end_time:"
                            "chapter_tags=title", "-of", "csv=p=0")
                for name in ("all.mkv", "all-out.mkv")]
    tap.check(chapters[0] == chapters[1] != "", "chapters", "\n".join(chapters))
    titles = [json.loads(files.probe(source.path(name), "-of", "json", "-show_entries",
                                     "stream_tags=title:format_tags=title").lower())
              for name in ("all.mkv", "all-out.mkv")]
    tap.check(titles[0] == titles[1] and titles[0]["format"]["tags"]["title"] == TITLE,
              "titles, and none where there was none", f"{titles[0]}\n{titles[1]}")

    harness.launch("filesrc", [f"location={source.path('one.wav')}"], "! wavparse ! audioconvert !",
                   "avenc_aac ! aacparse ! queue max-size-time=0 max-size-bytes=0",
                   "max-size-buffers=0 ! mp4mux name=mux ! filesink",
                   [f"location={source.path('sound.mp4')}"], "filesrc", [f"location={plain}"],
                   "! qtdemux ! h264parse ! queue max-size-time=0 max-size-bytes=0",
                   "max-size-buffers=0 ! mux.")
    check_kept(tap, source, "sound.mp4", "sound-out.mp4", audio=1)
    check_kept(tap, source, "sound.mp4", "sound-out.mov", audio=1)

    clips.write(source.clip, source.path("small.webm"), "-c:v", "libvpx-vp9", "-cpu-used", "8",
                "-deadline", "realtime", "-b:v", "2M")
    check_kept(tap, source, "small.webm", "small-out.webm")
    codec = files.streams(source.path("small-out.webm"))
    tap.check(codec == [("vp9", "video")], "VP9 stays VP9", str(codec))
    for name in ("small-out.mp4", "small-out.mov"):
        check_kept(tap, source, "small.webm", name)
        codec = files.streams(source.path(name))
        tap.check(codec == [("h264", "video")], f"... {name}: and becomes H.264", str(codec))
    check_alpha(tap, source)
    clips.write(source.clip, source.path("av1.mkv"), "-c:v", "libaom-av1", "-cpu-used", "8")
    check_kept(tap, source, "av1.mkv", "av1-out.mkv")
    codec = files.streams(source.path("av1-out.mkv"))
    tap.check(codec == [("av1", "video")], "AV1 stays AV1", str(codec))
    check_variable_rate(tap, source)
    check_damage(tap, source)


def check_alpha(tap, source):
    files.ffmpeg("-i", source.path("plain.mp4"), "-vf", "format=yuva420p,geq=lum=p(X\\,Y):a=X",
                 "-c:v", "libvpx-vp9", "-cpu-used", "8", "-deadline", "realtime", "-b:v", "2M",
                 source.path("alpha.webm"))
    process = source.anonymize("alpha.webm", "alpha-out.webm")
    kind = files.probe(source.path("alpha-out.webm"), "-show_entries", "stream=codec_name,pix_fmt",
                       "-of", "csv=p=0").strip()
    tap.check(kind == "vp9,yuv420p" and "transparency is left out" in process.stderr,
              "transparency goes, and is told", f"{kind}\n{process.stderr}")


def check_range(tap, source):
    """Full range, as cameras mark it, without a word on the matrix."""
    files.ffmpeg("-i", source.path("plain.mp4"), "-vf", "scale=out_range=full", "-pix_fmt",
                 "yuvj420p", "-an", source.path("full.mp4"))
    process = source.anonymize("full.mp4", "full-out.mp4")
    found = files.probe(source.path("full-out.mp4"), "-show_entries",
                        "stream=color_range,chroma_location", "-of", "csv=p=0").strip()
    tap.check(process.returncode == 0 and found == "pc,left", "full range stays so",
              f"{found}\n{process.stderr}")


def check_endless(tap, source):
    files.ffmpeg("-i", source.path("plain.mp4"), "-t", "0.2", "-vf", "scale=64:48",
                 source.path("loop.gif"))
    process = source.anonymize("loop.gif", "loop-out.mp4")
    tap.check(process.returncode == 1 and "ffmpeg -i" in process.stderr,
              "a GIF, which never ends, is refused", process.stderr)


def check_late_sound(tap, source):
    """All of the sound lies behind all of the video: what is first has to wait for it."""
    files.ffmpeg("-stream_loop", "4", "-i", source.path("plain.mp4"), "-f", "lavfi", "-i",
                 "sine=sample_rate=48000:duration=6", "-c:v", "copy", "-c:a", "ac3",
                 source.path("even.ts"))
    data = source.path("even.ts").read_bytes()
    cells = [data[at:at + 188] for at in range(0, len(data), 188)]
    is_sound = [(cell[1] & 0x1f) << 8 | cell[2] == 0x101 for cell in cells]
    source.path("late.ts").write_bytes(b"".join(
        [cell for cell, sound in zip(cells, is_sound) if not sound] +
        [cell for cell, sound in zip(cells, is_sound) if sound]))
    process = source.anonymize("late.ts", "late-out.mkv")
    if not tap.check(process.returncode == 0, "sound far behind its pictures", process.stderr):
        return
    before, after = (files.packets(source.path(name), "a:0") for name in ("late.ts",
                                                                          "late-out.mkv"))
    tap.check(after == before[-len(after):] and len(before) - len(after) <= 2 and
              len(files.times(source.path("late-out.mkv"))) == 5 * FRAMES, "all of it is there",
              f"{len(before)} packets, then {len(after)}")


def check_variable_rate(tap, source):
    """Frames at odd times, one after a long wait."""
    moments = "N*40+7*gte(N\\,10)+333*gte(N\\,21)"
    files.ffmpeg("-i", source.path("plain.mp4"), "-vf", f"settb=1/1000,setpts={moments}",
                 "-fps_mode", "vfr", "-enc_time_base", "1/1000", "-c:v", "libx264", "-crf", "14",
                 source.path("odd.mkv"))
    check_kept(tap, source, "odd.mkv", "odd-out.mkv")
    side = files.sidecar(source.path("odd-out.mkv"))
    skipped = [frame["frame"] for frame in side["frames"]
               if "pictures are missing here" in frame.get("unsure", ())]
    tap.check(skipped == [20, 21], "a long wait makes the frames around it unsure", str(skipped))
    process = source.anonymize("odd.mkv", "odd-again.mkv")
    first, last = (side["frames"][number]["time"] for number in skipped)
    tap.check(f"missing at {first:.2f} to {last:.2f} s" in process.stderr,
              "... and is told with its place", process.stderr)
    few = source.path("few.json")
    few.write_text(json.dumps(face_rows(source.clip)[:9]))
    for title, choice, wanted in (("one picture that a steady file lacks", "not(eq(n\\,12))", 1),
                                  ("a camera that leaves out every fourth", "mod(n\\,4)", 0)):
        files.ffmpeg("-i", source.path("plain.mp4"), "-vf", f"select={choice}", "-fps_mode", "vfr",
                     "-c:v", "libx264", source.path("lacks.mkv"))
        process = files.anonymize("--quiet", "--detections", few, "--detect-only", "--sidecar",
                                  source.path("lacks.json"), "--overwrite",
                                  source.path("lacks.mkv"))
        tap.check(process.stderr.count("missing at 0.44 to 0.52 s") == wanted and
                  process.stderr.count("missing") == wanted, f"{title}: told {wanted} times",
                  process.stderr)


def check_damage(tap, source):
    """The decoder leaves out pictures that a few bytes of noise have hit."""
    files.ffmpeg("-stream_loop", "3", "-i", source.path("plain.mp4"), "-c", "copy", "-movflags",
                 "+faststart", source.path("noise.mp4"))
    data = bytearray(source.path("noise.mp4").read_bytes())
    middle = len(data) // 2
    data[middle:middle + 3000] = bytes(range(250)) * 12
    source.path("noise.mp4").write_bytes(data)
    process = source.anonymize("noise.mp4", "noise-out.mp4")
    unsure = [frame["time"] for frame in files.sidecar(source.path("noise-out.mp4"))["frames"]
              if {"pictures are damaged here", "pictures are missing here"} &
              set(frame.get("unsure", ()))]
    tap.check(unsure and f"damaged or missing at {unsure[0]:.2f} to" in process.stderr,
              "damage in the middle is told with its place", f"{unsure} {process.stderr}")


def check_rotation(tap, source):
    """The boxes are of the picture as players show it."""
    turned = [cv2.rotate(image, cv2.ROTATE_90_COUNTERCLOCKWISE) for image in source.clip.images]
    stored = clips.Clip(turned, source.clip.truth)
    clips.write(stored, source.path("stored.mp4"), "-c:v", "libx264", "-crf", "14")
    files.ffmpeg("-i", source.path("stored.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90",
                 source.path("turned.mp4"))
    before = clips.read(source.path("turned.mp4"))
    if not tap.check(before[0].shape == (clips.HEIGHT, clips.WIDTH, 3), "the file is turned",
                     str(before[0].shape)):
        return
    check_kept(tap, source, "turned.mp4", "turned-out.mp4")


def check_pictures_in_tags(tap, source):
    cover = clips.astronaut()[:, :, ::-1]
    cv2.imwrite(str(source.path("cover.png")), cover)
    files.ffmpeg("-i", source.path("plain.mp4"), "-i", source.path("cover.png"), "-map", "0",
                 "-map", "1", "-c", "copy", "-disposition:v:1", "attached_pic", "-metadata",
                 "title=A talk", source.path("cover.mp4"))
    has = files.streams(source.path("cover.mp4"))
    process = source.anonymize("cover.mp4", "cover-out.mp4")
    left = files.streams(source.path("cover-out.mp4")) if process.returncode == 0 else None
    tap.check(len(has) == 2 and left == [("h264", "video")], "the cover goes",
              f"{has} became {left}\n{process.stderr}")
    title = files.probe(source.path("cover-out.mp4"), "-show_entries", "format_tags=title", "-of",
                        "csv=p=0").strip()
    tap.check(title == "A talk", "the title stays", title)


def check_pixels_outside(tap, source):
    """What is not covered changes by encoding alone."""
    process = source.anonymize("plain.mp4", "fine.mp4", "--quality", "5")
    images = clips.read(source.path("fine.mp4"))
    originals = clips.read(source.path("plain.mp4"))
    worst = 0.0
    for image, original, truth in zip(images, originals, source.clip.truth):
        face = cv2.dilate(clips.face_mask(truth).astype(np.uint8), np.ones((101, 101)))
        worst = max(worst, np.abs(image.astype(int) - original)[face == 0].mean())
    tap.check(process.returncode == 0 and worst < 1.5, "what is no face stays", f"{worst:.2f}")


def run(tap):
    with tempfile.TemporaryDirectory() as folder:
        source = Source(folder)
        check_containers(tap, source)
        check_range(tap, source)
        check_endless(tap, source)
        check_late_sound(tap, source)
        check_rotation(tap, source)
        check_pictures_in_tags(tap, source)
        check_pixels_outside(tap, source)


if __name__ == "__main__":
    harness.main(run)
