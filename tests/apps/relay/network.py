#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Networks and shared memory: SRT, RTP, RTSP and shm, pixels on the way, senders and receivers that
are killed. All of it in a network namespace of its own.

network.py --reconnections 100 only kills that many writers and looks for what is lost by it.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import relay
from relay import Relay, harness

HERE = pathlib.Path(__file__).resolve().parent
SIZE = "width=320&height=180"


def start_sender(make, program, kind):
    """Starts senders, one after the other, until one gets through to `program`: while that still
    holds the connection of the one before, it takes no other. Each gets twice the time of the one
    before, since a busy machine is slow to start them."""
    for seconds in (2.5, 5, 10, 20, 40):
        sender = make()
        if program.wait_for(kind, seconds):
            return sender
        sender.kill()
    return None


def check_srt(tap):
    """Through three programs, with the first killed and another one, of another size, in its
    place; the receiver must not notice but for the size."""
    program = Relay("srt://127.0.0.1:7001?mode=listener", "srt://127.0.0.1:7002?mode=listener",
                    "--timeout", "3", filter="cudallf")
    program.wait_for("start")
    sender = start_sender(lambda: Relay(f"test:?{SIZE}", "srt://127.0.0.1:7001?mode=caller"),
                          program, "connected")
    receiver = Relay("srt://127.0.0.1:7002?mode=caller", "test:", "--timeout",
                     "30")
    tap.check(sender and receiver.wait_for("connected"), "srt: frames arrive", str(program))
    sender.kill()
    lost = program.wait_for("lost")
    sender = start_sender(lambda: Relay("test:?width=482&height=270&frames=90",
                                        "srt://127.0.0.1:7001?mode=caller"),
                          program, "connected")
    arrived = receiver.wait_for("stats", which=lambda event: event["width"] == 482)
    tap.check(lost and sender and arrived, "srt: the sender is killed, and another one takes over",
              f"{program}\n{receiver}")
    reasons = [one["reason"] for one in program.events if one["event"] == "lost"]
    tap.check(reasons == ["no frame for 3 s"], "... once the port of the first one is closed",
              str(reasons))
    tap.check(program.end() is None and receiver.end() is None and
              not [one for one in receiver.events if one["event"] == "lost"],
              "srt: the receiver stays connected all the while", f"{program}\n{receiver}")
    receiver.kill()
    another = Relay("srt://127.0.0.1:7002?mode=caller", "test:")
    tap.check(another.wait_for("connected"), "srt: the receiver is killed, and another one comes",
              f"{program}\n{another}")
    tap.check(sender.wait() == 0, "srt: a sender that has ended ends with 0", str(sender))
    tap.check(program.stop() == 0 and program.end()["reconnections"] >= 1,
              "srt: reconnections are counted", str(program))
    another.stop()


def check_srt_sizes(tap):
    """A sender whose picture changes its size in mid-stream."""
    program = Relay("srt://127.0.0.1:7003?mode=listener", "test:", "--stats", "0.25",
                    filter="cudallf")
    program.wait_for("start")
    sender = Relay(f"test:?sizes=320x180,642x362&every=30", "srt://127.0.0.1:7003?mode=caller")
    sizes = [program.wait_for("stats", which=lambda event, width=width: event["width"] == width)
             for width in (320, 642, 320)]
    tap.check(all(sizes) and not [one for one in program.events if one["event"] == "lost"],
              "srt: sizes change in mid-stream", str(program))
    sender.stop()
    tap.check(program.stop() == 0, "srt: ends with 0", str(program))


def check_rtp(tap):
    program = Relay("rtp://127.0.0.1:5004", "rtp://127.0.0.1:5006", "--timeout", "1",
                    filter="cudagaussblur sigma=2")
    program.wait_for("start")
    receiver = Relay("rtp://127.0.0.1:5006", "test:")
    sender = Relay(f"test:?{SIZE}", "rtp://127.0.0.1:5004")
    tap.check(receiver.wait_for("connected"), "rtp: frames arrive", f"{program}\n{receiver}")
    second = Relay("rtp://127.0.0.1:5004", "test:")
    busy = second.wait_for("lost")
    tap.check(busy and "in use" in busy["reason"], "rtp: an address that is taken", str(second))
    second.stop()
    sender.kill()
    lost = program.wait_for("lost")
    sender = Relay("test:?width=640&height=360", "rtp://127.0.0.1:5004")
    arrived = receiver.wait_for("stats", which=lambda event: event["width"] == 640)
    tap.check(lost and "no frame" in lost["reason"] and arrived,
              "rtp: a silent sender is noticed, and another one takes over",
              f"{program}\n{receiver}")
    sender.stop()
    tap.check(program.stop() == 0 and receiver.stop() == 0, "rtp: ends with 0", str(program))


