#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program cudafilters-tuner as it is started: its options, its errors, its end."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import driver

driver.on_a_screen()

import harness

PROGRAM = [sys.executable, str(driver.BUILD / "apps/tuner/cudafilters-tuner")]


def start(*arguments, **more):
    return subprocess.run([*PROGRAM, *arguments], check=False, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def check_refused(tap, title, words, *arguments, **more):
    done = start(*arguments, **more)
    told = done.stderr.strip().splitlines()
    tap.check(done.returncode == 2 and len(told) == 1 and all(word in told[0] for word in words),
              title, f"{done.returncode}\n{done.stderr}")


def end_by(number, *arguments):
    """Standard output and exit status of a program that is told to end once it plays."""
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [*PROGRAM, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, GST_DEBUG="GST_STATES:4", GST_DEBUG_FILE=log.name))
        while b"to PLAYING" not in log.read() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    return output, errors, process.returncode


def run(tap):
    done = start("--help")
    tap.check(done.returncode == 0 and len(done.stdout.splitlines()) <= 24, "--help is one screen",
              done.stdout + done.stderr)
    done = start("--version")
    tap.check(done.returncode == 0 and done.stdout.startswith("cudafilters-tuner "),
              "--version", done.stdout)
    check_refused(tap, "an element that is not there", ["cudanothing", "cudallf"], "-e",
                  "cudanothing")
    check_refused(tap, "a file that is not there", ["/nonexistent.mp4"], "/nonexistent.mp4")
    check_refused(tap, "a setting without a value", ["NAME=VALUE"], "-s", "alpha")
    for words, expected in ((("-s", "alpha=99"), ["0.05 to 10"]), (("-s", "alpha=x"), ["alpha=x"]),
                            (("-s", "alhpa=1"), ["alhpa", "alpha"]),
                            (("-s", "protect=maybe"), ["true or false"]),
                            (("-p", "nosuch"), ["no preset nosuch", "it has:"]),
                            (("test:nosuch",), ["nosuch", "smpte"]), (("/",), ["is no file"])):
        check_refused(tap, f"{words[-1]}", expected, "--fresh", "-e", "cudallf", *words)
    check_refused(tap, "no display", ["display"], env={
        name: value for name, value in os.environ.items() if name != "DISPLAY"})
    with tempfile.TemporaryDirectory() as registry:
        check_refused(tap, "no plugin", ["GST_PLUGIN_PATH"], env=dict(
            os.environ, GST_PLUGIN_PATH="", GST_REGISTRY=f"{registry}/registry.bin"))

    output, errors, status = end_by(
        signal.SIGINT, "--fresh", "--json", "-e", "cudagaussblur", "-p", "tilt-shift", "-s",
        "sigma=20", "test:ball")
    tap.check(status == 0 and "Traceback" not in errors and "CRITICAL" not in errors,
              "SIGINT ends it with 0, and nothing was wrong", errors)
    told = json.loads(output or "{}")
    tap.check(told.get("element") == "cudagaussblur" and told["settings"]["sigma"] == "20" and
              told["settings"]["map-mode"] == "linear" and "sigma=20" in told["gst-launch"],
              "--json tells what was tuned", output)
    output, errors, status = end_by(signal.SIGTERM, "--json")
    tap.check(status == 0 and json.loads(output or "{}") == told, "without arguments it goes on",
              output + errors)


if __name__ == "__main__":
    harness.main(run)
