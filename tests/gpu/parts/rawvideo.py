# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw frames in GStreamer's default layout: test pictures, and comparison by code value.

Needs nothing but numpy, as a GPU host has little else.
"""
import numpy as np

PLANAR_420 = (("Y", 0, 0), ("U", 1, 1), ("V", 1, 1))
PLANAR_422 = (("Y", 0, 0), ("U", 1, 0), ("V", 1, 0))
PLANAR_444 = (("Y", 0, 0), ("U", 0, 0), ("V", 0, 0))
SEMIPLANAR = (("Y", 0, 0), ("UV", 1, 1))

# Planes (channels with x for padding, horizontal and vertical subsampling as shifts), bits of a
# code value, and bits below it. Of packed 4:2:2, two pixels are four channels.
FORMATS = {
    "I420": (PLANAR_420, 8, 0),
    "YV12": ((("Y", 0, 0), ("V", 1, 1), ("U", 1, 1)), 8, 0),
    "NV12": (SEMIPLANAR, 8, 0),
    "NV21": ((("Y", 0, 0), ("VU", 1, 1)), 8, 0),
    "Y42B": (PLANAR_422, 8, 0),
    "Y444": (PLANAR_444, 8, 0),
    "I420_10LE": (PLANAR_420, 10, 0),
    "I422_10LE": (PLANAR_422, 10, 0),
    "P010_10LE": (SEMIPLANAR, 10, 6),
    "P016_LE": (SEMIPLANAR, 16, 0),
    "Y444_16LE": (PLANAR_444, 16, 0),
    "UYVY": ((("UYVY", 1, 0),), 8, 0),
    "YUY2": ((("YUYV", 1, 0),), 8, 0),
    "RGB": ((("RGB", 0, 0),), 8, 0),
    "BGR": ((("BGR", 0, 0),), 8, 0),
    "RGBx": ((("RGBx", 0, 0),), 8, 0),
    "BGRx": ((("BGRx", 0, 0),), 8, 0),
    "RGBA": ((("RGBA", 0, 0),), 8, 0),
    "BGRA": ((("BGRA", 0, 0),), 8, 0),
    "ARGB": ((("ARGB", 0, 0),), 8, 0),
    "ABGR": ((("ABGR", 0, 0),), 8, 0),
    "GBR": ((("G", 0, 0), ("B", 0, 0), ("R", 0, 0)), 8, 0),
    # In CUDA memory from GStreamer 1.24 on.
    "Y444_10LE": (PLANAR_444, 10, 0),
    "P012_LE": (SEMIPLANAR, 12, 4),
    # In system memory only.
    "GRAY8": ((("Y", 0, 0),), 8, 0),
    "GRAY16_LE": ((("Y", 0, 0),), 16, 0),
    "xRGB": ((("xRGB", 0, 0),), 8, 0),
    "xBGR": ((("xBGR", 0, 0),), 8, 0),
    "AYUV": ((("AYUV", 0, 0),), 8, 0),
}
SINCE_1_24 = ("Y444_10LE", "P012_LE")
SYSTEM_ONLY = ("GRAY8", "GRAY16_LE", "xRGB", "xBGR", "AYUV")


def cuda_formats(gstreamer):
    """What CUDA memory of this version can hold."""
    missing = SYSTEM_ONLY if gstreamer >= (1, 24) else SYSTEM_ONLY + SINCE_1_24
    return tuple(name for name in FORMATS if name not in missing)


def round_up(value, multiple):
    return -(-value // multiple) * multiple


class Layout:
    """Where the samples of a frame lie: GstVideoInfo's defaults."""

    def __init__(self, format_name, width, height):
        self.name, self.width, self.height = format_name, width, height
        self.planes, self.bits, self.shift = FORMATS[format_name]
        self.sample = np.dtype("<u2" if self.bits > 8 else "u1")
        self.max_code = (1 << self.bits) - 1
        self.places = []  # offset, stride, rows, columns
        offset = 0
        for index, (channels, sub_x, sub_y) in enumerate(self.planes):
            rows, columns = -(-height >> sub_y), -(-width >> sub_x)
            stride = self.default_stride(channels, sub_x)
            self.places.append((offset, stride, rows, columns))
            offset += stride * (round_up(rows, 2) if self.has_even_rows(index) else rows)
        self.size = offset

    def has_even_rows(self, index):
        half_rows = any(plane[2] for plane in self.planes)
        return half_rows and index == 0 or self.name == "I422_10LE"

    def default_stride(self, channels, sub_x):
        if len(channels) == 2:
            return self.places[0][1]
        if sub_x and self.name == "Y42B":
            return round_up(self.width, 8) // 2
        columns = round_up(self.width, 2) // 2 if sub_x else self.width
        return round_up(columns * len(channels) * self.sample.itemsize, 4)

    def views(self, frame):
        """(name, samples: rows, columns) of all channels that carry a picture."""
        size = self.sample.itemsize
        for (names, _, _), (offset, stride, rows, columns) in zip(self.planes, self.places):
            for name in dict.fromkeys(names.replace("x", "")):
                twice = names.count(name) == 2
                yield name, np.ndarray((rows, self.width if twice else columns), self.sample, frame,
                                       offset + names.index(name) * size,
                                       (stride, len(names) // (2 if twice else 1) * size))

    def caps(self, memory=""):
        return (f"video/x-raw{memory},format={self.name},width={self.width},"
                f"height={self.height},framerate=25/1")

    def planar_of_odd_height(self):
        return len(self.planes) == 3 and self.planes[1][2] == 1 and self.height % 2 == 1


def picture(layout, seed):
    """Gradients, edges, fine noise and every depth of alpha: bytes of a frame."""
    random = np.random.default_rng(seed)
    frame = random.integers(0, 256, layout.size, np.uint8)
    for name, view in layout.views(frame):
        rows, columns = view.shape
        y, x = np.mgrid[0:rows, 0:columns]
        y, x = y / max(rows - 1, 1), x / max(columns - 1, 1)
        phase = seed + "YUVRGBA".index(name)
        values = 0.5 + 0.3 * np.sin(6.0 * x + phase) * np.cos(5.0 * y - phase)
        values += 0.35 * (((x * 7 + y * 3 + phase * 0.3) % 1.0) > 0.7)
        values += random.normal(0.0, 0.04, values.shape)
        if name == "A":
            values = 1.6 * values - 0.4
        codes = np.clip(np.rint(values * layout.max_code), 0, layout.max_code)
        view[:] = codes.astype(layout.sample) << layout.shift
    return frame.tobytes()


def codes_of(layout, data):
    """Code values by channel. Bits below them must be 0."""
    frame = np.frombuffer(bytearray(data), np.uint8)
    codes = {}
    for name, raw in layout.views(frame):
        if (raw & ((1 << layout.shift) - 1)).any():
            raise ValueError(f"{name}: bits below the code values are set")
        codes[name] = (raw >> layout.shift).astype(np.int64)
    return codes


class Difference:
    """How far two files of frames are apart, in code values. Colour under alpha is as far apart as
    it is stored, or premultiplied where that is less: what cannot be seen cannot be wrong.
    Premultiplied alone, a colour and its alpha that both lie next to a tie would be up to 2 apart,
    where each is stored 1 apart."""

    def __init__(self):
        self.worst = 0.0
        self.total = self.beyond_half = self.beyond_one = self.samples = 0
        self.squares = 0.0
        self.max_code = 255
        self.where = ""

    def add(self, layout, frame, got, want):
        got, want = codes_of(layout, got), codes_of(layout, want)
        self.max_code = layout.max_code
        for name, codes in got.items():
            apart = self.apart(layout, name, codes, got, want)
            worst = float(apart.max())
            if worst > self.worst:
                row, column = np.unravel_index(int(apart.argmax()), apart.shape)
                self.where = (f"frame {frame}, {name} at x {column} y {row}: got "
                              f"{codes[row, column]}, want {want[name][row, column]}")
                self.worst = worst
            self.total += float(apart.sum())
            self.squares += float((apart * apart).sum())
            self.beyond_half += int((apart > 0.5).sum())
            self.beyond_one += int((apart > 1.0).sum())
            self.samples += apart.size

    @staticmethod
    def apart(layout, name, codes, got, want):
        stored = np.abs(codes - want[name]).astype(float)
        if "A" not in want or name == "A":
            return stored
        seen = np.abs(codes * got["A"] - want[name] * want["A"]) / layout.max_code
        return np.minimum(stored, seen)

    @property
    def share(self):
        """Of the samples that differ, in percent."""
        return 100.0 * self.beyond_half / max(self.samples, 1)

    @property
    def mean(self):
        return self.total / max(self.samples, 1)

    @property
    def psnr(self):
        if self.squares == 0.0:
            return float("inf")
        return float(10.0 * np.log10(self.max_code ** 2 * self.samples / self.squares))

    def text(self):
        return (f"worst {self.worst:g}, {self.share:.3g} % of samples, {self.psnr:.1f} dB"
                + (f"; {self.where}" if self.where else ""))


def compare_files(layout, got, want, frames):
    """Difference of two files; ValueError where one is not `frames` frames long."""
    difference = Difference()
    with open(got, "rb") as got_file, open(want, "rb") as want_file:
        for frame in range(frames):
            pair = got_file.read(layout.size), want_file.read(layout.size)
            for data, name in zip(pair, (got, want)):
                if len(data) != layout.size:
                    raise ValueError(
                        f"{name} has fewer than {frames} frames of {layout.size} bytes")
            difference.add(layout, frame, *pair)
        if got_file.read(1) or want_file.read(1):
            raise ValueError(f"more than {frames} frames of {layout.size} bytes")
    return difference


def write_pictures(layout, path, frames, different=8):
    pictures = [picture(layout, seed) for seed in range(min(frames, different))]
    with open(path, "wb") as file:
        for frame in range(frames):
            file.write(pictures[frame % different])


def read_frames(layout, path, more=""):
    """The start of a pipeline that sends the frames of a file; `more` is in their caps."""
    return (f"filesrc location={path} ! typefind force-caps={layout.caps()}{more} ! queue ! "
            "rawvideoparse use-sink-caps=true")
