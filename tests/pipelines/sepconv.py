#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudasepconv through real pipelines against scipy's correlation, on photographs."""
import importlib.util
import math

import numpy as np
import scipy.ndimage

import frames
import harness
from gaussblur import SCIPY_BORDERS, difference

# Unequal in every way, so that swapped, mirrored or shifted kernels show.
ROW = (1, 2, 4, -3, 0.5, 2)
COLUMN = (0.5, 1.5, -1)


def correlated(plane, row, column, anchor_x=-1, anchor_y=-1, border="replicate", outside=0.0):
    """sum row[i] column[j] plane[y + j - anchor_y, x + i - anchor_x]."""
    mode = SCIPY_BORDERS[border]
    for axis, taps, anchor in ((1, row, anchor_x), (0, column, anchor_y)):
        middle = len(taps) // 2
        origin = (middle if anchor < 0 else anchor) - middle
        plane = scipy.ndimage.correlate1d(plane, taps, axis, mode=mode, cval=outside,
                                          origin=origin)
        outside *= sum(taps)
    return plane


def colour_codes(layout, argb):
    """Code values by role of 0xAARRGGBB."""
    alpha, red, green, blue = ((argb >> shift & 255) / 255 for shift in (24, 16, 8, 0))
    pixel = np.array([[[red, green, blue]]])
    codes = frames.components_of(pixel, layout.format.name, np.array([[alpha]]))
    return {role: float(plane[0, 0]) for role, plane in codes.items()}


def exact(layout, components, row, column, scale=1.0, bias=0.0, absolute=False,
          border_color=0xff000000, planes="luma+chroma+alpha", **where):
    """What the filter should make of code values by role, before rounding. Kernels must not sum
    to 0 where there is alpha."""
    form = layout.format
    colour = colour_codes(layout, border_color)
    alpha = weight = opaque = 1.0
    result = {}
    if "A" in components and "alpha" in planes:
        alpha = components["A"].astype(float)
        opaque = colour["A"]
        weight = correlated(alpha, row, column, outside=opaque, **where) / (sum(row) * sum(column))
        result["A"] = weight
    for role, plane in components.items():
        if ("chroma" if role in "UV" else "alpha" if role == "A" else "luma") not in planes:
            result[role] = plane.astype(float)
        elif role != "A":
            centre = float(1 << (form.bits - 1)) if role in "UV" else 0.0
            value = scale * correlated((plane - centre) * alpha, row, column,
                                       outside=(colour[role] - centre) * opaque, **where)
            value = value / np.where(weight > 0, weight, np.inf)
            if role not in "UV":
                value = bias * form.max_code + (np.abs(value) if absolute else value)
            result[role] = centre + value
    return result


def text(taps):
    return "<" + ",".join(repr(tap) for tap in taps) + ">"


def compare(tap, name, format_name, images, row, column, preset=None, alpha=None, **settings):
    """With a preset, `row` and `column` are what it should be."""
    height, width = images[0].shape[:2]
    layout = frames.Layout(format_name, width, height)
    inputs = [frames.components_of(image, format_name, alpha) for image in images]
    wanted = [exact(layout, components, row, column, **settings) for components in inputs]
    kernels = preset or [f"row-kernel={text(row)}", f"column-kernel={text(column)}"]
    properties = kernels + [f"{key.replace('_', '-')}={value}" for key, value in settings.items()]
    compare_outputs(tap, name, layout, inputs, wanted, properties)


def compare_outputs(tap, name, layout, inputs, wanted, properties, alike=difference):
    """`alike` tells how far an output is from what is wanted."""
    data = [layout.pack(components) for components in inputs]
    for backend in harness.backends():
        outputs = harness.filter_frames(
            layout, data, ["cudasepconv", f"backend={backend}", *properties])
        worst = max(alike(layout, layout.unpack(output), codes)
                    for output, codes in zip(outputs, wanted))
        # Rounding costs half a code value; cpu and cuda may be off by one from the rounded value.
        bound = 0.5 + 1e-6 if backend == "reference" else 1.5
        if "A" in inputs[0] and backend == "reference":
            bound = 1.0  # the rounded alpha weighs the colours' error
        tap.check(worst <= bound,
                  f"{name}: {layout.format.name} {' '.join(properties)} {backend}",
                  f"off by {worst:.3f} code values, allowed are {bound}")


