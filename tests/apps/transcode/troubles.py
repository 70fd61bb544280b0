#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong: broken files, full disks, signals, wrong arguments. Never half a file, always a
sentence and the exit status that --help names."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

import clips
from clips import harness, make, transcode


def leftovers(directory):
    return sorted(path.name for path in directory.glob("out*"))


def check_refused(tap, directory, title, status, pattern, *words, **arguments):
    found, _, said = transcode(*words, **arguments)
    tap.check(found == status and re.search(pattern, said) and not leftovers(directory), title,
              f"exit status {found}, left {leftovers(directory)}\n{said}")


def ebml(identifier, content_size):
    """The head of an element of Matroska."""
    return bytes.fromhex(identifier) + (1 << 56 | content_size).to_bytes(8, "big")


def nested_groups(depth):
    """A Matroska file whose cluster has groups of blocks in groups of blocks."""
    groups = b"".join(ebml("a0", 9 * inner) for inner in range(depth - 1, -1, -1))
    return (ebml("1a45dfa3", 18) + ebml("4282", 8) + b"matroska" +
            ebml("18538067", 12 + len(groups)) + ebml("1f43b675", len(groups)) + groups)


def many_tracks(count):
    """A Matroska file of many tracks."""
    tracks = b"".join(ebml("ae", 11) + ebml("d7", 2) + number.to_bytes(2, "big")
                      for number in range(1, count + 1))
    return (ebml("1a45dfa3", 18) + ebml("4282", 8) + b"matroska" +
            ebml("18538067", 12 + len(tracks)) + ebml("1654ae6b", len(tracks)) + tracks)


def box(kind, *contents):
    """A box of MP4."""
    inside = b"".join(contents)
    return (8 + len(inside)).to_bytes(4, "big") + kind + inside


def many_chapters(count):
    """An MP4 file of many tracks, and one that calls others its chapters many times."""
    clock = bytes(12) + (1000).to_bytes(4, "big") + bytes(8)
    track = box(b"tkhd", bytes(84)), box(b"mdia", box(b"mdhd", clock))
    chapters = box(b"tref", box(b"chap", b"\1" * 40 * count))
    return box(b"ftyp", b"isom", bytes(4)) + box(b"moov", box(b"mvhd", clock, bytes(76)), box(
        b"trak", *track, chapters), box(b"trak", *track) * count)


