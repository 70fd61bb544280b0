#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line: help, man page, exit codes, and a sentence for everything that is wrong."""
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import relay
from relay import Relay, harness

MAN_PAGE = pathlib.Path(__file__).resolve().parents[3] / "apps/relay/cudafilters-relay.1"
TEST = ("--from", "test:?frames=5", "--to", "test:")

# Arguments, exit code, what the message must say.
WRONG = (
    ((), 2, "--from is missing"),
    (("--from", "test:"), 2, "--to is missing"),
    (("test:",), 2, "is not an option"),
    (("--frm", "test:"), 2, "Unknown option"),
    ((*TEST, "--drop", "oldest"), 2, "newest or none"),
    ((*TEST, "--gpu", "on"), 2, "auto or off"),
    ((*TEST, "--latency", "-1"), 2, "0 to 60000"),
    ((*TEST, "--stats", "x"), 2, "--stats"),
    (("--from", "http://a", "--to", "test:"), 2, "is not an address for --from"),
    (("--from", "nothing", "--to", "test:"), 2, "test:"),
    (("--from", "window:", "--to", "test:"), 2, "for --to alone"),
    (("--from", "test:", "--to", "ftp:x"), 2, "is not an address for --to"),
    (("--from", "test:?patern=ball", "--to", "test:"), 2, 'the option "patern"'),
    (("--from", "test:?pattern=bal", "--to", "test:"), 2, "one of:"),
    (("--from", "test:?format=RGBB", "--to", "test:"), 2, "format=RGBB"),
    (("--from", "test:?width=0", "--to", "test:"), 2, "1 to 32768"),
    (("--from", "test:?sizes=1x", "--to", "test:"), 2, "sizes=1x"),
    (("--from", "test:?width", "--to", "test:"), 2, "NAME=VALUE"),
    (("--from", "rtp://127.0.0.1", "--to", "test:"), 2, "rtp://0.0.0.0:5004"),
    (("--from", "rtp://:99999", "--to", "test:"), 2, "rtp://0.0.0.0:5004"),
    (("--from", "test:", "--to", "rtp://:5004"), 2, "is not a complete address"),
    (("--from", "rtp://:5004?encoding=MPEG", "--to", "test:"), 2, "H264"),
    (("--from", "srt:", "--to", "test:"), 2, "srt://"),
    (("--from", "srt://:7001?mode=x", "--to", "test:"), 2, "listener"),
    (("--from", "srt://:99999?mode=listener", "--to", "test:"), 2, "srt://:7001"),
    (("--from", "shm:", "--to", "test:"), 2, "shm:"),
    (("--from", "shm:/tmp/x", "--to", "test:"), 2, "format="),
    (("--from", "test:", "--to", "shm:/tmp/x"), 2, "format="),
    (("--from", "ndi:", "--to", "test:"), 2, "ndi:NAME"),
    (("--from", "test:", "--to", "ndi://127.0.0.1:5961"), 2, "ndi:NAME"),
    (("--from", "v4l2:", "--to", "test:"), 2, "/dev/video0"),
    (("--from", "file:/nowhere/a.mp4", "--to", "test:"), 2, "no file"),
    (("--from", "test:", "--to", "file:/tmp/a.xyz"), 2, ".mkv"),
    (("--from", "file:100 % sharp.mp4", "--to", "test:"), 2, 'no file "100 % sharp.mp4"'),
    (("--from", f"file:{MAN_PAGE}", "--to", f"file:{MAN_PAGE}"), 2, "the file that --from reads"),
    (("--from", f"file:{MAN_PAGE}", "--to", "test:", "--once"), 1, f"file:{MAN_PAGE}: "),
    (("--from", "test:", "--to", "rtp://nosuch.invalid:5004"), 1, '"nosuch.invalid"'),
    ((*TEST, "--filter", "cudallf alpha=99"), 2, "0.05 to 10"),
    ((*TEST, "--filter", "cudallf alfa=0.4"), 2, 'no property "alfa"'),
    ((*TEST, "--filter", "cudablockavg mode=middle"), 2, "average"),
    ((*TEST, "--filter", "cudablockavg roi-hold=-1"), 2, "from 0 to"),
    ((*TEST, "--filter", "cudallf !"), 2, "cannot be read"),
    ((*TEST, "--filter", "cudallf ! fakesink"), 2, "does not give raw video"),
    ((*TEST, "--filter", "videotestsrc"), 2, "does not take raw video"),
    ((*TEST, "--filter", "cudallff"), 3, 'Do you mean "cudallf"'),
    ((*TEST, "--filter", "cudallf alpa=0.4"), 2, 'Do you mean "alpha"'),
    ((*TEST, "--filter", "audioconvert"), 2, "raw video"),
    (("--from", "test:", "--to", "file:/nowhere/a.mkv"), 1, "/nowhere/a.mkv"),
    (("--from", "test:", "--to", "rtsp://127.0.0.1:9/x"), 1, "rtsp://127.0.0.1:9/x"),
    (("--from", "v4l2:/dev/none", "--to", "test:", "--once"), 1, "/dev/none"),
)


