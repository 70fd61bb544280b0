#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every command line of README.md, CONTRIBUTING.md and docs/ that stands in a block marked
```sh, and every program in a block marked ```python, as they are written.

They may read photo.png, photo.jpg, video.mp4, talk.mp4, which has sound, and hdr.mkv, which is
HDR10; all are made here.
Pipelines that do not end by themselves are interrupted once they have run for a while.
autovideosink gets GStreamer's fakevideosink, so that no display is needed.
"""
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import PIL.Image

import harness
from frames import photographs

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["CUDAFILTERS_BUILD"])
# Programs of apps/ are called as if they were installed.
PROGRAMS = [str(folder) for folder in sorted(BUILD.glob("apps/*")) if folder.is_dir()]
ENVIRONMENT = dict(os.environ, GST_PLUGIN_FEATURE_RANK="fakevideosink:MAX",
                   PATH=os.pathsep.join([*PROGRAMS, os.environ["PATH"]]))

RUN_SECONDS = 2  # of what plays and has no end
END_SECONDS = 60

# First match counts.
NOT_RUN_HERE = (
    (r"^(sudo |su )?(apt|apt-get) ", "installs packages"),
    (r"^(git|cd) ", "comes before there is a build"),
    (r"^meson (setup|compile|install|test)\b", "builds or tests, which led here"),
    (r"^meson devenv -C build *$", "opens a shell"),
    (r"^(\.ci/run|tools/(test|format|property-tables))\b", "led here, or is a test of its own"),
    (r"^ninja -C build uninstall$", "would take it from this system"),
    (r"^tools/(bench|charts|demo)\b", "is a test of its own"),
)
NEEDS_GPU = re.compile(r"\bbackend=cuda\b|\bcudaupload\b|\bcudadownload\b|\bcudaconvert|CUDAMemory|"
                       r"\bnvh26|\bnvidia-smi\b")
# Joins what GNU parallel has made.
NEEDS_PARALLEL = re.compile(r"^parallel |--join\b")
NEEDS_GES = re.compile(r"\bges-launch-1\.0\b")
NEEDS_PYTHON = re.compile(r"\bcudafilters-(anonymize|tuner)\b|\bexamples/python/")
NEEDS_TRACER = re.compile(r"\blatency\.log\b")
NEEDS_CAMERA = re.compile(r"\bv4l2(src\b|:)")
NEEDS_H265 = re.compile(r"\bhdr\.mkv\b")
NEEDS_NDI = re.compile(r"\bndi:")

# What goes on until somebody stops it; where one of the others stands in it, it ends by itself, and
# must not be interrupted: gst-launch-1.0 that is about to exit handles no SIGINT any more.
ENDLESS = re.compile(r"gst-launch-1\.0|cudafilters-relay")
ENDS = re.compile(r"num-buffers|filesrc|location=|\buri=\"?file:|\bframes=|--from \"?file:|--help")
# What both of them say when they have started.
STARTED = re.compile(r"to PLAYING|^\S+ -> ", re.M)


def pages():
    return [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted(SOURCE.glob("docs/**/*.md"))]


def blocks(page, kind):
    """(number of the first line, lines) of each block marked ```kind."""
    start, lines = 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        text = line.strip()
        if text.startswith("```"):
            if start:
                yield start, lines
            start, lines = (0 if start or text != f"```{kind}" else number + 1), []
        elif start:
            lines.append(line)


def commands(page):
    """(line number, command) of each line in blocks marked ```sh; a final backslash continues."""
    for first, lines in blocks(page, "sh"):
        command, start = "", 0
        for number, line in enumerate(lines, first):
            text = line.strip()
            if not command and (not text or text.startswith("#")):
                continue
            start = start or number
            command += text.removesuffix("\\")
            if not text.endswith("\\"):
                yield start, command
                command, start = "", 0


