#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole files: what is not the picture comes through cudafilters-transcode as it was."""
import pathlib
import re
import shlex
import subprocess
import tempfile

import clips
from clips import harness, make, transcode

AAC = ("-f", "lavfi", "-i", "sine=duration=2")
X264 = ("-c:v", "libx264", "-g", "15")

# Matroska counts milliseconds; MP4 in units that are whole for common rates.
ROUNDING = {"mkv": 0.00051, "webm": 0.00051, "mp4": 0.00002, "mov": 0.00002}


def make_clips(directory):
    """Name, extension it becomes: each file is transcoded into these."""
    (directory / "chapters.txt").write_text(clips.CHAPTERS)
    (directory / "text.srt").write_text(clips.SUBTITLES)
    rich = dict(inputs=(*AAC, "-f", "lavfi", "-i", "sine=f=300:duration=2", "-i",
                        str(directory / "text.srt"), "-i", str(directory / "chapters.txt")))
    rich_options = ("-map", "0", "-map", "1", "-map", "2", "-map", "3", "-map_metadata", "4",
                    "-map_chapters", "4", *X264, "-bf", "2", "-c:a:0", "aac", "-c:a:1", "ac3",
                    "-metadata:s:a:0", "language=deu", "-metadata:s:a:1", "language=fra")
    make(directory / "rich.mkv", *rich_options, "-c:s", "srt", **rich)
    make(directory / "rich.mp4", *rich_options, "-c:s", "mov_text", **rich)
    make(directory / "sound.mov", *X264, "-bf", "2", "-c:a", "aac", inputs=AAC)
    make(directory / "vfr.mkv", *X264, "-fps_mode", "vfr", rate="24",
         filters=r"setpts=PTS+0.013*mod(N\,3)/TB")
    make(directory / "vfr.mp4", *X264, "-fps_mode", "vfr", "-enc_time_base", "1:90000",
         "-video_track_timescale", "90000", rate="24",
         filters=r"setpts=PTS+0.013*mod(N\,3)/TB")
    make(directory / "odd.mkv", *X264, "-pix_fmt", "yuv444p", size="161x91", rate="30000/1001")
    make(directory / "hdr.mp4", "-c:v", "libx265", "-x265-params", clips.HDR, "-pix_fmt",
         "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace",
         "bt2020nc", "-tag:v", "hvc1", seconds=1)
    make(directory / "interlaced.mp4", *X264, "-flags", "+ildct+ilme", "-x264opts", "tff=1",
         filters="interlace")
    make(directory / "upright.mp4", *X264)
    clips.ffmpeg("-i", str(directory / "upright.mp4"), "-c", "copy", "-metadata:s:v:0",
                 "rotate=90", str(directory / "rotated.mp4"))
    make(directory / "vp9.webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8",
         "-c:a", "libopus", size="160x90", inputs=AAC)
    make(directory / "vp8.webm", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8",
         size="160x90")
    make(directory / "styled.mkv", *X264, "-c:s", "ass",
         inputs=("-i", str(directory / "text.srt")))
    clips.ffmpeg("-i", str(directory / "vp8.webm"), "-frames:v", "1",
                 str(directory / "photo.jpg"))
    make(directory / "short.mp4", *X264, "-bf", "2", seconds=0.2)
    make(directory / "raw.avi", "-c:v", "rawvideo", "-pix_fmt", "yuv420p")
    return (("rich.mkv", "mkv"), ("rich.mkv", "mp4"), ("rich.mp4", "mp4"), ("rich.mp4", "mkv"),
            ("sound.mov", "mov"), ("vfr.mkv", "mkv"), ("vfr.mkv", "mp4"), ("vfr.mp4", "mp4"),
            ("odd.mkv", "mkv"), ("hdr.mp4", "mp4"), ("hdr.mp4", "mkv"),
            ("interlaced.mp4", "mp4"), ("rotated.mp4", "mp4"), ("vp9.webm", "webm"),
            ("vp8.webm", "webm"), ("styled.mkv", "mkv"), ("photo.jpg", "mp4"),
            ("short.mp4", "mp4"), ("raw.avi", "mp4"))


def shift(source, result):
    """A Matroska file cannot begin before 0: all of it comes later by the sound's lead."""
    if source.suffix not in (".mp4", ".mov") or result.suffix not in (".mkv", ".webm"):
        return 0.0
    return -min(0.0, *(min(clips.times(source, stream), default=0.0) for stream in ("v", "a")))