def check_wrong(tap):
    for arguments, status, message in WRONG:
        result = relay.run(*arguments)
        output = result.stderr
        tap.check(result.returncode == status and message in output and
                  "CRITICAL" not in output and output.startswith("cudafilters-relay: ") or
                  result.returncode == status == 1 and message in output,
                  f"{' '.join(arguments)}: {message}",
                  f"exit status {result.returncode}\n{output}")


def check_missing(tap):
    """With no plugins but GStreamer's core, each element that is missing is named with the package
    that has it; and so is the runtime of NDI."""
    core = subprocess.run(["gst-inspect-1.0", "identity"], capture_output=True, text=True,
                          check=True).stdout
    core = pathlib.Path(re.search(r"Filename +(\S+)", core).group(1))
    with tempfile.TemporaryDirectory() as few:
        pathlib.Path(few, core.name).symlink_to(core)
        nothing = {"GST_PLUGIN_SYSTEM_PATH_1_0": few, "GST_PLUGIN_PATH": few,
                   "GST_REGISTRY": f"{few}/registry"}
        for arguments, package in (
                (TEST, "gstreamer1.0-plugins-base"),
                ((*TEST, "--filter", "cudallf"), "gstreamer1.0-cudafilters"),
                ((*TEST, "--filter", "facedetect"), "gstreamer1.0-opencv")):
            result = relay.run(*arguments, environment=nothing)
            tap.check(result.returncode == 3 and package in result.stderr,
                      f"{' '.join(arguments)}, without plugins: {package}", result.stderr)
    result = relay.run("--from", "ndi:camera", "--to", "test:",
                       environment={"NDI_RUNTIME_DIR_V6": "/nowhere"})
    if result.returncode is None:
        tap.skip("ndi: without its runtime", "the runtime is installed here")
    else:
        tap.check(result.returncode == 3 and "https://ndi.video" in result.stderr,
                  "ndi: without its runtime, where to get it", result.stderr)


def check_help(tap):
    result = relay.run("--help")
    lines = result.stdout.splitlines()
    tap.check(result.returncode == 0 and 10 < len(lines) <= 24 and max(map(len, lines)) <= 80,
              "--help fits on a screen of 24 lines", f"{len(lines)} lines\n{result.stdout}")
    version = relay.run("--version")
    tap.check(version.returncode == 0 and
              re.fullmatch(r"cudafilters-relay \d+\.\d+\.\d+\n", version.stdout), "--version",
              version.stdout)
    options = set(re.findall(r"--[a-z]+", result.stdout))
    described = set(re.findall(r"--[a-z]+", MAN_PAGE.read_text().replace("\\-", "-")))
    tap.check(options == described, "the man page has the options of --help",
              f"{options ^ described}")
    if not shutil.which("man"):
        tap.skip("the man page has no warnings", "man-db is missing")
        return
    page = subprocess.run(["man", "--warnings", "-l", str(MAN_PAGE)], capture_output=True,
                          text=True, check=False)
    tap.check(page.returncode == 0 and not page.stderr and "cudafilters-relay" in page.stdout,
              "the man page has no warnings", page.stderr)


def check_text(tap):
    """What people see without --json; secrets are not among it."""
    result = relay.run("--from", "test:?frames=45", "--to", "srt://:7099?mode=listener&"
                       "passphrase=0123456789", "--filter", "cudallf")
    tap.check(result.returncode == 0 and not result.stdout and
              re.search(r"^in \d+\.\d  out \d+\.\d fps  dropped \d+  640x360 I420"
                        r"  filter \d+\.\d+ ms  latency \d+\.\d p50 \d+\.\d p95 \d+\.\d max ms"
                        r"  cpu  reconnections 0$",
                        result.stderr, re.M), "statistics for people, on stderr", result.stderr)
    tap.check("0123456789" not in result.stderr and "passphrase=***" in result.stderr,
              "secrets are not shown", result.stderr)


