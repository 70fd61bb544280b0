# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs cudafilters-anonymize, and reads files by ffprobe and ffmpeg, which share no code with it.
"""
import json
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["CUDAFILTERS_BUILD"]) / "apps/anonymize/cudafilters-anonymize"
SECONDS = 240


def anonymize(*arguments, **options):
    """The finished process."""
    return subprocess.run([str(PROGRAM), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS, check=False, **options)


def result(process):
    """What it reports with --json."""
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return next((line for line in lines if line["event"] == "result"), None)


def sidecar(path):
    return json.loads(pathlib.Path(f"{path}.json").read_text())


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True,
                   stdin=subprocess.DEVNULL, timeout=SECONDS)


def probe(path, *arguments):
    return subprocess.run(["ffprobe", "-v", "error", *arguments, str(path)], check=True,
                          capture_output=True, text=True, timeout=SECONDS).stdout


def times(path):
    """Of the video's frames, as the file tells them."""
    return probe(path, "-select_streams", "v:0", "-show_entries", "frame=pts_time", "-of",
                 "csv=p=0").replace(",", "").split()


def packets(path, stream):
    """The md5 sums of a stream's packets, such as a:0."""
    text = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", f"0:{stream}", "-c",
                           "copy", "-f", "framemd5", "-"], check=True, capture_output=True,
                          text=True, timeout=SECONDS).stdout
    return [line.split(",")[5].strip() for line in text.splitlines() if not line.startswith("#")]


def subtitles(path):
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:s:0", "-f", "srt",
                           "-"], check=True, capture_output=True, text=True,
                          timeout=SECONDS).stdout


def streams(path):
    """(codec, type) of each."""
    text = probe(path, "-show_entries", "stream=codec_name,codec_type", "-of", "csv=p=0")
    return [tuple(line.split(",")[:2]) for line in text.split()]