@functools.cache
def has_python_modules():
    """Of the python3 that programs and examples start, which need not be this one."""
    return subprocess.run(["/usr/bin/python3", "-c", "import gi, numpy, cv2"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@functools.cache
def has_h265():
    return all(subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode == 0
               for name in ("x265enc", "h265parse", "avdec_h265"))


@functools.cache
def gstreamer_version():
    said = subprocess.run(["gst-launch-1.0", "--version"], capture_output=True, text=True,
                          check=True).stdout
    return tuple(int(number) for number in re.search(r"(\d+)\.(\d+)\.", said).groups())


def reason_to_skip(command):
    for pattern, reason in NOT_RUN_HERE:
        if re.match(pattern, command):
            return reason
    if NEEDS_GPU.search(command) and "cuda" not in harness.backends():
        return "needs a GPU"
    if NEEDS_PARALLEL.search(command) and not shutil.which("parallel"):
        return "needs GNU parallel"
    if NEEDS_GES.search(command) and not shutil.which("ges-launch-1.0"):
        return "needs ges1.0-tools"
    if NEEDS_PYTHON.search(command) and not has_python_modules():
        return "needs python3-gi, python3-numpy and python3-opencv"
    if NEEDS_TRACER.search(command) and (1, 24) <= gstreamer_version() < (1, 28):
        return "the latency tracer of GStreamer 1.26 stops pipelines, of identity too"
    if NEEDS_CAMERA.search(command) and not os.path.exists("/dev/video0"):
        return "needs a camera"
    if NEEDS_H265.search(command) and not has_h265():
        return "needs x265enc, h265parse and avdec_h265"
    if NEEDS_NDI.search(command):
        return "needs the NDI runtime"
    return None


def make_workplace(directory):
    """What a reader has: the checkout, its build/, a photograph and a video."""
    for entry in SOURCE.iterdir():
        if not entry.name.startswith((".", "build")):
            (directory / entry.name).symlink_to(entry)
    (directory / "build").symlink_to(BUILD)
    for name in ("photo.png", "photo.jpg"):
        PIL.Image.fromarray(photographs.photograph("astronaut.png")).save(directory / name)
    harness.launch("videotestsrc num-buffers=50 ! "
                   "video/x-raw,format=I420,width=320,height=240,framerate=25/1 ! "
                   "x264enc ! mp4mux ! filesink", [f"location={directory}/video.mp4"])
    harness.launch("videotestsrc num-buffers=50 ! "
                   "video/x-raw,format=I420,width=320,height=240,framerate=25/1 ! "
                   "x264enc ! h264parse ! queue max-size-time=0 max-size-bytes=0 ! "
                   "mp4mux name=mux ! filesink", [f"location={directory}/talk.mp4"],
                   "audiotestsrc num-buffers=86 ! audioconvert ! avenc_aac ! aacparse ! "
                   "queue max-size-time=0 max-size-bytes=0 ! mux.")
    if has_h265():
        harness.launch("videotestsrc num-buffers=50 !",
                       ["video/x-raw,format=I420_10LE,width=320,height=240,framerate=25/1,"
                        "colorimetry=bt2100-pq,content-light-level=(string)1000:200"],
                       "! x265enc speed-preset=ultrafast ! h265parse ! matroskamux ! filesink",
                       [f"location={directory}/hdr.mkv"])


def let_play(process, log):
    """Waits until it has started, and a while; whether it is still there."""
    end = time.monotonic() + END_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if STARTED.search(log.read_text(errors="replace")):
            end = min(end, time.monotonic() + RUN_SECONDS)
        time.sleep(0.1)
    return process.poll() is None


def run_command(command, directory):
    """None, or what went wrong."""
    log = directory / ".said"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(["bash", "-c", command], cwd=directory, env=ENVIRONMENT,
                                   stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    endless = ENDLESS.search(command) and not ENDS.search(command)
    interrupted = endless and let_play(process, log)
    if interrupted:
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"did not end within {END_SECONDS} s\n{log.read_text(errors='replace')}"
    output = log.read_text(errors="replace")
    if interrupted and not STARTED.search(output):
        return f"never played\n{output}"
    if process.returncode != 0:
        return f"exit status {process.returncode}\n{output}"
    if endless and not interrupted:
        return f"ended by itself\n{output}"
    return f"complained\n{output}" if re.search(r"ERROR|CRITICAL", output) else None


def check_commands(tap, directory):
    for page in pages():
        for number, command in commands(page):
            title = f"{page.relative_to(SOURCE)}:{number}: {command}"
            reason = reason_to_skip(command)
            if reason:
                tap.skip(title, reason)
            else:
                problem = run_command(command, directory)
                tap.check(problem is None, title, problem or "")


def has_bindings(lines):
    """Whether what a program asks GObject introspection for is there."""
    wanted = re.findall(r"gi\.require_version\([^)]*\)", "\n".join(lines))
    return subprocess.run(["/usr/bin/python3", "-c", "\n".join(["import gi", *wanted])],
                          check=False, stderr=subprocess.DEVNULL).returncode == 0


def check_programs(tap, directory):
    for page in pages():
        for number, lines in blocks(page, "python"):
            title = f"{page.relative_to(SOURCE)}:{number}: a program"
            if not has_bindings(lines):
                tap.skip(title, "python3-gi or GStreamer's typelibs are missing")
                continue
            (directory / "program.py").write_text("\n".join(lines))
            problem = run_command("/usr/bin/python3 program.py", directory)
            tap.check(problem is None, title, problem or "")


def run(tap):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        make_workplace(directory)
        check_commands(tap, directory)
        check_programs(tap, directory)


if __name__ == "__main__":
    harness.main(run)