def check_files(tap):
    """file: in and out, for trials; sizes that change are fitted into a file of one size."""
    with tempfile.TemporaryDirectory() as directory:
        for ending, sizes in (("mkv", 1), ("mp4", 1), ("ts", 2)):
            path = f"{directory}/a.{ending}"
            first = relay.run("--from", "test:?sizes=320x180,161x91&every=20&frames=40", "--to",
                              f"file:{path}", "--drop", "none")
            program = Relay(f"file:{path}", "test:", "--drop", "none", "--stats", "0.1",
                            filter="cudablockavg", environment=relay.TRACE_LEAKS)
            status = program.wait()
            seen = {(one["width"], one["height"]) for one in program.stats() if one["width"]}
            tap.check(first.returncode == 0 and status == 0 and len(seen) == sizes and
                      program.end()["frames_out"] == 40, f"file: .{ending} is written and read",
                      f"{first.stderr}\n{seen}\n{program}")
            tap.check(not relay.find_leaks(program), f"file: .{ending}: nothing is left at the end",
                      "".join(relay.find_leaks(program)))


def check_range(tap):
    """Full range, as cameras mark it, without a word on the matrix."""
    with tempfile.TemporaryDirectory() as directory:
        source, result = f"{directory}/full.mkv", f"{directory}/out.mkv"
        try:
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                            "testsrc2=size=320x180:duration=0.4", "-c:v", "libx264", "-pix_fmt",
                            "yuvj420p", source], check=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            tap.skip("full range", "ffmpeg is not installed (Debian's package ffmpeg)")
            return
        told = relay.run("--from", f"file:{source}", "--to", f"file:{result}", "--drop", "none",
                         "--once")
        found = subprocess.run(["ffprobe", "-v", "error", "-show_entries",
                                "stream=color_range,chroma_location", "-of", "csv=p=0", result],
                               check=False, capture_output=True, text=True).stdout.strip()
        tap.check(told.returncode == 0 and found == "pc,left", "full range stays so",
                  f"{found}\n{told.stderr}")


def check_no_window(tap):
    """Without a desktop: an error, not a run that nobody sees, nor a crash of DirectFB."""
    for name, display in (("no display", ""), ("a display that is not there", ":7999")):
        program = Relay("test:", "window:", filter="cudallf",
                        environment={"DISPLAY": display, "WAYLAND_DISPLAY": ""})
        tap.check(program.wait() == 1 and "no desktop answers" in str(program), f"window: {name}",
                  str(program))


def check_signals(tap):
    """A signal ends it while nothing is there yet, too."""
    no_display = {"GST_PLUGIN_FEATURE_RANK": "fakevideosink:MAX", **relay.TRACE_LEAKS}
    for sink in ("rtp://127.0.0.1:5991", "srt://:7098?mode=listener", "test:", "window:"):
        program = Relay("test:", sink, "--repeat", filter="cudallf ! cudablockavg",
                        environment=no_display)
        program.wait_for("stats")
        tap.check(program.stop() == 0 and not relay.find_leaks(program),
                  f"{sink}: SIGINT ends it, and nothing is left", str(program))
    with subprocess.Popen([relay.PROGRAM, "--from", "test:?frames=60", "--to", "test:", "--json",
                           "--stats", "0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as program:
        program.stdout.readline()
        program.stdout.close()
    tap.check(program.returncode == 0, "it goes on when nobody reads what it says",
              str(program.returncode))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as a terminal has it, not nohup
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        program = Relay("rtp://127.0.0.1:5990", "test:", filter="cudallf")
        program.wait_for("start")
        program.wait_for("stats")
        tap.check(program.stop(number) == 0 and program.end()["reason"] == "stopped",
                  f"{number.name} ends it with 0 while it waits for a source", str(program))


def run(tap):
    check_help(tap)
    check_wrong(tap)
    check_missing(tap)
    check_text(tap)
    check_files(tap)
    check_range(tap)
    check_no_window(tap)
    check_signals(tap)


if __name__ == "__main__":
    harness.main(run)