def break_files(directory, source):
    """Cut off, of noise in the middle, without an index."""
    clips.ffmpeg("-i", str(source), "-c", "copy", "-movflags", "+faststart",
                 str(directory / "fast.mp4"))
    clips.ffmpeg("-i", str(source), "-c", "copy", str(directory / "whole.mkv"))
    fast = (directory / "fast.mp4").read_bytes()
    (directory / "cut.mp4").write_bytes(fast[:len(fast) * 2 // 3])
    matroska = (directory / "whole.mkv").read_bytes()
    (directory / "cut.mkv").write_bytes(matroska[:len(matroska) * 2 // 3])
    middle = len(matroska) // 2
    (directory / "noise.mkv").write_bytes(matroska[:middle] + bytes(range(1, 256)) * 8 +
                                          matroska[middle + 2040:])
    clips.ffmpeg("-i", str(source), "-c", "copy", str(directory / "whole.ts"))
    stream = bytearray((directory / "whole.ts").read_bytes())
    middle = len(stream) // 2 // 188 * 188
    del stream[middle:middle + 2 * 188]
    (directory / "gap.ts").write_bytes(stream)
    middle = len(fast) * 2 // 3
    (directory / "noise.mp4").write_bytes(fast[:middle] + bytes(range(256)) * 16 +
                                          fast[middle + 4096:])
    (directory / "headless.mp4").write_bytes(source.read_bytes()[:20000])
    (directory / "nested.mkv").write_bytes(nested_groups(200000))
    (directory / "tracks.mkv").write_bytes(many_tracks(20000))
    (directory / "chapters.mp4").write_bytes(many_chapters(50000))


def check_broken(tap, directory, source):
    break_files(directory, source)
    result = directory / "out.mkv"
    for name in ("cut.mp4", "cut.mkv"):
        check_refused(tap, directory, f"{name} is refused", 4, r"bytes are missing.*--keep-going",
                      directory / name, result, "--filter", "identity")
    check_refused(tap, directory, "noise in the middle: where, and how far", 4,
                  r"broken at 0:0\d\.\d.*\(\d+ frames had been filtered\).*--keep-going",
                  directory / "noise.mp4", result, "--filter", "identity")
    check_refused(tap, directory, "blocks of Matroska that are none: where", 4,
                  r"broken at its byte \d+\..*--keep-going", directory / "noise.mkv", result,
                  "--filter", "identity")
    check_refused(tap, directory, "packets of a transport stream are missing", 4,
                  r"broken at 0:0\d\.\d.*--keep-going", directory / "gap.ts", result, "--filter",
                  "identity")
    for name, title, pattern in (
            ("headless.mp4", "a file without an index", "Cannot read"),
            ("nested.mkv", "a file of groups within groups", "Cannot read"),
            ("tracks.mkv", "a file of 20,000 tracks", "more than 256 tracks"),
            ("chapters.mp4", "a file of 50,000 tracks, and 500,000 times chapters",
             "more than 256 tracks")):
        check_refused(tap, directory, title, 1, pattern, directory / name, result, "--filter",
                      "identity")
    for name in ("cut.mp4", "cut.mkv", "noise.mp4", "noise.mkv", "gap.ts"):
        status, _, said = transcode(directory / name, result, "--filter", "identity",
                                    "--keep-going")
        frames = len(clips.times(result, "v:0")) if result.exists() else 0
        tap.check(status == 0 and 30 < frames <= 75 and "Warning" in said,
                  f"{name} with --keep-going", f"{frames} frames\n{said}")
        result.unlink(missing_ok=True)
    _, told, said = transcode(directory / "gap.ts", result, "--filter", "identity",
                              "--keep-going", "--json")
    check_warned(tap, "is broken at", told, said)
    result.unlink(missing_ok=True)


def check_warned(tap, text, told, said):
    events = [json.loads(line) for line in told.splitlines()]
    tap.check(any(event["event"] == "warning" and text in event["message"] for event in events),
              f"--json has the warning: {text}", f"{told}\n{said}")


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))


def check_full_disk(tap, directory, source):
    check_refused(tap, directory, "a file that may not grow", 1, "Cannot write",
                  source, directory / "out.mkv", "--filter", "identity", preexec_fn=small_files)
    mount = directory / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(mount)], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        tap.skip("a full disk", "no file system can be mounted here")
        return
    try:
        status, _, said = transcode(source, mount / "out.mp4", "--filter", "identity")
        tap.check(status == 1 and "the disk is full" in said and not list(mount.iterdir()),
                  "a full disk", f"{status} {list(mount.iterdir())}\n{said}")
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def check_signals(tap, directory, source):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as a terminal has it, not nohup
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        words = [clips.PROGRAM, str(source), str(directory / "out.mp4"), "--filter",
                 "identity sleep-time=50000"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            end = time.monotonic() + 30
            while not (directory / "out.mp4.part").exists() and time.monotonic() < end:
                time.sleep(0.02)
            process.send_signal(number)
            said = process.communicate(timeout=30)[1]
        tap.check(process.returncode == 130 and "Interrupted" in said and
                  not leftovers(directory), signal.Signals(number).name,
                  f"{process.returncode} {leftovers(directory)}\n{said}")


def check_company(tap, directory, source):
    """Two write the same file; who reads what is said goes away."""
    result = directory / "out.mkv"
    words = [clips.PROGRAM, str(source), str(result), "--json", "--filter",
             "identity sleep-time=30000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
        first.stdout.readline()
        first.stdout.close()
        while not (directory / "out.mkv.part").exists() and first.poll() is None:
            time.sleep(0.02)
        status, _, said = transcode(source, result, "--filter", "identity")
        tap.check(status == 1 and "written by another" in said, "a second one for the same file",
                  said)
    tap.check(first.returncode == 0 and len(clips.times(result, "v:0")) == 75 and
              leftovers(directory) == ["out.mkv"], "... and the first, to which nobody listens",
              f"{first.returncode} {leftovers(directory)}")
    result.unlink(missing_ok=True)


def check_existing(tap, directory, source):
    result = directory / "there.mkv"
    result.write_text("precious")
    status, _, said = transcode(source, result, "--filter", "identity")
    tap.check(status == 2 and "--overwrite" in said and result.read_text() == "precious",
              "a file that is there stays", said)
    status, _, said = transcode(directory / "noise.mp4", result, "--filter", "identity",
                                "--overwrite")
    tap.check(status == 4 and result.read_text() == "precious",
              "... also where the new one fails", said)
    status, _, said = transcode(source, result, "--filter", "identity", "--overwrite")
    tap.check(status == 0 and len(clips.times(result, "v:0")) == 75, "--overwrite", said)
    check_refused(tap, directory, "the file itself", 2, "is the same file as IN", source, source,
                  "--filter", "identity", "--overwrite")


def check_arguments(tap, directory, source):
    result = directory / "out.mp4"
    cases = (
        ("no filter", 2, "without --filter"),
        ("no such element", 3, 'no element "nosuch"', "--filter", "nosuch"),
        ("no such property", 2, "cudallf", "--filter", "cudallf alpa=1"),
        ("a value out of range", 2, "0.05", "--filter", "cudallf alpha=99"),
        ("a property without a value", 2, '"alpha" after cudallf', "--filter", "cudallf alpha"),
        ("no list", 2, "<1,2,1>", "--filter", "cudasepconv row-kernel=1,2,1"),
        ("a filter of sound", 2, "does not take raw video", "--filter", "audioconvert"),
        ("a filter that encodes", 2, "does not give raw video", "--filter", "x264enc"),
        ("a name that is taken", 2, "choose another", "--filter", "cudallf name=mux"),
        ("no such quality", 2, r"0 \(best\) to", "--filter", "identity", "--quality", "99"),
        ("a codec that MP4 has not", 2, "h264 h265", "--filter", "identity", "--encoder",
         "vp9"),
        ("an element that does not encode", 2, "H.264", "--filter", "identity", "--encoder",
         "jpegenc"),
        ("an encoder's property", 2, "x264enc", "--filter", "identity", "--encoder",
         "x264enc nosuch=1"),
        ("a part beyond the last", 2, "K/N", "--filter", "identity", "--part", "9/8"),
        ("a join of no parts", 2, "--join takes", "--filter", "identity", "--join", "0"),
        ("an option that is none", 2, "--help", "--nosuch"),
    )
    for title, status, pattern, *words in cases:
        check_refused(tap, directory, title, status, pattern, source, result, *words)
    check_refused(tap, directory, "a kind of file that is none", 2, r"\.mkv, \.mp4", source,
                  directory / "out.xyz", "--filter", "identity")
    check_refused(tap, directory, "a folder that is none", 1, "No such file or directory", source,
                  directory / "nosuch" / "out.mkv", "--filter", "identity")
    check_refused(tap, directory, "no such file", 1, "No such file", directory / "nosuch.mp4",
                  result, "--filter", "identity")
    check_refused(tap, directory, "a file that is no video", 1, "Cannot read", __file__, result,
                  "--filter", "identity")


def check_sizes(tap, directory):
    """Pictures that encoders or files do not take: no broken file, but a way out."""
    for name, size, options in (("odd.mkv", "161x91", ("-c:v", "ffv1")),
                                ("tiny.mp4", "2x2", ("-c:v", "libx264", "-pix_fmt", "yuv420p"))):
        make(directory / name, *options, filters=f"scale={size.replace('x', ':')},format=yuv420p")
    check_refused(tap, directory, "an odd size", 1,
                  r"x264enc does not take pictures of 161x91.*videocrop right=1 bottom=1",
                  directory / "odd.mkv", directory / "out.mp4", "--filter", "identity")
    check_refused(tap, directory, "a size that MP4 has not", 1,
                  r"MP4 have no format in common.*2x2",
                  directory / "tiny.mp4", directory / "out.mp4", "--filter", "identity")
    for title, name, *words in (
            ("... made even", "odd.mkv", "--filter", "videocrop right=1 bottom=1"),
            ("... and Matroska takes it", "tiny.mp4", "--filter", "identity")):
        status, _, said = transcode(directory / name, directory / "sized.mkv", "--overwrite",
                                    *words)
        tap.check(status == 0 and len(clips.times(directory / "sized.mkv", "v:0")) == 50, title,
                  said)


def check_changing_size(tap, directory):
    """Broadcasts change it, and the frame rate; Matroska cannot."""
    for name, size, start, rate in (("wide.ts", "96x54", "0", "25"),
                                    ("narrow.ts", "64x48", "1", "25"),
                                    ("fast.ts", "96x54", "1", "50")):
        make(directory / name, "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p",
             "-output_ts_offset", start, size=size, seconds=1, rate=rate)
    mixed = directory / "mixed.ts"
    mixed.write_bytes((directory / "wide.ts").read_bytes() +
                      (directory / "narrow.ts").read_bytes())
    status, _, said = transcode(mixed, directory / "out.mkv", "--filter", "identity")
    advice = re.search(r'from 96x54 to 64x48.*Matroska.*"(videoscale ! video/x-raw,.*)"', said)
    tap.check(status == 1 and advice and not leftovers(directory), "a size that changes", said)
    status, _, said = transcode(mixed, directory / "same.mkv", "--filter",
                                advice[1] if advice else "identity")
    tap.check(status == 0 and len(clips.times(directory / "same.mkv", "v:0")) == 50,
              "... and one that is kept", said)
    faster = directory / "faster.ts"
    faster.write_bytes((directory / "wide.ts").read_bytes() + (directory / "fast.ts").read_bytes())
    status, _, said = transcode(faster, directory / "out.mkv", "--filter", "identity")
    advice = re.search('frame rate.*Matroska.*"(videorate ! .*)"', said)
    tap.check(status == 1 and advice and not leftovers(directory), "a rate that changes", said)
    status, _, said = transcode(faster, directory / "steady.mkv", "--filter",
                                advice[1] if advice else "identity")
    tap.check(status == 0 and 49 <= len(clips.times(directory / "steady.mkv", "v:0")) <= 51,
              "... and one that is kept", said)


def check_filters(tap, directory, source):
    """Caps where nothing comes before or after them, which gst-launch-1.0 has no use for."""
    for text in ("videoscale ! video/x-raw,width=96", "video/x-raw(ANY) ! videoscale ! "
                 "video/x-raw,width=96 ! identity"):
        status, _, said = transcode(source, directory / "caps.mp4", "--filter", text,
                                    "--overwrite")
        tap.check(status == 0 and clips.streams(directory / "caps.mp4")[0]["width"] == 96,
                  text, said)


def check_names(tap, directory, source):
    """What begins with a dash is a file behind "--"."""
    (directory / "-in.mp4").symlink_to(source)
    status, _, said = transcode("--filter", "identity", "--", "-in.mp4", "-named.mp4",
                                cwd=directory)
    tap.check(status == 0 and (directory / "-named.mp4").exists(), "names that begin with a dash",
              said)
    status, _, said = transcode("-in.mp4", "out.mp4", "--filter", "identity", cwd=directory)
    tap.check(status == 2 and "./-in.mp4" in said, "... without it: how to name one", said)
    for name in (b"new\nline.mp4", b"Latin-1 \xe9.mp4", b"100% 'quoted' \\ \"twice\".mp4"):
        path = os.fsdecode(os.fsencode(directory) + b"/" + name)
        os.symlink(source, path)
        status, _, said = transcode(path, path + ".mp4", "--filter", "identity", errors="replace")
        tap.check(status == 0 and os.path.exists(path + ".mp4"), f"a file called {name}", said)


def check_colours(tap, directory):
    """4:2:0 is what players take; a filter for RGB makes no file of 4:4:4 of it."""
    for pictures in ("yuv420p", "yuv444p", "yuv420p10le"):
        make(directory / "colours.mp4", "-c:v", "libx264", "-pix_fmt", pictures, size="64x64",
             seconds=0.2)
        status, _, said = transcode(directory / "colours.mp4", directory / "rgb.mp4",
                                    "--overwrite", "--filter",
                                    "videoconvert ! video/x-raw,format=RGB ! identity")
        found = clips.streams(directory / "rgb.mp4")[0]["pix_fmt"]
        tap.check(status == 0 and found == pictures.removesuffix("10le") and
                  ("10 bits become 8" in said) == pictures.endswith("10le"),
                  f"RGB in the filter of {pictures}",
                  f"{found}\n{said}")
    _, told, said = transcode(directory / "colours.mp4", directory / "rgb.mp4", "--overwrite",
                              "--json", "--filter",
                              "videoconvert ! video/x-raw,format=RGB ! identity")
    check_warned(tap, "10 bits become 8", told, said)


def check_losses(tap, directory, source):
    """What a file cannot hold is named before anything is written."""
    clips.ffmpeg("-i", str(source), "-frames:v", "1", str(directory / "cover.png"))
    clips.ffmpeg("-i", str(source), "-i", str(directory / "cover.png"), "-map", "0", "-map", "1",
                 "-c", "copy", "-disposition:v:1", "attached_pic", str(directory / "cover.mp4"))
    make(directory / "clear.webm", "-c:v", "libvpx-vp9", "-pix_fmt", "yuva420p", "-cpu-used", "8",
         "-deadline", "realtime", size="64x64", seconds=0.2)
    for name, pictures in (("clear.mkv", "bgra"), ("fine.mkv", "yuv422p10")):
        make(directory / name, "-c:v", "ffv1", "-pix_fmt", pictures, size="64x64", seconds=0.2)
    make(directory / "hdr.mp4", "-c:v", "libx265", "-x265-params", clips.HDR, "-pix_fmt",
         "yuv420p10le", size="64x64", seconds=0.2)
    make(directory / "film.mov", "-c:v", "libx264", "-timecode", "01:00:00:00", seconds=0.2)
    for name, result, pattern, *words in (
            ("film.mov", "out.mov", "(timecode) is left out"),
            ("cover.mp4", "out.mkv", "cover is left out"),
            ("cover.mp4", "out.mp4", None),
            ("hdr.mp4", "out.mkv", "not the video in it", "--encoder", "av1enc"),
            ("hdr.mp4", "out.mkv", None),
            ("clear.webm", "out.webm", "transparency is left out"),
            ("clear.mkv", "out.mp4", "transparency is left out"),
            ("fine.mkv", "out.mkv", "10 bits become 8", "--encoder", "openh264enc"),
            ("fine.mkv", "out.mkv", None)):
        status, _, said = transcode(directory / name, directory / result, "--filter", "identity",
                                    "--dry-run", *words)
        warnings = re.findall("Warning: (.*)", said)
        found = pattern in said if pattern else not warnings
        tap.check(status == 0 and found, f"{name} to {result}: {pattern or 'no warning'}", said)


def check_words(tap, directory, source):
    status, said, _ = transcode("--help")
    lines = said.splitlines()
    tap.check(status == 0 and len(lines) <= 40 and max(map(len, lines)) <= 90,
              "--help is one screen")
    status, said, _ = transcode(source, directory / "json.mkv", "--filter", clips.FILTER, "--json")
    events = [json.loads(line) for line in said.splitlines()]
    tap.check(status == 0 and events[0]["event"] == "start" and events[-1]["event"] == "end" and
              events[0]["decoder"] and events[-1]["frames"] == 75, "--json", said)
    status, said, _ = transcode(directory / "cut.mp4", directory / "nosuch.mkv", "--filter",
                                clips.FILTER, "--json")
    events = [json.loads(line) for line in said.splitlines()]
    tap.check(status == 4 and events[-1]["event"] == "error" and
              "bytes are missing" in events[-1]["message"], "--json, of a broken file", said)
    status, _, said = transcode(source, directory / "said.mkv", "--filter", clips.FILTER)
    tap.check(status == 0 and "decoder" in said and "encoder" in said and
              re.search("cudallf on (cpu|cuda)", said) and "\r" not in said,
              "decoder, encoder and backend are said, in plain lines", said)
    words = f"{clips.PROGRAM} {source} {directory}/bar.mkv --filter 'identity sleep-time=9000'"
    said = subprocess.run(["script", "-qec", words, "/dev/null"], check=False, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, TERM="xterm")).stdout
    tap.check(re.search(r"\[#+-+\] \d+\.\d %.* fps.* left", said), "a bar on a terminal", said)


def run(tap):
    clips.skip_without_tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        source = directory / "in.mp4"
        make(source, "-c:v", "libx264", "-bf", "2", "-g", "15", "-c:a", "aac", seconds=3,
             size="160x90", inputs=("-f", "lavfi", "-i", "sine=duration=3"))
        check_broken(tap, directory, source)
        check_full_disk(tap, directory, source)
        check_signals(tap, directory, source)
        check_company(tap, directory, source)
        check_existing(tap, directory, source)
        check_arguments(tap, directory, source)
        check_sizes(tap, directory)
        check_changing_size(tap, directory)
        check_filters(tap, directory, source)
        check_names(tap, directory, source)
        check_colours(tap, directory)
        check_losses(tap, directory, source)
        check_words(tap, directory, source)


if __name__ == "__main__":
    harness.main(run)
