# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all pipeline tests share: TAP on stdout, and gst-launch-1.0 as the machine under test.

The environment (GST_PLUGIN_PATH and so on) comes from meson.build.
"""
import functools
import os
import signal
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 120
# After an error before the first frame gst-launch-1.0 of GStreamer 1.22 does not always end,
# whatever element it is from; what counts is the reason given.
REFUSAL_SECONDS = 30


class Tap:
    """Prints a line for each check as it is made; finish() returns the exit status."""

    def __init__(self):
        self.count = 0
        self.failures = 0

    def check(self, good, name, detail=""):
        self.count += 1
        if not good:
            self.failures += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {escape(name)}", flush=True)
        if detail and not good:
            for line in detail.splitlines():
                print(f"# {line}", flush=True)
        return good

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {escape(name)} # SKIP {reason}", flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failures else 0


def escape(name):
    return name.replace("\\", "\\\\").replace("#", "\\#")


class PipelineError(Exception):
    """What gst-launch-1.0 said. `refused` where an element gave the reason: no crash or silence."""

    def __init__(self, message, refused=False):
        super().__init__(message)
        self.refused = refused


def launch(*words, timeout=TIMEOUT_SECONDS, prefix=()):
    """Runs gst-launch-1.0 to its end, by the command `prefix` if there is one; `words` are split at
    spaces, lists are taken as they are."""
    command = [*prefix, "gst-launch-1.0", "-q"]
    for word in words:
        command += word.split() if isinstance(word, str) else word
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        end = f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        end = f"no end within {timeout} s"
    if process.returncode != 0 or "CRITICAL" in output:
        crashed = process.returncode < 0 and process.returncode != -signal.SIGKILL
        raise PipelineError(f"{' '.join(command)}\n{end}\n{output}",
                            refused="ERROR: from element" in output and not crashed)


def video_caps(layout, colorimetry=None):
    caps = (f"video/x-raw,format={layout.format.name},width={layout.width},"
            f"height={layout.height},framerate=25/1")
    return caps + (f",colorimetry={colorimetry}" if colorimetry else "")


def filter_frames(layout, frames, elements, colorimetry=None, result_layout=None):
    """Sends frames (raw bytes each) through `elements`, a list of words, and returns what comes
    out. `layout` describes the frames on both sides, if there is no `result_layout`."""
    size = (result_layout or layout).size
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "in.raw")
        result = os.path.join(directory, "out.raw")
        with open(source, "wb") as file:
            file.writelines(frames)
        launch("filesrc", [f"location={source}"], "! typefind",
               [f"force-caps={video_caps(layout, colorimetry)}"],
               "! queue ! rawvideoparse use-sink-caps=true !", elements, "! filesink",
               [f"location={result}"])
        with open(result, "rb") as file:
            data = file.read()
    if len(data) != len(frames) * size:
        raise PipelineError(f"{len(frames)} frames that are to be {size} bytes each became "
                            f"{len(data)} bytes")
    return [data[i * size:(i + 1) * size] for i in range(len(frames))]


@functools.lru_cache
def backends():
    """The backends that work here; the reference first."""
    try:
        launch("videotestsrc num-buffers=1 ! cudablockavg backend=cuda ! fakesink")
        return ("reference", "cpu", "cuda")
    except PipelineError:
        return ("reference", "cpu")


def skip_missing_backends(tap):
    if "cuda" not in backends():
        tap.skip("backend=cuda", "no CUDA device opens here")


def main(run):
    """Runs a test file: `run(tap)` makes the checks."""
    tap = Tap()
    try:
        run(tap)
    except PipelineError as error:
        tap.check(False, "the remaining checks: a pipeline failed", str(error))
    sys.exit(tap.finish())
