#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudagaussblur through real pipelines against scipy, on photographs."""
import math

import numpy as np
import scipy.ndimage

import frames
import harness

SCIPY_BORDERS = {"replicate": "nearest", "reflect": "reflect", "reflect-101": "mirror",
                 "wrap": "wrap", "constant": "constant"}
FORMATS = ("GRAY8", "GRAY16_LE", "I420", "NV12", "UYVY", "P010_10LE", "RGB", "RGBA")


def blurred(plane, sigmas, border="replicate", outside=0.0):
    """scipy's Gaussian with the project's radius, vertically by sigmas[0], then by sigmas[1].
    Negative sigma sharpens: the taps 2 delta - g."""
    for axis, sigma in enumerate(sigmas):
        if sigma == 0:
            continue
        radius = math.ceil(4 * abs(sigma))
        smooth = scipy.ndimage.gaussian_filter1d(
            plane, abs(sigma), axis, mode=SCIPY_BORDERS[border], cval=outside,
            truncate=radius / abs(sigma))
        plane = smooth if sigma > 0 else 2 * plane - smooth
    return plane


def exact(layout, components, sigma, sigma_vertical=None, border="replicate"):
    """What the filter should make of code values by role, before rounding."""
    form = layout.format
    vertical = abs(sigma) if sigma_vertical is None else sigma_vertical
    vertical = math.copysign(vertical, sigma) if sigma else vertical
    limited = not form.is_rgb and form.roles != ["Y"]
    unit = 1 << (form.bits - 8)
    result = {}
    for role, plane in components.items():
        sub_x, sub_y = form.subsampling(role)
        sigmas = (vertical / (1 << sub_y), sigma / (1 << sub_x))
        black = 128.0 * unit if role in "UV" else 16.0 * unit if role == "Y" and limited else 0.0
        opaque = float(form.max_code)
        if role == "A":
            result[role] = blurred(plane.astype(float), sigmas, border, opaque)
        elif "A" in form.roles:
            # (plane - centre) is what is premultiplied; black is centre + 0 in every role here.
            alpha = components["A"].astype(float)
            weight = blurred(alpha, sigmas, border, opaque)
            premultiplied = blurred((plane - black) * alpha, sigmas, border, 0.0)
            result[role] = black + premultiplied / np.where(weight > 0, weight, 1.0)
        else:
            result[role] = blurred(plane.astype(float), sigmas, border, black)
    return result


def difference(layout, output, wanted):
    """The largest difference in code values; that of colours is weighted by alpha."""
    top = layout.format.max_code
    worst = 0.0
    for role, plane in wanted.items():
        error = np.abs(output[role] - np.clip(plane, 0, top))
        if role != "A" and "A" in wanted:
            error = error * output["A"] / top
        worst = max(worst, error.max())
    return worst


def compare(tap, name, format_name, images, width, height, alpha=None, **settings):
    layout = frames.Layout(format_name, width, height)
    inputs = [frames.components_of(image, format_name, alpha) for image in images]
    data = [layout.pack(components) for components in inputs]
    properties = [f"{key.replace('_', '-')}={value}" for key, value in settings.items()]
    wanted = [exact(layout, components, **settings) for components in inputs]
    for backend in harness.backends():
        outputs = harness.filter_frames(
            layout, data, ["cudagaussblur", f"backend={backend}", *properties])
        worst = max(difference(layout, layout.unpack(output), codes)
                    for output, codes in zip(outputs, wanted))
        # Rounding costs half a code value; cpu and cuda may be off by one from the rounded value.
        bound = 0.5 + 1e-6 if backend == "reference" else 1.5
        if alpha is not None and backend == "reference":
            bound = 1.0  # the rounded alpha weighs the colours' error
        tap.check(worst <= bound,
                  f"{name}: {format_name} {width}x{height} {' '.join(properties)} {backend}",
                  f"off by {worst:.3f} code values, allowed are {bound}")


def run(tap):
    photographs = [frames.photograph(name) for name in frames.PHOTOGRAPHS]
    crops = [frames.cropped(image, 301, 199) for image in photographs]
    small = [frames.shrunk(image, 61, 43) for image in photographs]
    tiny = [frames.shrunk(image, 7, 5) for image in photographs]

    for format_name in FORMATS:
        for sigma in (0.6, 2, 3.9, 7, 30):
            compare(tap, "photographs", format_name, crops, 301, 199, sigma=sigma)
        compare(tap, "sharpened", format_name, crops, 301, 199, sigma=-2.5)
    for border in SCIPY_BORDERS:
        for format_name in ("GRAY8", "NV12", "RGBA"):
            for sigma in (1.5, 12):
                compare(tap, "border", format_name, small, 61, 43, sigma=sigma, border=border)
        compare(tap, "kernel beyond the picture", "RGB", tiny, 7, 5, sigma=9, border=border)
    compare(tap, "one direction", "I420", crops, 301, 199, sigma=6, sigma_vertical=0)
    compare(tap, "one direction", "I420", crops, 301, 199, sigma=0, sigma_vertical=6)
    compare(tap, "two sigmas", "RGB", crops, 301, 199, sigma=1, sigma_vertical=14)
    compare(tap, "largest sigma", "RGB", small, 61, 43, sigma=250)

    transparency = np.linspace(0, 1, 61)[None, :] * (np.arange(43)[:, None] % 7 > 1)
    for format_name in ("RGBA", "ARGB", "AYUV"):
        for sigma in (1.5, 8):
            compare(tap, "transparent", format_name, small, 61, 43, transparency, sigma=sigma)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
