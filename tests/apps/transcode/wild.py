#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files as they lie about: of telephones, cameras, streaming services and old programs."""
import pathlib
import tempfile

import clips
from clips import harness, make, transcode

AAC = ("-f", "lavfi", "-i", "sine=duration=2")
X264 = ("-c:v", "libx264", "-g", "15", "-bf", "2")
CREATED = "2024-05-05T10:00:00.000000Z"


def box(kind, *contents):
    """A box of MP4."""
    inside = b"".join(contents)
    return (8 + len(inside)).to_bytes(4, "big") + kind + inside


def filtered(tap, source, result, title, *words):
    status, _, said = transcode(source, result, "--filter", "identity", *words)
    tap.check(status == 0, title, said)
    return said


def check_streams_that_come_late(tap, directory):
    """FLV tells of its sound only where the first packet of it is."""
    source = directory / "flash.flv"
    make(source, *X264, "-c:a", "aac", inputs=AAC)
    lines = [transcode(source, directory / "out.mp4", "--filter", "identity", "--dry-run")[1]
             for _ in range(8)]
    tap.check(all("mux.audio_0" in line for line in lines), "FLV keeps its sound", str(lines))


def check_programs(tap, directory):
    """A receiver's recording of two channels, and of a radio before one."""
    source, result = directory / "two.ts", directory / "two.mkv"
    make(source, "-map", "0", "-map", "2", "-map", "1", "-map", "2", *X264, "-c:a", "aac",
         "-program", "program_num=17:st=0:st=1", "-program", "program_num=42:st=2:st=3",
         inputs=("-f", "lavfi", "-i", "testsrc=size=64x48:duration=2", *AAC))
    for words, width, warned in (((), 320, True), (("--program", "17"), 320, False),
                                 (("--program", "42"), 64, False),
                                 (("--program", "42", "--resume"), 64, False)):
        said = filtered(tap, source, result, " ".join(("two programs", *words)), "--overwrite",
                        *words)
        found = [stream.get("width") for stream in clips.streams(result)]
        tap.check(found == [width, None], f"... the picture of {width} and its sound", str(found))
        tap.check(("program 17 is read, of 17 and 42" in said) == warned, "... a warning", said)
    for words, what in (("5", "17 and 42"), ("x", "1 to 65535")):
        status, _, said = transcode(source, result, "--filter", "identity", "--overwrite",
                                    "--program", words)
        tap.check(status == 2 and words in said and what in said, f"--program {words}", said)
    make(source, "-map", "1", "-map", "0", "-map", "1", *X264, "-c:a", "aac",
         "-program", "program_num=7:st=0", "-program", "program_num=9:st=1:st=2", inputs=AAC)
    status, _, said = transcode(source, result, "--filter", "identity", "--overwrite")
    tap.check(status == 1 and "one of 7 and 9" in said, "a radio program first", said)
    status, _, said = transcode(directory / "late.mp4", result, "--filter", "identity",
                                "--overwrite", "--program", "1")
    tap.check(status == 2 and "transport streams" in said, "an MP4 has no programs", said)


def check_late_sound(tap, directory):
    """Sound that goes on after the picture, and starts after it; from an MP4, which has an edit
    list for that, and joined from parts."""
    source, result = directory / "late.mp4", directory / "late.mkv"
    make(source, "-map", "0", "-map", "1", *X264, "-c:a", "aac",
         inputs=("-itsoffset", "3", "-f", "lavfi", "-i", "sine=duration=4"))
    wanted = clips.ffprobe(source, "-show_format")["format"]["duration"]
    for words in ((), ("--resume", "--overwrite")):
        filtered(tap, source, result, " ".join(("sound that starts late", *words)), *words)
        found = clips.ffprobe(result, "-show_format")["format"]["duration"]
        tap.check(abs(float(found) - float(wanted)) < 0.03, "... the file is as long",
                  f"{found} s, not {wanted}")


def check_second_video(tap, directory):
    source, result = directory / "two.mkv", directory / "two.mp4"
    make(source, "-map", "0", "-map", "1", *X264, inputs=(
        "-f", "lavfi", "-i", "testsrc=size=64x48:duration=2"))
    filtered(tap, source, result, "a second video with B frames, from Matroska to MP4")
    start = [min(clips.times(path, "v:1")) for path in (source, result)]
    problem = clips.differing([time - start[0] for time in clips.times(source, "v:1")],
                              [time - start[1] for time in clips.times(result, "v:1")], 0.002)
    tap.check(problem is None, "... its times", problem or "")


