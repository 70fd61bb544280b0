#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file in parts, joined, is what a whole run makes: the same packets, times and order. With B
frames, with every encoder, with regions that are held over a cut, with parts killed.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import clips
from clips import harness, make, transcode

PARTS = 8
CHUNK = ("--chunk", "0.5")


def all_packets(path):
    """Of all streams, in the order of the file."""
    return [(packet["stream_index"], packet.get("pts_time"), packet.get("dts_time"),
             packet["data_hash"])
            for packet in clips.ffprobe(path, "-show_packets", "-show_data_hash",
                                        "md5")["packets"]]


def check_same(tap, title, whole, joined):
    if not (whole.exists() and joined.exists()):
        tap.check(False, title, "a file is missing")
        return
    before, after = all_packets(whole), all_packets(joined)
    tap.check(before == after, f"{title}: every packet and time",
              str([pair for pair in zip(before, after) if pair[0] != pair[1]][:2]))
    tap.check(clips.frames_md5(whole) == clips.frames_md5(joined), f"{title}: every pixel")


def in_parts(source, result, parts, *options):
    said = ""
    for part in range(1, parts + 1):
        status, _, text = transcode(source, result, *options, "--part", f"{part}/{parts}")
        said += text if status else ""
    status, _, text = transcode(source, result, *options, "--join", parts)
    return said + (text if status else "")


def check_parts(tap, directory, source, extension, title, *options, parts=PARTS):
    whole, joined = (directory / f"{name}.{extension}" for name in ("whole", "joined"))
    for path in (whole, joined):
        path.unlink(missing_ok=True)
    options = (*options, *CHUNK)
    status, _, said = transcode(source, whole, *options)
    said += in_parts(source, joined, parts, *options)
    tap.check(status == 0 and joined.exists(), title, said)
    check_same(tap, title, whole, joined)


def check_missing(tap, directory, source):
    result = directory / "missing.mp4"
    for part in (1, 3):
        transcode(source, result, "--filter", "identity", *CHUNK, "--part", f"{part}/4")
    status, _, said = transcode(source, result, "--filter", "identity", *CHUNK, "--join", 4)
    tap.check(status == 1 and "2, 4" in said and not result.exists(),
              "--join names the parts that are missing", said)
    status, _, said = transcode(source, result, "--filter", "videobalance", *CHUNK, "--join", 4)
    tap.check(status == 1 and "1, 2, 3, 4" in said, "parts of another filter do not count", said)
    status, _, said = transcode(source, result, "--filter", "identity", *CHUNK, "--part", "1/4")
    tap.check(status == 0 and "already" in said, "a part that is there stays", said)
    check_cut_off(tap, source, result)


def check_cut_off(tap, source, result):
    """A part that did not arrive whole would be a file without its end, and nobody told."""
    words = (source, result, "--filter", "identity", *CHUNK)
    for part in (2, 4):
        transcode(*words, "--part", f"{part}/4")
    last, = result.with_name(f"{result.name}.parts").glob("part-00004-of-*.gdp")
    last.write_bytes(last.read_bytes()[:-3000])
    status, _, said = transcode(*words, "--join", 4)
    tap.check(status == 1 and "not whole: 4" in said and not result.exists(),
              "a part that was cut off is named", said)
    status, _, said = transcode(*words, "--part", "4/4")
    joined, _, more = transcode(*words, "--join", 4)
    tap.check(status == joined == 0 and len(clips.times(result, "v:0")) ==
              len(clips.times(source, "v:0")), "... and made again", said + more)