def check_times(tap, title, source, result):
    moved = shift(source, result)
    tolerance = ROUNDING[result.suffix[1:]] + 0.00051 * (source.suffix == ".mkv")
    problem = clips.differing([time + moved for time in clips.times(source, "v:0")],
                              clips.times(result, "v:0"), tolerance)
    tap.check(problem is None, f"{title}: the frames' times", problem or "")
    for stream in clips.streams(source):
        if stream["codec_type"] != "audio":
            continue
        number = sum(other["codec_type"] == "audio" and other["index"] < stream["index"]
                     for other in clips.streams(source))
        before = clips.packets(source, f"a:{number}")
        after = clips.packets(result, f"a:{number}")
        tap.check([packet.md5 for packet in before] == [packet.md5 for packet in after],
                  f"{title}: audio {number + 1}, every packet",
                  f"{len(before)} became {len(after)}")
        problem = clips.differing([float(packet.pts) + moved for packet in before],
                                  [float(packet.pts) for packet in after], tolerance)
        tap.check(problem is None, f"{title}: audio {number + 1}, its times", problem or "")


def tags_of(path):
    tags = clips.ffprobe(path, "-show_format")["format"].get("tags", {})
    return {name.lower().rstrip("s"): value for name, value in tags.items()}


def check_rich(tap, title, source, result):
    before, after = tags_of(source), tags_of(result)
    for name in ("title", "artist", "comment"):
        tap.check(before.get(name) == after.get(name), f"{title}: tag {name}",
                  f"{before.get(name)!r} became {after.get(name)!r}")
    chapters = [[(float(chapter["start_time"]), chapter["tags"]["title"])
                 for chapter in clips.ffprobe(path, "-show_chapters")["chapters"]]
                for path in (source, result)]
    tap.check(chapters[0] == chapters[1] and len(chapters[0]) == 2, f"{title}: chapters",
              str(chapters))
    languages = [[stream["tags"].get("language") for stream in clips.streams(path)
                  if stream["codec_type"] == "audio"] for path in (source, result)]
    tap.check(all(len(pair) == 2 for pair in languages) and
              [pair[0] + pair[1] for pair in languages][1] in ("deufra", "gerfre"),
              f"{title}: languages", str(languages))
    if shift(source, result) == 0:
        texts = [clips.subtitles(path) for path in (source, result)]
        if ".mp4" in (source.suffix, result.suffix):  # styles are warned of
            texts = [re.sub("</?(i|font)[^>]*>", "", text) for text in texts]
        if result.suffix == ".mp4":  # ffmpeg takes a track's late start off its last packet, too
            texts = [re.sub("(01,[17][0-9]{2}) --> [0-9:,]+", r"\1", text) for text in texts]
        tap.check(texts[0] == texts[1] and "Tom & Jerry" in texts[1].replace("&amp;", "&"),
                  f"{title}: subtitles, text and times", f"{texts[0]}\n{texts[1]}")


def field(path, *names, stream=0):
    found = clips.streams(path)[stream]
    return [found.get(name) for name in names]


def check_hdr(tap, title, source, result):
    names = ("pix_fmt", "color_range", "color_space", "color_transfer", "color_primaries")
    tap.check(field(source, *names) == field(result, *names), f"{title}: colours and bits",
              f"{field(source, *names)} became {field(result, *names)}")
    side = {key: value for data in clips.streams(result)[0].get("side_data_list", [])
            for key, value in data.items()}
    numbers = [eval(side.get(key, "0"))  # pylint: disable=eval-used
               for key in ("max_luminance", "min_luminance", "red_x", "white_point_y")]
    expected = [1000, 0.0001, 0.68, 0.329]
    tap.check(all(abs(a - b) < 1e-4 * b + 1e-7 for a, b in zip(numbers, expected)) and
              side.get("max_content") == 1000 and side.get("max_average") == 400,
              f"{title}: HDR10 metadata", str(side))


def rotation(path):
    return [data["rotation"] for data in clips.streams(path)[0].get("side_data_list", [])
            if "rotation" in data]


def check_others(tap, title, source, result):
    kind = source.stem
    if kind == "rich":
        check_rich(tap, title, source, result)
    elif kind == "hdr":
        check_hdr(tap, title, source, result)
    elif kind == "rotated":
        tap.check(rotation(result) == rotation(source) != [], f"{title}: rotation",
                  str(rotation(result)))
    elif kind == "interlaced":
        tap.check(field(result, "field_order") == field(source, "field_order") == ["tt"],
                  f"{title}: field order", str(field(result, "field_order")))
    elif kind == "styled":
        kept = [[field(path, "codec_name", stream=1),
                 [(packet.pts, packet.md5) for packet in clips.packets(path, "s:0")]]
                for path in (source, result)]
        tap.check(kept[0] == kept[1], f"{title}: subtitles with their styles", str(kept))
    names = ("codec_name", "width", "height", "pix_fmt")
    if kind in ("raw", "vp8", "photo"):  # become what the file takes, of the same size
        names = names[1:3]
    tap.check(field(result, *names) == field(source, *names), f"{title}: codec, size and format",
              f"{field(source, *names)} became {field(result, *names)}")


