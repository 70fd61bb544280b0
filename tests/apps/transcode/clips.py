# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clips made by ffmpeg, cudafilters-transcode as people run it, and what ffprobe says of the
result; ffmpeg shares no code with GStreamer's containers.
"""
import collections
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
import harness  # noqa: F401  (for the tests)

PROGRAM = os.environ["CUDAFILTERS_TRANSCODE"]
FILTER = "cudallf alpha=0.5"

Packet = collections.namedtuple("Packet", "pts md5 key")

HDR = ("log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:hdr10=1:"
       "repeat-headers=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)"
       "WP(15635,16450)L(10000000,1):max-cll=1000,400")
CHAPTERS = (";FFMETADATA1\ntitle=A film & its name\nartist=N. N.\ncomment=two words\n"
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=800\ntitle=One & only\n"
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=800\nEND=2000\ntitle=Zwei\n")
SUBTITLES = ("1\n00:00:00,100 --> 00:00:00,500\nTom & Jerry \"say\" 1 < 2\n\n"
             "2\n00:00:00,600 --> 00:00:01,000\nzwei\nZeilen\n\n"
             "3\n00:00:01,100 --> 00:00:01,700\n<i>drei</i> & vier\n")


def skip_without_tools():
    for tool in ("ffmpeg", "ffprobe"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP {tool} is not installed (Debian's package ffmpeg)")
            sys.exit(0)


def ffmpeg(*words):
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make(path, *options, size="320x180", rate="25", seconds=2, inputs=(), filters=None):
    """A clip of ffmpeg's test picture."""
    words = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}:duration={seconds}", *inputs]
    if filters:
        words += ["-vf", filters]
    ffmpeg(*words, *options, str(path))


def transcode(*words, timeout=120, **arguments):
    """Runs the program; returns its exit status, stdout and stderr."""
    process = subprocess.run([PROGRAM, *map(str, words)], check=False, text=True, timeout=timeout,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **arguments)
    return process.returncode, process.stdout, process.stderr


def ffprobe(path, *words):
    output = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *words, str(path)],
                            check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)


def packets(path, stream):
    """In the order of the file; pts in seconds, as text."""
    found = ffprobe(path, "-select_streams", stream, "-show_packets", "-show_data_hash", "md5")
    return [Packet(packet.get("pts_time"), packet.get("data_hash"), "K" in packet["flags"])
            for packet in found["packets"]]


def times(path, stream):
    return sorted(float(packet.pts) for packet in packets(path, stream))


def streams(path):
    return ffprobe(path, "-show_streams")["streams"]


def subtitles(path):
    """Of the first subtitle stream, as SRT text."""
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:s:0",
                           "-f", "srt", "-"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def frames_md5(path):
    """Of all decoded frames."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v:0",
                          "-fps_mode", "passthrough", "-f", "framemd5", "-"], check=True,
                         stdout=subprocess.PIPE).stdout
    return hashlib.md5(raw).hexdigest()


def differing(before, after, tolerance):
    """A sentence if two lists of times differ by more, else None."""
    if len(before) != len(after):
        return f"{len(before)} became {len(after)}"
    worst = max((abs(a - b) for a, b in zip(before, after)), default=0)
    return f"moved by up to {worst} s" if worst > tolerance else None
