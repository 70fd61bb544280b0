#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HDR of 10 bits in H.265 comes over RTP and SRT, and leaves the relay as SDR that says so; SDR
that comes after it passes. In a network namespace of its own.
"""
import json
import pathlib
import shutil
import subprocess
import tempfile

import relay
from relay import Relay, harness

ELEMENTS = ("x265enc", "h265parse", "avdec_h265", "rtph265pay", "mpegtsmux", "srtsink")


def missing():
    for name in ELEMENTS:
        if subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode:
            return f"no {name}"
    return None if shutil.which("ffprobe") else "no ffprobe"


def sender(caps, *sink):
    """Two seconds and a half at their own pace."""
    command = ["gst-launch-1.0", "-q", "videotestsrc", "is-live=true", "num-buffers=75",
               "pattern=smpte75", "!", f"video/x-raw,width=320,height=180,framerate=30/1,{caps}",
               "!", "x265enc", "tune=zerolatency", "speed-preset=ultrafast", "key-int-max=15", "!",
               "h265parse", "config-interval=-1", "!", *sink]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)


def colours(path):
    """(transfer, primaries, matrix, format) of all frames; nothing of what is no video."""
    said = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_frames", "-of",
                           "json", str(path)], check=False, capture_output=True, text=True).stdout
    return {(frame.get("color_transfer"), frame.get("color_primaries"), frame.get("color_space"),
             frame["pix_fmt"]) for frame in json.loads(said).get("frames", [])}


def check_sdr(tap, title, program, path):
    status, end = program.stop(), program.end()
    tap.check(status == 0 and end and end["frames_out"] > 20, f"{title}: frames leave",
              str(program))
    seen = colours(path)
    tap.check(seen == {("bt709", "bt709", "bt709", "yuv420p")}, f"{title}: SDR of 8 bits",
              str(seen))


def check_rtp(tap, directory):
    path = directory / "rtp.mkv"
    program = Relay("rtp://127.0.0.1:5014?encoding=H265", f"file:{path}", "--drop", "none",
                    filter="cudatonemap")
    program.wait_for("start")
    sender("format=I420_10LE,colorimetry=bt2100-pq,content-light-level=(string)1000:400",
           "rtph265pay", "config-interval=-1", "!", "udpsink", "host=127.0.0.1", "port=5014")
    check_sdr(tap, "rtp, PQ", program, path)


def check_srt(tap, directory):
    """What comes may change between HDR and SDR."""
    path = directory / "srt.ts"
    program = Relay("srt://127.0.0.1:7014?mode=listener", f"file:{path}", "--timeout", "1",
                    filter="cudatonemap ! cudallf")
    program.wait_for("start")
    for caps in ("format=I420_10LE,colorimetry=bt2100-hlg", "format=I420,colorimetry=bt709"):
        sender(caps, "mpegtsmux", "alignment=7", "!", "srtsink",
               "uri=srt://127.0.0.1:7014?mode=caller")
        tap.check(program.wait_for("connected"), f"srt: {caps}", str(program))
        program.wait_for("lost")
    check_sdr(tap, "srt, HLG and then SDR", program, path)


def run(tap):
    reason = missing()
    if reason or not relay.enter_namespace():
        tap.skip("HDR", reason or "no network namespace can be had (unshare -n)")
        return
    with tempfile.TemporaryDirectory() as name:
        check_rtp(tap, pathlib.Path(name))
        check_srt(tap, pathlib.Path(name))


if __name__ == "__main__":
    harness.main(run)
