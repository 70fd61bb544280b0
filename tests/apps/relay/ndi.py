#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""NDI in, filtered, NDI out, through the real runtime in a network namespace of its own: what the
original live application did, point by point.

ndi.py --minutes 10 sends RGBX and UYVY of changing sizes for that long, and watches memory.
"""
import os
import statistics
import sys
import tempfile
import threading
import time

import numpy as np

import ndi_peer
import relay
from relay import Relay, harness

# A name can be had once on a machine, whatever its networks.
CAMERA, FILTERED = f"camera {os.getpid()}", f"filtered {os.getpid()}"
SLOW = "identity sleep-time=100000"
ONE_FRAME_KIB = 4096  # of 1280x720 RGBA, and a little


def picture(width, height, alpha=255):
    """Slopes, and stripes across, which a mosaic has to take away."""
    rows, columns = np.mgrid[0:height, 0:width]
    stripes = 30 * (columns // 8 % 2)
    planes = (64 + 96 * columns // width + stripes, 64 + 96 * rows // height + stripes,
              128 + stripes, alpha + 0 * rows)
    return np.stack(planes, axis=-1).astype(np.uint8)


class Camera:
    """Sends `make()` 30 times a second from a thread of its own."""

    def __init__(self, ndi, make):
        before = ndi_peer.listening_ports()
        self.sender = ndi_peer.Sender(ndi, CAMERA)
        self.port = ndi_peer.wait_for_port(before)
        self.make = make
        self.running = True
        self.sent = 0
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        due = time.monotonic()
        while self.running:
            self.sender.send(*self.make())
            self.sent += 1
            due += 1 / 30
            time.sleep(max(due - time.monotonic(), 0))

    def stop(self):
        self.running = False
        self.thread.join()
        self.sender.close()


class Watcher:
    """Receives what the relay sends, in a thread: (shape, form, age, last pixels)."""

    def __init__(self, ndi, port):
        self.receiver = ndi_peer.Receiver(ndi, port)
        self.running = True
        self.frames = []
        self.last = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while self.running:
            got = self.receiver.receive(100)
            if got:
                self.last = got[0]
                self.frames.append((got[0].shape[1::-1], got[1], got[2], time.monotonic()))

    def stop(self):
        self.running = False
        self.thread.join()
        self.receiver.close()


class Scene:
    """Camera, relay and watcher."""

    def __init__(self, ndi, make, *arguments, color="rgb", filter="cudallf"):
        self.camera = Camera(ndi, make)
        before = ndi_peer.listening_ports()
        self.program = Relay(f"ndi://127.0.0.1:{self.camera.port}?color={color}", f"ndi:{FILTERED}",
                             *arguments, filter=filter)
        self.connected = self.program.wait_for("connected")
        self.watcher = Watcher(ndi, ndi_peer.wait_for_port(before))
        deadline = time.monotonic() + 10
        while not self.watcher.frames and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self):
        """True if all went well."""
        self.watcher.stop()
        status = self.program.stop()
        self.camera.stop()
        return self.connected and status == 0 and len(self.watcher.frames) > 0


def blocks(pixels):
    """The middles of the blocks of a mosaic of 32x32: row, y, column, x, channel."""
    rows, columns = pixels.shape[0] // 32, pixels.shape[1] // 32
    return pixels.astype(float).reshape(rows, 32, columns, 32, 4)[:, 8:24, :, 8:24]


def measure_loss(ndi):
    """How far a flat colour is off after NDI alone has carried it, since it compresses."""
    frame = np.repeat(np.repeat(picture(320, 192)[::32, ::32], 32, 0), 32, 1)
    camera = Camera(ndi, lambda: (frame, "RGBX"))
    watcher = Watcher(ndi, camera.port)
    time.sleep(0.5)
    watcher.stop()
    camera.stop()
    return np.abs(blocks(watcher.last) - blocks(frame))[..., :3].max()


def check_pictures(tap, ndi):
    """RGBX comes, is filtered, and leaves; alpha is kept."""
    loss = measure_loss(ndi)
    for form, alpha in (("RGBX", 255), ("RGBA", 77)):
        frame = picture(320, 192, alpha)
        scene = Scene(ndi, lambda f=frame, n=form: (f, n), filter="cudablockavg")
        time.sleep(0.5)
        good = scene.stop()
        forms = {one[1] for one in scene.watcher.frames}
        expected = frame.astype(float).reshape(6, 32, 10, 32, 4).mean((1, 3), keepdims=True)
        got = blocks(scene.watcher.last) if good else np.zeros((6, 16, 10, 16, 4))
        off = np.abs(got - expected)
        uneven = got[..., :3].std((1, 3)).max()
        detail = (f"off by {off[..., :3].max():.1f}, where NDI alone loses {loss:g} each way; "
                  f"within a block {uneven:.2f}; alpha off by {off[..., 3].max():g}")
        print(f"# {form}: {detail}")
        tap.check(good and off[..., :3].max() <= 2 * loss + 1 and uneven < 1.5 and forms == {form},
                  f"ndi: {form} comes, is filtered and leaves", f"{detail}\n{scene.program}")
        tap.check(good and off[..., 3].max() <= 1, f"ndi: {form}: alpha is kept",
                  f"{detail}\n{scene.program}")


def check_sizes(tap, ndi, minutes):
    """Sizes and forms change in mid-stream; over minutes, memory does not grow."""
    frames = [(picture(320, 180), "RGBX"), (picture(640, 360), "RGBX"),
              (np.full((240, 320, 2), 128, np.uint8), "UYVY"), (picture(1280, 720, 99), "RGBA")]
    count = iter(range(10**9))
    scene = Scene(ndi, lambda: frames[next(count) // 15 % len(frames)], color="uyvy")
    memory, sizes, deadline = [], set(), time.monotonic() + minutes * 60
    while time.monotonic() < deadline:
        time.sleep(2)
        memory.append(relay.memory_kib(scene.program))
        sizes |= {one[0] for one in scene.watcher.frames}
        del scene.watcher.frames[:-300]
    good = scene.stop()
    end = scene.program.end()
    detail = f"{sizes}\n{memory}\n{scene.program}"
    tap.check(good and {(320, 180), (640, 360), (320, 240), (1280, 720)} <= sizes,
              "ndi: sizes and forms change in mid-stream", detail)
    tap.check(not [one for one in scene.program.events if one["event"] in ("lost", "warning")],
              "ndi: without a reconnection or a warning", detail)
    if minutes >= 1:
        # Peaks are frames under way, and steps pools that hold one more; what leaks only grows.
        quarter = len(memory) // 4
        before = statistics.median(memory[quarter:2 * quarter])
        after = statistics.median(memory[-quarter:])
        tap.check(after < before + ONE_FRAME_KIB, "ndi: memory is flat", detail)
        print(f"# memory: median {before} KiB in the second quarter, {after} in the last")
    ages = [one[2] * 1000 for one in scene.watcher.frames]
    print(f"# ndi, {minutes:g} minutes: {end['frames_in']} frames in, {end['frames_out']} out, "
          f"{end['frames_dropped']} dropped; sender to receiver {statistics.median(ages):.1f} ms")


def check_slow_filter(tap, ndi):
    """A slow filter drops frames instead of adding delay, and the last frame is sent again."""
    scene = Scene(ndi, lambda: (picture(320, 180), "RGBX"), "--repeat", filter=SLOW)
    scene.watcher.frames.clear()
    time.sleep(3)
    good = scene.stop()
    times = [one[3] for one in scene.watcher.frames]
    rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0
    age = statistics.median(one[2] for one in scene.watcher.frames) * 1000 if times else 0
    detail = f"{rate:.1f} fps, {age:.0f} ms\n{scene.program}"
    tap.check(good and 27 <= rate <= 33,
              "ndi: --repeat sends as many frames as come, with a filter of 10 a second", detail)
    # A repeated frame is older by up to the time that the next one takes.
    tap.check(100 < age < 250, "ndi: and none of them is late by more than the filter", detail)


def check_lost(tap):
    """The sender, which is found by name, is killed, and another one comes."""
    sender = Relay("test:?width=320&height=180", f"ndi:{CAMERA}")
    program = Relay(f"ndi:{ndi_peer.full_name(CAMERA)}", "test:", filter="cudallf")
    connected = program.wait_for("connected")
    sender.kill()
    lost = program.wait_for("lost")
    sender = Relay("test:?width=640&height=360", f"ndi:{CAMERA}")
    again = program.wait_for("stats", which=lambda event: event["width"] == 640)
    tap.check(connected and lost and again,
              "ndi: the sender, found by name, is killed, and another one takes over",
              str(program))
    status = program.stop()
    tap.check(status == 0 and sender.stop() == 0, "ndi: SIGINT ends it with 0", str(program))


def run(tap):
    library = ndi_peer.find_runtime()
    if not library:
        tap.skip("ndi", "there is no NDI runtime (pip install cyndilib has one)")
        return
    if not relay.enter_namespace():
        tap.skip("ndi", "no network namespace can be had (unshare -n)")
        return
    with tempfile.TemporaryDirectory() as directory:
        os.environ["NDI_RUNTIME_DIR_V6"] = str(library.parent)
        ndi_peer.look_on_this_machine(directory)
        if "--minutes" not in sys.argv:
            check_lost(tap)
        ndi = ndi_peer.load(library)
        if "--minutes" in sys.argv:
            check_sizes(tap, ndi, relay.option("minutes", 10))
            return
        check_pictures(tap, ndi)
        check_sizes(tap, ndi, 0.1)
        check_slow_filter(tap, ndi)


if __name__ == "__main__":
    harness.main(run)