def check_direction(tap):
    """Without scipy: a single bright sample shows where each tap lands."""
    layout = frames.Layout("GRAY8", 9, 7)
    picture = np.zeros((7, 9), np.int64)
    picture[3, 4] = 10
    wanted = np.zeros((7, 9), np.int64)
    # row-kernel[0] multiplies the sample on the left: the output right of the bright sample.
    wanted[3, 5], wanted[3, 4], wanted[3, 3] = 1 * 10, 2 * 10, 3 * 10
    rows = np.zeros((7, 9), np.int64)
    rows[4, 4], rows[3, 4], rows[2, 4] = 1 * 10, 2 * 10, 3 * 10
    for backend in harness.backends():
        for kernel, codes in (("row", wanted), ("column", rows)):
            output = harness.filter_frames(
                layout, [layout.pack({"Y": picture})],
                ["cudasepconv", f"backend={backend}", f"{kernel}-kernel=<1,2,3>"])[0]
            tap.check((layout.unpack(output)["Y"] == codes).all(),
                      f"{kernel}-kernel is a correlation: {backend}",
                      str(layout.unpack(output)["Y"]))


def pascal(size):
    return [math.comb(size - 1, i) for i in range(size)]


def presets(size):
    """Row and column of each preset, by the usual definitions."""
    box = [1 / size] * size
    binomial = [tap / 2 ** (size - 1) for tap in pascal(size)]
    sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8
    gaussian = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
    gaussian = list(gaussian / gaussian.sum())
    derivative = np.convolve(np.array(pascal(size - 1), float), [-1, 1])
    derivative = list(derivative / np.abs(derivative).sum())
    sharpen = [-tap for tap in binomial]
    sharpen[size // 2] += 2
    return {"box": (box, box), "binomial": (binomial, binomial), "gaussian": (gaussian, gaussian),
            "sharpen": (sharpen, sharpen), "sobel-x": (derivative, binomial),
            "sobel-y": (binomial, derivative)}


def unsharp(components, size, amount, threshold, form):
    """Code values of unsharp masking, before rounding."""
    taps = presets(size)["gaussian"][0]
    result = {}
    for role, plane in components.items():
        more = plane - correlated(plane.astype(float), taps, taps)
        result[role] = plane + amount * np.where(np.abs(more) > threshold * form.max_code, more, 0)
    return result


def nearest(layout, got, sides):
    """As difference(), from the nearer side of each sample."""
    clipped = [{role: np.clip(plane, 0, layout.format.max_code) for role, plane in side.items()}
               for side in sides]
    return difference(layout, got, {
        role: np.where(np.abs(got[role] - one) < np.abs(got[role] - clipped[1][role]), one,
                       clipped[1][role]) for role, one in clipped[0].items()})


def check_unsharp(tap, images):
    """A sample that is as far from its mean as the threshold may be on either side of it."""
    height, width = images[0].shape[:2]
    for format_name in ("GRAY8", "NV12", "I420_10LE", "RGB", "GRAY16_LE"):
        layout = frames.Layout(format_name, width, height)
        inputs = [frames.components_of(image, format_name) for image in images]
        for size, amount, threshold in ((5, 1, 0), (3, 0.5, 0), (9, 2.5, 0.0301), (31, 1, 0.01003),
                                        (255, 10, 0)):
            wanted = [[unsharp(components, size, amount, threshold + doubt, layout.format)
                       for doubt in (-1e-6, 1e-6)] for components in inputs]
            compare_outputs(tap, "unsharp", layout, inputs, wanted,
                            ["preset=unsharp", f"preset-size={size}", f"amount={amount}",
                             f"threshold={threshold}"], nearest)


def check_opencv(tap, image):
    """As everybody writes it: addWeighted(image, 1 + amount, GaussianBlur(image), -amount, 0)."""
    if not importlib.util.find_spec("cv2"):
        tap.skip("unsharp beside OpenCV", "python3 lacks cv2")
        return
    import cv2

    height, width = image.shape[:2]
    layout = frames.Layout("RGB", width, height)
    components = frames.components_of(image, "RGB")
    pixels = np.stack([components[role] for role in "RGB"], -1).astype(np.float32)
    for size, amount in ((5, 1.0), (9, 1.5), (31, 0.6)):
        soft = cv2.GaussianBlur(pixels, (size, size), 0.3 * ((size - 1) * 0.5 - 1) + 0.8,
                                borderType=cv2.BORDER_REFLECT_101)
        sharp = cv2.addWeighted(pixels, 1 + amount, soft, -amount, 0)
        compare_outputs(tap, "unsharp beside OpenCV", layout, [components],
                        [{role: sharp[..., c].astype(float) for c, role in enumerate("RGB")}],
                        ["preset=unsharp", f"preset-size={size}", f"amount={amount}",
                         "border=reflect-101"])


def run(tap):
    photographs = [frames.photograph(name) for name in frames.PHOTOGRAPHS]
    crops = [frames.cropped(image, 301, 199) for image in photographs]
    small = [frames.shrunk(image, 23, 17) for image in photographs]

    check_direction(tap)
    for format_name in ("GRAY8", "GRAY16_LE", "I420", "NV12", "Y42B", "YUY2", "P010_10LE", "RGB",
                        "RGBA"):
        compare(tap, "asymmetric", format_name, crops, ROW, COLUMN, scale=0.15)
    for format_name in ("GRAY8", "NV12", "RGB"):
        compare(tap, "signed", format_name, crops, (-1, 0, 1), (1, 2, 1), scale=0.5, bias=0.5)
        compare(tap, "magnitude", format_name, crops, (-1, 0, 1), (1, 2, 1), absolute=True,
                bias=0.1)
        for planes in ("luma", "chroma"):
            compare(tap, "planes", format_name, crops, ROW, COLUMN, scale=0.15, planes=planes)
        for border in SCIPY_BORDERS:
            compare(tap, "border", format_name, small, ROW, COLUMN, scale=0.15, border=border)
    # Tells every component from every other one.
    for format_name in frames.FORMATS:
        compare(tap, "border colour", format_name, small, (1, 2, 3, 4, 5), (1, 1, 1), scale=1 / 45,
                border="constant", border_color=0xff2080f0)
    for anchor_x, anchor_y in ((0, 0), (5, 2), (1, 0), (0, 2)):
        compare(tap, "anchor", "I420", crops, ROW, COLUMN, scale=0.15, anchor_x=anchor_x,
                anchor_y=anchor_y)
    wide = [1 + i % 7 for i in range(129)]
    total = sum(wide)
    compare(tap, "129 taps", "RGB", crops, wide, wide, scale=1 / total ** 2)
    compare(tap, "255 taps on a small picture", "RGB", small, [0] * 17 + [1] * 238, (1,),
            scale=1 / 238, border="reflect-101")

    transparency = np.linspace(0, 1, 23)[None, :] * (np.arange(17)[:, None] % 7 > 1)
    for format_name in ("RGBA", "AYUV"):
        compare(tap, "transparent", format_name, small, (1, 2, 4, 8), (3, 1, 1), alpha=transparency)

    check_unsharp(tap, crops[:2])
    check_opencv(tap, crops[0])

    layout = frames.Layout("RGB", 301, 199)
    inputs = [frames.components_of(image, "RGB") for image in crops[:2]]
    for size in (3, 5, 9, 21, 255):
        for preset, (row, column) in presets(size).items():
            for absolute in (False, True):
                grey = 0.5 if preset.startswith("sobel") and not absolute else 0.0
                wanted = [exact(layout, components, row, column, bias=grey, absolute=absolute)
                          for components in inputs]
                compare_outputs(tap, "preset", layout, inputs, wanted,
                                [f"preset={preset}", f"preset-size={size}",
                                 f"absolute={absolute}"])

    wanted = [exact(layout, components, [tap / sum(ROW) for tap in ROW],
                    [tap / sum(COLUMN) for tap in COLUMN]) for components in inputs]
    compare_outputs(tap, "normalize", layout, inputs, wanted,
                    [f"row-kernel={text(ROW)}", f"column-kernel={text(COLUMN)}", "normalize=true"])
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