def check_rtsp(tap):
    server = subprocess.Popen(["/usr/bin/python3", HERE / "rtsp-server.py", "8554"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    if server.stdout.readline() != "ready\n":
        tap.skip("rtsp", "gir1.2-gst-rtsp-server-1.0 is missing")
        return
    program = Relay("rtsp://127.0.0.1:8554/play", "test:", filter="cudallf")
    tap.check(program.wait_for("connected"), "rtsp: frames arrive", str(program))
    server.kill()
    server.wait()
    lost = program.wait_for("lost")
    tap.check(lost, "rtsp: a server that is killed is noticed", str(program))
    server = subprocess.Popen(["/usr/bin/python3", HERE / "rtsp-server.py", "8554"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    tap.check(program.wait_for("connected"), "rtsp: and found again", str(program))
    tap.check(program.stop() == 0, "rtsp: ends with 0", str(program))
    if relay.run("--from", "test:", "--to", "rtsp://127.0.0.1:8554/nothing").returncode == 3:
        tap.skip("rtsp: recording", "gstreamer1.0-rtsp is missing")
    else:
        recorder = Relay("test:", "rtsp://127.0.0.1:8554/record")
        tap.check(recorder.wait_for("stats", which=lambda event: event["out_fps"] > 20),
                  "rtsp: a server records", str(recorder))
        tap.check(recorder.stop() == 0, "rtsp: recording ends with 0", str(recorder))
    server.stdin.close()
    server.wait()


def capture(path, size):
    """A frame out of shared memory, as bytes."""
    with tempfile.NamedTemporaryFile() as file:
        harness.launch(["shmsrc", f"socket-path={path}", "is-live=true", "num-buffers=1"],
                       "! filesink", [f"location={file.name}"], timeout=20)
        return pathlib.Path(file.name).read_bytes()[:size]


def check_pixels(tap, directory):
    """The mosaic of a test picture, taken out of the relay, is made of the means that numpy
    computes from the picture itself."""
    where = f"{directory}/pixels"
    picture = "format=GRAY8&width=320&height=240"
    program = Relay(f"test:?pattern=smpte&{picture}", f"shm:{where}?{picture}",
                    filter="cudablockavg block-width=32 block-height=16")
    program.wait_for("connected")
    got = np.frombuffer(capture(where, 320 * 240), np.uint8).reshape(240, 320)
    with tempfile.NamedTemporaryFile() as file:
        harness.launch("videotestsrc num-buffers=1 pattern=smpte ! "
                       "video/x-raw,format=GRAY8,width=320,height=240 ! filesink",
                       [f"location={file.name}"])
        plain = np.frombuffer(pathlib.Path(file.name).read_bytes(), np.uint8)
    means = plain.reshape(15, 16, 10, 32).mean((1, 3))
    expected = np.kron(np.floor(means + 0.5), np.ones((16, 32)))
    # The test picture has a corner of noise, which is another one in each frame.
    good = (got == expected)[:160]
    tap.check(good.all() and program.stop() == 0, "the pixels that leave are those of the filter",
              f"{(~good).sum()} pixels differ\n{program}")


def check_files(tap, directory):
    """Formats that are not the encoder's, into files whose frames cannot change."""
    for form in ("RGBA", "I420_10LE", "NV12"):
        for ending in ("mkv", "mp4"):
            path = f"{directory}/{form}.{ending}"
            program = Relay(f"test:?format={form}&frames=10", f"file:{path}", "--drop", "none")
            status, end = program.wait(), program.end()
            tap.check(status == 0 and end and end["frames_out"] == 10,
                      f"{form} goes into a file: {ending}", str(program))


def shared_memory(directory, number=0):
    return f"shm:{directory}/camera{number}?format=NV12&width=320&height=180"


def check_shm(tap, directory):
    """A camera that vanishes and comes back; and readers that do."""
    where = shared_memory(directory)
    camera = Relay(f"test:?{SIZE}", where)
    camera.wait_for("connected")
    program = Relay(where, shared_memory(directory, 1), filter="cudallf")
    tap.check(program.wait_for("connected"), "shm: frames arrive", str(program))
    camera.kill()
    lost = program.wait_for("lost")
    camera = Relay(f"test:?{SIZE}", where)
    tap.check(lost and program.wait_for("connected"), "shm: a writer is killed, another one found",
              str(program))
    reader = Relay(shared_memory(directory, 1), "test:")
    arrived = reader.wait_for("connected")
    reader.kill()
    reader = Relay(shared_memory(directory, 1), "test:")
    tap.check(arrived and reader.wait_for("connected"),
              "shm: a reader is killed, another one comes", f"{program}\n{reader}")
    reader.process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    tap.check(program.process.poll() is None, "shm: a reader that hangs does not end it",
              str(program))
    reader.process.send_signal(signal.SIGCONT)
    reader.stop()
    tap.check(program.wait_for("stats", which=lambda event: event["out_fps"] > 20) and
              program.stop() == 0, "shm: it goes on, and ends with 0", str(program))
    os.unlink(f"{directory}/camera0")
    program = Relay(where, "test:", filter="cudallf")
    tap.check(program.wait_for("lost"), "shm: a socket that was removed is waited for",
              str(program))
    program.stop()
    camera.stop()
    camera = Relay(f"test:?{SIZE}", where)
    camera.wait_for("connected")
    wrong = Relay(where.replace("height=180", "height=100"), "test:", "--once")
    tap.check(wrong.wait() == 1 and "86400 bytes" in "".join(wrong.errors),
              "shm: frames of another size than the address says end it with the reason",
              str(wrong))
    second = Relay("test:", where)
    tap.check(second.wait() == 1 and "Another program" in "".join(second.errors),
              "shm: two writers of one name are refused", str(second))
    camera.stop()


def check_reconnections(tap, directory, count):
    """Kills `count` writers: nothing of them stays behind."""
    where = shared_memory(directory)
    program = Relay(where, "test:", "--stats", "0", filter="cudallf",
                    environment=relay.TRACE_LEAKS)
    memory, files = [], []
    for _ in range(count + 2):
        camera = Relay(f"test:?{SIZE}", where, "--stats", "0")
        connected = program.wait_for("connected")
        time.sleep(0.1)
        memory.append(relay.memory_kib(program))
        files.append(relay.open_files(program))
        camera.kill()
        if not connected or not program.wait_for("lost"):
            break
    status = program.stop()
    end = program.end()
    detail = f"{memory} KiB\n{files} open files\n{program}"
    tap.check(status == 0 and end["reconnections"] >= count, f"{count} reconnections", detail)
    tap.check(not relay.find_leaks(program), f"{count} reconnections leave no element or frame",
              "".join(relay.find_leaks(program)))
    half = len(memory) // 2
    tap.check(min(files[half:]) <= max(files[1:half]), f"{count} reconnections leave no file open",
              detail)
    tap.check(min(memory[half:]) < max(memory[1:half]) + 1024,
              f"{count} reconnections leave memory as it was", detail)
    print(f"# {count} reconnections: {memory[1]} to {memory[-1]} KiB, {files[1]} to {files[-1]} "
          "open files")


def run(tap):
    if not relay.enter_namespace():
        tap.skip("networks", "no network namespace can be had (unshare -n)")
        return
    with tempfile.TemporaryDirectory() as directory:
        count = int(relay.option("reconnections", 6))
        if "--reconnections" in sys.argv:
            check_reconnections(tap, directory, count)
            return
        check_srt(tap)
        check_srt_sizes(tap)
        check_rtp(tap)
        check_rtsp(tap)
        check_pixels(tap, directory)
        check_files(tap, directory)
        check_shm(tap, directory)
        check_reconnections(tap, directory, count)


if __name__ == "__main__":
    harness.main(run)