def check_ranges(tap, directory):
    """Cameras mark their video as full range and say no more of its colours."""
    names = ("color_range", "chroma_location")
    for size in ("320x180", "1280x720"):
        source, result = directory / f"full-{size}.mp4", directory / f"full-{size}.mkv"
        make(source, "-c:v", "libx264", "-pix_fmt", "yuvj420p", size=size, seconds=0.2)
        filtered(tap, source, result, f"{size}, full range, no matrix")
        found = [clips.streams(result)[0].get(name) for name in names]
        tap.check(found == ["pc", "left"], "... stays so", str(found))


def check_subtitles_of_the_web(tap, directory):
    (directory / "text.srt").write_text(clips.SUBTITLES)
    source = directory / "text.webm"
    make(source, "-c:v", "libvpx", "-deadline", "realtime", "-c:s", "webvtt", size="160x90",
         inputs=("-i", str(directory / "text.srt")))
    for name in ("text.mkv", "text-2.webm"):
        said = filtered(tap, source, directory / name, f"WebVTT to {name}")
        tap.check("subtitle stream 2" in said and "left out" in said, "... is told", said)


def check_endless(tap, directory):
    make(directory / "loop.gif", seconds=0.2, size="64x48")
    status, _, said = transcode(directory / "loop.gif", directory / "gif.mp4", "--filter",
                                "identity", timeout=30)
    tap.check(status == 1 and "ffmpeg -i" in said, "a GIF, which never ends, is refused", said)


def take_with_a_telephone(path):
    """A film that was taken somewhere, with what Apple's telephones add, and a mirrored picture."""
    make(path, *X264, "-c:a", "aac", "-metadata", f"creation_time={CREATED}", "-metadata",
         "location=+48.1+011.5/", inputs=AAC)
    film = bytearray(path.read_bytes())
    key, value = b"com.apple.quicktime.make", b"Apple"
    keys = box(b"meta", box(b"hdlr", bytes(8), b"mdta", bytes(13)),
               box(b"keys", bytes(4), (1).to_bytes(4, "big"), box(b"mdta", key)),
               box(b"ilst", box(b"\0\0\0\1", box(b"data", (1).to_bytes(4, "big"), bytes(4),
                                                 value))))
    moov = film.rindex(b"moov") - 4
    film[moov:moov + 4] = (len(film) - moov + len(keys)).to_bytes(4, "big")
    matrix = film.index(b"tkhd", moov) + 44
    film[matrix:matrix + 4] = (-65536 & 0xffffffff).to_bytes(4, "big")
    film[matrix + 24:matrix + 28] = (320 << 16).to_bytes(4, "big")
    path.write_bytes(film + keys)


def check_telephone(tap, directory):
    for extension in ("mp4", "mov"):
        source, result = directory / f"phone.{extension}", directory / f"phone-2.{extension}"
        take_with_a_telephone(source)
        said = filtered(tap, source, result, f"a telephone's .{extension}")
        before, after = (clips.ffprobe(path, "-show_format")["format"]["tags"]
                         for path in (source, result))
        for name in ("creation_time", "location", "com.apple.quicktime.make"):
            tap.check(before[name] == after.get(name), f"... {name}", f"{before}\n{after}")
        before, after = ([data["displaymatrix"] for data in
                          clips.streams(path)[0].get("side_data_list", [])]
                         for path in (source, result))
        tap.check(before == after and "Warning" not in said, "... mirrored", f"{after}\n{said}")


def check_order(tap, directory):
    """Sound that needs no parser appears first in GStreamer."""
    source, result = directory / "order.mkv", directory / "order-2.mkv"
    make(source, "-map", "0", "-map", "1", "-map", "1", *X264, "-c:a:0", "ac3", "-c:a:1",
         "pcm_s16le", inputs=AAC)
    filtered(tap, source, result, "compressed sound before raw")
    names = [[stream["codec_name"] for stream in clips.streams(path)] for path in (source, result)]
    tap.check(names[0] == names[1], "... in this order", str(names))


def check_language(tap, directory):
    """Matroska takes a track for English that names no language."""
    source, result = directory / "nameless.mp4", directory / "nameless.mkv"
    make(source, *X264, "-c:a", "aac", inputs=AAC)
    filtered(tap, source, result, "sound of no language, from MP4 to Matroska")
    found = clips.streams(result)[1].get("tags", {}).get("language", "und")
    tap.check(found == "und", "... does not become English", found)


def run(tap):
    clips.skip_without_tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        check_streams_that_come_late(tap, directory)
        check_late_sound(tap, directory)
        check_programs(tap, directory)
        check_second_video(tap, directory)
        check_ranges(tap, directory)
        check_subtitles_of_the_web(tap, directory)
        check_endless(tap, directory)
        check_telephone(tap, directory)
        check_order(tap, directory)
        check_language(tap, directory)


if __name__ == "__main__":
    harness.main(run)
