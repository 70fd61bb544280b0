# SPDX-License-Identifier: LGPL-2.1-or-later
"""What parts of the GPU tests share: the host they run on, gst-launch-1.0, and their results."""
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

ELEMENTS = ("cudallf", "cudagaussblur", "cudablockavg", "cudasepconv")
ON_DEVICE = "video/x-raw(memory:CUDAMemory)"


class Skipped(Exception):
    """A part, or what is left of it, cannot run here; the text says why."""


class Result:
    """What a part found out. `figures` are short texts for the final table."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.figures = []
        self.seconds = 0.0

    def check(self, good, name, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"not ok - {self.name}: {name}", flush=True)
            for line in detail.strip().splitlines()[:12]:
                print(f"    {line}", flush=True)
        return good

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skipped - {self.name}: {name}: {reason}", flush=True)

    def note(self, text):
        print(f"  {text}", flush=True)

    def line(self):
        verdict = "failed" if self.failed else "passed" if self.passed else "skipped"
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.name:<9} {verdict:<8} {self.seconds:5.0f} s  " + "; ".join(
            [counts, *self.figures])


class Deadline:
    """The time a part may take. What it has not begun by then is skipped by name."""

    def __init__(self, seconds):
        self.start = time.monotonic()
        self.end = self.start + seconds

    def used(self):
        return time.monotonic() - self.start

    def left(self):
        return max(self.end - time.monotonic(), 0.0)

    def passed(self):
        return self.left() == 0.0


class Said:
    """How a command ended: `status` is negative after a signal, None if it had to be killed."""

    def __init__(self, command, status, text):
        self.command, self.status, self.text = command, status, text

    @property
    def good(self):
        return self.status == 0 and "CRITICAL" not in self.text

    def detail(self):
        ending = "took too long" if self.status is None else f"exit status {self.status}"
        return f"{self.command}\n{ending}\n{self.text[-2000:]}"


def run_command(command, timeout, environment=None):
    """Runs a command to its end, with its output as one text. A command that takes too long is
    killed together with the processes that it started."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, **(environment or {})},
                          start_new_session=True) as process:
        try:
            text, _ = process.communicate(timeout=timeout)
            status = process.returncode
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            status = None
    return Said(" ".join(map(str, command)), status, text)


def visible_devices():
    """What CUDA_VISIBLE_DEVICES may name here, a text a GPU."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    said = run_command(["nvidia-smi", "-L"], 60)
    return re.findall(r"^GPU (\d+):", said.text, re.MULTILINE) if said.status == 0 else []


def take_turns(devices, index):
    """The environment of the index-th of several processes that share the GPUs."""
    return {"CUDA_VISIBLE_DEVICES": devices[index % len(devices)]} if devices else {}


class Host:
    """This machine, the build under test, and what the command line asks for."""

    def __init__(self, build, folder, quick=False, clips=None, stand_in=None):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.tests = pathlib.Path(__file__).resolve().parents[1]
        self.quick = quick
        self.clips = clips  # "clip" and "hdr-clip", or None
        self.stand_in = stand_in
        plugins = [str(self.build / "gst"), os.environ.get("GST_PLUGIN_PATH", "")]
        os.environ["GST_PLUGIN_PATH"] = ":".join(filter(None, plugins))
        os.environ.setdefault("GST_REGISTRY", str(self.folder / "registry.bin"))

    def launch(self, description, timeout=120, environment=None, options=("-q",)):
        """Runs a pipeline; `description` is one text, split at spaces."""
        return run_command(["gst-launch-1.0", *options, *description.split()], timeout, environment)

    def program(self, path):
        """An executable of the build, or Skipped."""
        program = self.build / path
        if not program.exists():
            raise Skipped(f"{path} is not in the build")
        return program

    def need_gstreamer(self):
        if not shutil.which("gst-launch-1.0"):
            raise Skipped("there is no gst-launch-1.0 in PATH")
        if not (self.build / "gst" / "libgstcudafilters.so").exists():
            raise Skipped("gst/libgstcudafilters.so is not in the build")

    @functools.cached_property
    def gpu(self):
        """The GPU and its driver in words, or ""."""
        if not shutil.which("nvidia-smi"):
            return ""
        said = run_command(["nvidia-smi", "--query-gpu=name,driver_version",
                            "--format=csv,noheader"], 60)
        return said.text.splitlines()[0].strip() if said.status == 0 and said.text else ""

    def need_gpu(self):
        if not self.gpu:
            raise Skipped("there is no NVIDIA GPU with a working driver here")

    def need_cuda_memory(self):
        """GStreamer with its nvcodec plugin working, and our elements in CUDA memory."""
        self.need_gstreamer()
        self.need_gpu()
        if not self.has_element("cudaupload"):
            raise Skipped("GStreamer's nvcodec plugin (cudaupload) does not work here")

    @functools.cache
    def has_element(self, name):
        return run_command(["gst-inspect-1.0", "--exists", name], 60).status == 0

    @functools.cached_property
    def gstreamer(self):
        """Version as numbers, such as (1, 22, 0); empty without GStreamer."""
        if not shutil.which("gst-inspect-1.0"):
            return ()
        found = re.search(r"GStreamer (\d+)\.(\d+)\.(\d+)",
                          run_command(["gst-inspect-1.0", "--version"], 60).text)
        return tuple(map(int, found.groups())) if found else ()


def error_messages(text):
    """The errors that elements posted, as gst-launch-1.0 prints them."""
    return re.findall(r"^ERROR: from element .*?: (.*)$", text, re.MULTILINE)