def check_picture(tap, directory):
    """The frames that come out have been filtered, and are those of the filter."""
    clips.ffmpeg("-i", str(directory / "upright.mp4"), "-vf", "format=gray", "-c:v", "ffv1",
                 str(directory / "gray.mkv"))
    status, _, said = transcode(directory / "gray.mkv", directory / "mosaic.mkv", "--filter",
                                "cudablockavg block-width=320 block-height=180", "--quality", "1")
    picture = subprocess.run(["ffmpeg", "-v", "error", "-i", str(directory / "mosaic.mkv"), "-vf",
                              "format=gray", "-frames:v", "1", "-f", "rawvideo", "-"],
                             check=False, stdout=subprocess.PIPE).stdout
    tap.check(status == 0 and len(picture) == 320 * 180 and max(picture) - min(picture) <= 3,
              "the filter is applied", said)


def check_turned(tap, directory):
    """Pictures that the filter has turned are not turned once more."""
    source = directory / "rotated.mp4"
    status, _, said = transcode(source, directory / "turned.mkv", "--filter", "identity",
                                "--dry-run")
    advice = re.search('Warning: the video is rotated for display.*"(videoflip .*)"', said)
    tap.check(status == 0 and advice, "Matroska does not turn, and the filter may", said)
    for name in ("turned.mkv", "turned.mp4"):
        status, _, said = transcode(source, directory / name, "--filter",
                                    advice[1] if advice else "identity")
        tap.check(status == 0 and "Warning" not in said and not rotation(directory / name) and
                  field(directory / name, "width", "height") == [180, 320],
                  f"... as in {name}", said)


def check_flags(tap, directory):
    """Which tracks players choose by themselves, and what they call them."""
    rich = directory / "rich.mp4"
    source = directory / "flags.mkv"
    clips.ffmpeg("-i", str(rich), "-map", "0:v", *("-map", "0:a:0") * 2, *("-map", "0:s:0") * 2,
                 "-c", "copy", "-c:s", "srt", "-disposition:a:0", "default",
                 "-disposition:a:1", "0",
                 "-metadata:s:a:1", 'title=The "director\'s" comments, \u00e4', "-disposition:s:0",
                 "default+forced", "-disposition:s:1", "0", str(source))
    clips.ffmpeg("-i", str(source), "-map", "0", "-c", "copy", "-c:s", "mov_text",
                 str(directory / "flags.mp4"))

    def told(path, *names):
        return [[stream["disposition"][name] for name in names] +
                [value for tag, value in stream.get("tags", {}).items() if tag.lower() == "title"]
                for stream in clips.streams(path) if stream["codec_type"] != "data"]

    for name, result, names in (("flags.mkv", "flags-out.mkv", ("default", "forced")),
                                ("flags.mp4", "flags-out.mp4", ("default",))):
        status, _, said = transcode(directory / name, directory / result, "--filter", "identity")
        before, after = (told(directory / path, *names) for path in (name, result))
        tap.check(status == 0 and before == after, f"{name}: names and flags of tracks",
                  f"{before}\n{after}\n{said}")
    status, _, said = transcode(source, directory / "named.mp4", "--filter", "identity")
    title = clips.ffprobe(directory / "named.mp4", "-show_format")["format"]["tags"].get("title")
    tap.check(status == 0 and "loses its name" in said and title == "A film & its name",
              "MP4 has no names of tracks, and no title of them", f"{title}\n{said}")


def check_dry_run(tap, directory):
    result = directory / "a name.mkv"
    status, line, said = transcode(directory / "rich.mp4", result, "--filter",
                                   'cudasepconv row-kernel="<1,2,1>" normalize=true', "--dry-run")
    tap.check(status == 0 and not result.exists(), "--dry-run only prints", said)
    run = subprocess.run(["bash", "-c", line], check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=60)
    tap.check(run.returncode == 0 and len(clips.times(result, "v:0")) == 50,
              "... a line that works", f"{line}\n{run.stdout}")
    tap.check(shlex.split(line)[0] == "gst-launch-1.0", "... of gst-launch-1.0", line)


def run(tap):
    clips.skip_without_tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for source, extension in make_clips(directory):
            source = directory / source
            result = directory / f"result-{source.stem}.{extension}"
            title = f"{source.name} -> {extension}"
            status, _, said = transcode(source, result, "--filter", clips.FILTER, "--chunk", "1",
                                        "--overwrite")
            if tap.check(status == 0 and "CRITICAL" not in said, title, said):
                check_times(tap, title, source, result)
                check_others(tap, title, source, result)
        check_picture(tap, directory)
        check_turned(tap, directory)
        check_flags(tap, directory)
        check_dry_run(tap, directory)


if __name__ == "__main__":
    harness.main(run)
