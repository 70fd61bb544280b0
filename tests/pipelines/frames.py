# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw video frames as numpy arrays, and photographs to fill them with.

Written from GStreamer's documentation of its formats and default strides, and sharing nothing with
the code under test, so that both have to be right.
"""
import dataclasses
import pathlib
import sys

import numpy as np
import PIL.Image

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import photographs

# Each plane is the roles of its interleaved channels, "x" being padding, and how it is subsampled.
# Of packed 4:2:2, two pixels are four channels.
LUMA_ONLY = [("Y", 0, 0)]
PLANAR_420 = [("Y", 0, 0), ("U", 1, 1), ("V", 1, 1)]
PLANAR_422 = [("Y", 0, 0), ("U", 1, 0), ("V", 1, 0)]
PLANAR_444 = [("Y", 0, 0), ("U", 0, 0), ("V", 0, 0)]
SEMIPLANAR_420 = [("Y", 0, 0), ("UV", 1, 1)]

FORMATS = {
    "GRAY8": (LUMA_ONLY, 8, 0),
    "GRAY16_LE": (LUMA_ONLY, 16, 0),
    "I420": (PLANAR_420, 8, 0),
    "YV12": ([("Y", 0, 0), ("V", 1, 1), ("U", 1, 1)], 8, 0),
    "NV12": (SEMIPLANAR_420, 8, 0),
    "NV21": ([("Y", 0, 0), ("VU", 1, 1)], 8, 0),
    "Y42B": (PLANAR_422, 8, 0),
    "Y444": (PLANAR_444, 8, 0),
    "I420_10LE": (PLANAR_420, 10, 0),
    "I422_10LE": (PLANAR_422, 10, 0),
    "Y444_10LE": (PLANAR_444, 10, 0),
    "P010_10LE": (SEMIPLANAR_420, 10, 6),
    "P012_LE": (SEMIPLANAR_420, 12, 4),
    "P016_LE": (SEMIPLANAR_420, 16, 0),
    "Y444_16LE": (PLANAR_444, 16, 0),
    "UYVY": ([("UYVY", 1, 0)], 8, 0),
    "YUY2": ([("YUYV", 1, 0)], 8, 0),
    "RGB": ([("RGB", 0, 0)], 8, 0),
    "BGR": ([("BGR", 0, 0)], 8, 0),
    "RGBx": ([("RGBx", 0, 0)], 8, 0),
    "BGRx": ([("BGRx", 0, 0)], 8, 0),
    "xRGB": ([("xRGB", 0, 0)], 8, 0),
    "xBGR": ([("xBGR", 0, 0)], 8, 0),
    "RGBA": ([("RGBA", 0, 0)], 8, 0),
    "BGRA": ([("BGRA", 0, 0)], 8, 0),
    "ARGB": ([("ARGB", 0, 0)], 8, 0),
    "ABGR": ([("ABGR", 0, 0)], 8, 0),
    "AYUV": ([("AYUV", 0, 0)], 8, 0),
    "GBR": ([("G", 0, 0), ("B", 0, 0), ("R", 0, 0)], 8, 0),
}


@dataclasses.dataclass(frozen=True)
class Format:
    name: str

    @property
    def planes(self):
        return FORMATS[self.name][0]

    @property
    def bits(self):
        return FORMATS[self.name][1]

    @property
    def shift(self):
        return FORMATS[self.name][2]

    @property
    def max_code(self):
        return (1 << self.bits) - 1

    @property
    def sample_type(self):
        return np.dtype("<u2") if self.bits > 8 else np.dtype("u1")

    @property
    def roles(self):
        roles = [role for channels, _, _ in self.planes for role in channels if role != "x"]
        return list(dict.fromkeys(roles))

    @property
    def is_rgb(self):
        return "R" in self.roles

    def subsampling(self, role):
        return next((0 if channels.count(role) == 2 else x, y)
                    for channels, x, y in self.planes if role in channels)


def round_up(value, multiple):
    return -(-value // multiple) * multiple


class Layout:
    """Where GStreamer puts the samples of a frame of these dimensions, by default."""

    def __init__(self, format_name, width, height):
        self.format = Format(format_name)
        self.width = width
        self.height = height
        self.places = []  # (offset, stride, rows, columns) of each plane
        offset = 0
        for index, (channels, sub_x, sub_y) in enumerate(self.format.planes):
            columns = -(-width >> sub_x)  # rounded up
            rows = -(-height >> sub_y)
            stride = self.default_stride(index, channels, sub_x)
            self.places.append((offset, stride, rows, columns))
            offset += stride * (round_up(rows, 2) if self.has_even_rows(index) else rows)
        self.size = offset

    def has_even_rows(self, index):
        """Luma planes of 4:2:0 have an even number of rows, and all planes of I422_10LE."""
        has_half_rows = any(plane[2] for plane in self.format.planes)
        return has_half_rows and index == 0 or self.format.name == "I422_10LE"

    def default_stride(self, index, channels, sub_x):
        sample = self.format.sample_type.itemsize
        if len(channels) == 2:
            return self.places[0][1]
        if sub_x and self.format.name == "Y42B":
            return round_up(self.width, 8) // 2
        if sub_x:
            return round_up(round_up(self.width, 2) // 2 * len(channels) * sample, 4)
        return round_up(self.width * len(channels) * sample, 4)

    def views(self, frame):
        """All (role, its samples in `frame`, an array of bytes: rows, columns)."""
        sample = self.format.sample_type
        for (channels, _, _), (offset, stride, rows, columns) in zip(self.format.planes,
                                                                     self.places):
            for role in dict.fromkeys(channels):
                count = channels.count(role)
                yield role, np.ndarray(
                    (rows, self.width if count == 2 else columns), sample, frame,
                    offset + channels.index(role) * sample.itemsize,
                    (stride, len(channels) // count * sample.itemsize))

    def pack(self, components):
        """Bytes of a frame from code values by role; padding is filled with noise."""
        frame = np.zeros(self.size, np.uint8)
        for role, view in self.views(frame):
            if role == "x":
                view[:] = np.arange(view.size).reshape(view.shape) % 251
            else:
                view[:] = components[role].astype(view.dtype) << self.format.shift
        return frame.tobytes()

    def unpack(self, data):
        """Code values by role, as 64-bit integers. The low bits of P010 and P012 must be 0."""
        frame = np.frombuffer(bytearray(data), np.uint8)
        components = {}
        for role, view in self.views(frame):
            if role == "x":
                continue
            raw = view.astype(np.int64)
            if (raw & ((1 << self.format.shift) - 1)).any():
                raise ValueError(f"{self.format.name}: low bits are not 0")
            components[role] = raw >> self.format.shift
        return components

    def same(self, data, other):
        """Whether two frames have equal samples; bytes between rows and padding do not count."""
        pairs = zip(self.unpack(data).values(), self.unpack(other).values())
        return all((plane == again).all() for plane, again in pairs)


# The photographs of python3-skimage that tests and the demo use.
PHOTOGRAPHS = ("astronaut.png", "coffee.png", "chelsea.png", "rocket.jpg", "motorcycle_left.png",
               "hubble_deep_field.jpg")


def photograph(name):
    """Red, green, blue in 0..1: rows, columns, 3."""
    return photographs.photograph(name) / 255.0


def cropped(image, width, height):
    """The middle of a photograph."""
    top = (image.shape[0] - height) // 2
    left = (image.shape[1] - width) // 2
    return image[top:top + height, left:left + width]


def shrunk(image, width, height):
    """The whole photograph, small; between code values, so that 16-bit samples are not multiples
    of 257."""
    channels = [PIL.Image.fromarray(image[..., c].astype(np.float32)).resize(
        (width, height), PIL.Image.Resampling.BOX) for c in range(3)]
    return np.clip(np.stack([np.asarray(c, np.float64) for c in channels], -1), 0.0, 1.0)


def subsampled_sum(plane, sub_x, sub_y):
    """The sum of the pixels that share a chroma sample, of those inside the picture."""
    padded = np.pad(plane, ((0, plane.shape[0] & sub_y), (0, plane.shape[1] & sub_x)))
    rows, columns = padded.shape
    return padded.reshape(rows >> sub_y, 1 << sub_y, columns >> sub_x, 1 << sub_x).sum((1, 3))


def subsampled(plane, sub_x, sub_y):
    """The mean of the pixels that share a chroma sample."""
    share = subsampled_sum(np.ones_like(plane), sub_x, sub_y)
    return subsampled_sum(plane, sub_x, sub_y) / share


def components_of(image, format_name, alpha=None):
    """Code values by role of a picture in 0..1: YUV is limited range BT.601, gray full range.
    `alpha` in 0..1 for the formats that have it, else opaque."""
    form = Format(format_name)
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    unit = 1 << (form.bits - 8)
    limited = not form.is_rgb and form.roles != ["Y"]
    codes = {
        "Y": (16 + 219 * luma) * unit if limited else luma * form.max_code,
        "U": (128 + 224 * 0.5 * (blue - luma) / (1 - 0.114)) * unit,
        "V": (128 + 224 * 0.5 * (red - luma) / (1 - 0.299)) * unit,
        "R": red * form.max_code,
        "G": green * form.max_code,
        "B": blue * form.max_code,
        "A": (np.ones_like(luma) if alpha is None else alpha) * form.max_code,
    }
    return {role: rounded(subsampled(codes[role], *form.subsampling(role)), form.max_code)
            for role in form.roles}


def rounded(values, max_code):
    """Code values as the project rounds them: half up, clamped."""
    return np.clip(np.floor(values + 0.5), 0, max_code).astype(np.int64)