def wait_for_part(process, directory, seconds=30):
    """Until a part is being written. FALSE: the program has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if list(directory.glob("*.gdp.part")):
            return True
        time.sleep(0.01)
    return False


def check_resume(tap, directory, source, whole):
    """Killed in the middle, twice; the third time it comes through."""
    result = directory / "resumed.mp4"
    words = [clips.PROGRAM, str(source), str(result), "--filter",
             f"{clips.FILTER} ! identity sleep-time=5000", *CHUNK, "--resume"]
    killed = 0
    for _ in range(2):
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
            killed += wait_for_part(process, directory / "resumed.mp4.parts")
            process.send_signal(signal.SIGKILL)
    tap.check(killed == 2 and not result.exists(), "--resume, killed twice")
    status, _, said = transcode(*words[1:])
    tap.check(status == 0 and not (directory / "resumed.mp4.parts").exists(),
              "... ends, and cleans up", said)
    check_same(tap, "... what a whole run makes", whole, result)


def check_regions(tap, directory):
    """A face is seen until shortly before a cut, and its region is held beyond it: a part that
    began at the cut would not know of the face."""
    if subprocess.run(["gst-inspect-1.0", "--exists", "facedetect"], check=False).returncode:
        tap.skip("regions held over a cut", "facedetect is not installed (Debian's package "
                 "gstreamer1.0-opencv)")
        return
    try:
        import PIL.Image  # pylint: disable=import-outside-toplevel
        from frames import photographs  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        tap.skip("regions held over a cut", str(error))
        return
    source = directory / "face.mkv"
    PIL.Image.fromarray(photographs.photograph("astronaut.png")).save(directory / "face.png")
    clips.ffmpeg("-loop", "1", "-framerate", "25", "-t", "0.48", "-i",
                 str(directory / "face.png"), "-f", "lavfi", "-i",
                 "testsrc2=size=320x320:rate=25:duration=0.92", "-filter_complex",
                 "[0]scale=320:320,format=yuv420p[a];[1]format=yuv420p[b];[a][b]concat", "-c:v",
                 "libx264", "-g", "15", "-keyint_min", "15", "-sc_threshold", "0", str(source))
    masks = "facedetect display=false ! videoconvert ! cudagaussblur sigma=20 roi-mode=inside"
    check_parts(tap, directory, source, "mkv", "regions held over a cut", "--filter",
                f"{masks} roi-hold=400000000", parts=2)
    held = clips.frames_md5(directory / "joined.mkv")
    status, _, said = transcode(source, directory / "whole.mkv", "--filter", masks, *CHUNK,
                                "--overwrite")
    tap.check(status == 0 and held != clips.frames_md5(directory / "whole.mkv"),
              "... and there are such", said)


def check_parallel(tap, directory, source, whole):
    """The line of docs/guides/cluster.md."""
    if not shutil.which("parallel"):
        tap.skip("GNU parallel", "it is not installed (Debian's package parallel)")
        return
    result = directory / "parallel.mp4"
    run = f"{clips.PROGRAM} {source} {result} --filter '{clips.FILTER}' --chunk 0.5"
    process = subprocess.run(
        ["bash", "-c", f'parallel --jobs 2 --retries 3 "{run}" --part {{}}/4 ::: {{1..4}} && '
         f"{run} --join 4"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=dict(os.environ, HOME=str(directory)), stdin=subprocess.DEVNULL)
    tap.check(process.returncode == 0, "GNU parallel", process.stdout)
    check_same(tap, "GNU parallel", whole, result)


def run(tap):
    clips.skip_without_tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        source = directory / "in.mp4"
        sound = ("-f", "lavfi", "-i", "sine=duration=6")
        make(source, "-c:v", "libx264", "-bf", "2", "-g", "15", "-c:a", "aac", seconds=6,
             size="160x90", inputs=sound)
        make(directory / "vfr.mkv", "-c:v", "libx265", "-x265-params",
             "log-level=none:open-gop=1:keyint=15:min-keyint=15:bframes=3", "-fps_mode", "vfr",
             seconds=4, size="160x90", filters=r"setpts=PTS+0.013*mod(N\,3)/TB")
        check_parts(tap, directory, source, "mp4", "H.264", "--filter", clips.FILTER)
        shutil.copy(directory / "whole.mp4", directory / "plain.mp4")
        check_parts(tap, directory, source, "mkv", "H.265", "--filter", clips.FILTER, "--encoder",
                    "h265", parts=3)
        check_parts(tap, directory, directory / "vfr.mkv", "webm",
                    "VP9, of open GOPs and a variable rate", "--filter", clips.FILTER, parts=3)
        check_parts(tap, directory, source, "mp4", "more parts than chunks", "--filter",
                    "identity", parts=15)
        check_regions(tap, directory)
        check_missing(tap, directory, source)
        check_resume(tap, directory, source, directory / "plain.mp4")
        check_parallel(tap, directory, source, directory / "plain.mp4")


if __name__ == "__main__":
    harness.main(run)
