# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-relay as a process that is watched through --json, and what else its tests share.

meson.build sets CUDAFILTERS_RELAY, GST_PLUGIN_PATH and GST_REGISTRY.
"""
import fcntl
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
import harness  # noqa: F401  (for those who import this)

PROGRAM = os.environ["CUDAFILTERS_RELAY"]
END_SECONDS = 60
IN_NAMESPACE = "CUDAFILTERS_TEST_NAMESPACE"


class Relay:
    """A running relay. `events` has what it told so far, oldest first."""

    def __init__(self, source, sink, *arguments, filter=None, environment=None):
        command = [PROGRAM, "--from", source, "--to", sink, "--json", *arguments]
        if filter:
            command += ["--filter", filter]
        self.command = command
        self.events = []
        self.new = queue.Queue()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(environment or {})))
        self.errors = []
        self.threads = [threading.Thread(target=self._read, daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            event["at"] = time.monotonic()
            self.events.append(event)
            self.new.put(event)
        self.new.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def wait_for(self, kind, seconds=END_SECONDS, which=lambda event: True):
        """The next event of that kind that nobody has waited for yet; None if none came."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self.new.get(timeout=max(deadline - time.monotonic(), 0.001))
            except queue.Empty:
                return None
            if event is None:
                self.new.put(None)
                return None
            if event["event"] == kind and which(event):
                return event

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def stats(self):
        return [event for event in self.events if event["event"] == "stats"]

    def end(self):
        ends = [event for event in self.events if event["event"] == "end"]
        return ends[0] if ends else None

    def wait(self, seconds=END_SECONDS):
        """Waits for its end; the exit status, or None after having killed it."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        for thread in self.threads:
            thread.join()
        return status

    def stop(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()
        # Shared memory has nobody now who would remove it.
        for path in pathlib.Path("/dev/shm").glob(f"shmpipe.{self.process.pid:5d}.*"):
            path.unlink()

    def __str__(self):
        return (f"{' '.join(self.command)}\n{''.join(self.errors)}" +
                "\n".join(str(event) for event in self.events[-20:]))


def run(*arguments, environment=None, seconds=END_SECONDS, text=""):
    """Runs the program to its end; CompletedProcess, with status None if it had to be killed."""
    try:
        return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True,
                              timeout=seconds, env=dict(os.environ, **(environment or {})),
                              check=False)
    except subprocess.TimeoutExpired as problem:
        return subprocess.CompletedProcess(problem.args, None, str(problem.stdout),
                                           str(problem.stderr))


# Elements and frames that are left when a program ends are told on stderr.
TRACE_LEAKS = {"GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1"}


def find_leaks(relay):
    """What a relay with TRACE_LEAKS has told at its end."""
    return [line for line in relay.errors
            if re.search(r"object-alive, type-name=\(string\)\w", line)]


def memory_kib(relay):
    """What the process holds in memory of its own."""
    for line in pathlib.Path(f"/proc/{relay.process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


def open_files(relay):
    return len(os.listdir(f"/proc/{relay.process.pid}/fd"))


def raise_loopback():
    """lo of a new network namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14s", b"lo", 0x1 | 0x40, b"")  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def enter_namespace():
    """Runs this test again in a network of its own with nothing but lo, so that its ports disturb
    nobody; False, if that cannot be had here."""
    if os.environ.get(IN_NAMESPACE):
        raise_loopback()
        return True
    unshare = shutil.which("unshare")
    for option in ("-n", "-rn"):
        if unshare and subprocess.run([unshare, option, "true"], check=False,
                                      stderr=subprocess.DEVNULL).returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execv(unshare, [unshare, option, sys.executable, *sys.argv])
    return False


def option(name, default):
    """The number behind --NAME on the test's command line: longer runs for those who want them."""
    if f"--{name}" in sys.argv:
        return float(sys.argv[sys.argv.index(f"--{name}") + 1])
    return default
