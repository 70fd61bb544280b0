# SPDX-License-Identifier: LGPL-2.1-or-later
"""NDI spoken by the test itself, over the runtime that somebody has installed, with ctypes.

The runtime is looked for in NDI_RUNTIME_DIR_V6, and in the Python package cyndilib.
"""
import ctypes
import importlib.util
import json
import os
import pathlib
import socket
import time

import numpy as np

VIDEO = 1
NO_TIMECODE = 2**63 - 1


class Address(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("url", ctypes.c_char_p)]


class Video(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int), ("fourcc", ctypes.c_uint32),
                ("rate_numerator", ctypes.c_int), ("rate_denominator", ctypes.c_int),
                ("aspect", ctypes.c_float), ("frame_format", ctypes.c_int),
                ("timecode", ctypes.c_int64), ("data", ctypes.c_void_p),
                ("stride", ctypes.c_int), ("metadata", ctypes.c_char_p),
                ("timestamp", ctypes.c_int64)]


class ReceiverSettings(ctypes.Structure):
    _fields_ = [("source", Address), ("color", ctypes.c_int), ("bandwidth", ctypes.c_int),
                ("fields", ctypes.c_bool), ("name", ctypes.c_char_p)]


class SenderSettings(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("groups", ctypes.c_char_p),
                ("clock_video", ctypes.c_bool), ("clock_audio", ctypes.c_bool)]


def find_runtime():
    """The library of the runtime; None if there is none."""
    folder = os.environ.get("NDI_RUNTIME_DIR_V6")
    places = [pathlib.Path(folder)] if folder else []
    package = importlib.util.find_spec("cyndilib")
    for place in package.submodule_search_locations if package else []:
        places += sorted(pathlib.Path(place).glob("wrapper/bin/x86_64*"))
    for place in places:
        for name in ("libndi.so.6", "libndi.so"):
            if (place / name).exists():
                return place / name
    return None


def load(library):
    ndi = ctypes.CDLL(str(library))
    for name in ("NDIlib_recv_create_v3", "NDIlib_send_create"):
        getattr(ndi, name).restype = ctypes.c_void_p
    if not ndi.NDIlib_initialize():
        raise RuntimeError("NDIlib_initialize")
    return ndi


def look_on_this_machine(directory):
    """From now on, names are looked for here and not by multicast, by programs that are started.
    Only one program that sends is seen then."""
    settings = {"ndi": {"networks": {"ips": "127.0.0.1"}}}
    (pathlib.Path(directory) / "ndi-config.v1.json").write_text(json.dumps(settings))
    os.environ["NDI_CONFIG_DIR"] = directory


def full_name(name):
    """What the sender `name` of this machine is called by others."""
    return f"{socket.gethostname().split('.')[0].upper()} ({name})"


def listening_ports():
    """Those of this network namespace that senders may have."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {int(one[1].split(":")[1], 16) for one in fields if one[3] == "0A"} - {5960}


def wait_for_port(before, seconds=10):
    """The port that has come to `before`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        new = listening_ports() - before
        if new:
            return new.pop()
        time.sleep(0.02)
    raise RuntimeError("no sender has begun to listen")


def fourcc(name):
    return int.from_bytes(name.encode(), "little")


class Sender:
    """Sends frames of bytes: arrays of rows, columns, bytes of a pixel."""

    def __init__(self, ndi, name):
        self.ndi = ndi
        settings = SenderSettings(name.encode(), None, False, False)
        self.instance = ctypes.c_void_p(ndi.NDIlib_send_create(ctypes.byref(settings)))

    def send(self, pixels, form, timecode=None):
        pixels = np.ascontiguousarray(pixels)
        height, width, depth = pixels.shape
        now = time.time_ns() // 100 if timecode is None else timecode
        video = Video(width, height, fourcc(form), 30, 1, width / height, 1, now,
                      pixels.ctypes.data, width * depth, None, 0)
        self.ndi.NDIlib_send_send_video_v2(self.instance, ctypes.byref(video))

    def close(self):
        self.ndi.NDIlib_send_destroy(self.instance)


class Receiver:
    """Receives RGBX, or RGBA where there is alpha (as the relay's color=rgb)."""

    def __init__(self, ndi, port):
        self.ndi = ndi
        address = Address(None, f"127.0.0.1:{port}".encode())
        settings = ReceiverSettings(address, 2, 100, False, b"test")
        self.instance = ctypes.c_void_p(ndi.NDIlib_recv_create_v3(ctypes.byref(settings)))

    def receive(self, milliseconds=1000):
        """(pixels, form, seconds since the frame's timecode) or None."""
        video = Video()
        got = self.ndi.NDIlib_recv_capture_v3(self.instance, ctypes.byref(video), None, None,
                                              milliseconds)
        if got != VIDEO:
            return None
        data = ctypes.string_at(video.data, video.stride * video.height)
        pixels = np.frombuffer(data, np.uint8).reshape(video.height, video.stride)
        pixels = pixels[:, :video.width * 4].reshape(video.height, video.width, 4)
        form = video.fourcc.to_bytes(4, "little").decode()
        age = time.time() - video.timecode / 1e7
        self.ndi.NDIlib_recv_free_video_v2(self.instance, ctypes.byref(video))
        return pixels, form, age

    def close(self):
        self.ndi.NDIlib_recv_destroy(self.instance)
