#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudablockavg through real pipelines against exact integer arithmetic, on photographs."""
import numpy as np

import frames
import harness

def block_numbers(form, role, rows, columns, block_width, block_height):
    """The block of each sample: that of its top-left luma pixel."""
    sub_x, sub_y = form.subsampling(role)
    across = (np.arange(columns) << sub_x) // block_width
    down = (np.arange(rows) << sub_y) // block_height
    return down[:, None] * (across[-1] + 1) + across[None, :]


def reduced(plane, blocks, mode):
    """Of each block the sum, or the smallest or largest sample, at every sample of it."""
    if mode == "average":  # sums stay far below 2^53, so doubles are exact
        return np.bincount(blocks.ravel(), plane.ravel()).astype(np.int64)[blocks]
    smallest = mode == "min"
    result = np.full(blocks.max() + 1, plane.max() if smallest else plane.min())
    (np.minimum if smallest else np.maximum).at(result, blocks, plane)
    return result[blocks]


def half_up(numerator, denominator):
    return (2 * numerator + denominator) // (2 * denominator)


def exact(layout, components, block_width=32, block_height=32, mode="average"):
    """Code values by role. Colours are averaged premultiplied where there is alpha."""
    result = {}
    for role, plane in components.items():
        blocks = block_numbers(layout.format, role, *plane.shape, block_width, block_height)
        values = reduced(plane, blocks, mode)
        if mode == "average":
            alpha = components["A"] if role != "A" and "A" in components else np.ones_like(plane)
            centre = 1 << (layout.format.bits - 1) if role in "UV" else 0
            weight = reduced(alpha, blocks, mode)
            values = centre + half_up(reduced((plane - centre) * alpha, blocks, mode),
                                      np.maximum(weight, 1))
        result[role] = values
    return result


def compare(tap, name, format_name, images, alpha=None, **settings):
    height, width = images[0].shape[:2]
    layout = frames.Layout(format_name, width, height)
    inputs = [frames.components_of(image, format_name, alpha) for image in images]
    data = [layout.pack(components) for components in inputs]
    properties = [f"{key.replace('_', '-')}={value}" for key, value in settings.items()]
    wanted = [exact(layout, components, **settings) for components in inputs]
    for backend in harness.backends():
        outputs = harness.filter_frames(
            layout, data, ["cudablockavg", f"backend={backend}", *properties])
        wrong = []
        for output, codes in zip(outputs, wanted):
            output = layout.unpack(output)
            for role, plane in codes.items():
                if not (output[role] == plane).all():
                    off = np.abs(output[role] - plane)
                    wrong.append(f"{role}: {(off > 0).sum()} of {off.size} samples, by up to "
                                 f"{off.max()}")
        tap.check(not wrong, f"{name}: {format_name} {width}x{height} {' '.join(properties)} "
                  f"{backend}", "\n".join(wrong))


def run(tap):
    photographs = [frames.photograph(name) for name in frames.PHOTOGRAPHS]
    crops = [frames.cropped(image, 301, 199) for image in photographs]

    for format_name in ("GRAY8", "GRAY16_LE", "I420", "NV12", "Y42B", "YUY2", "P010_10LE", "RGB",
                        "BGRx", "GBR"):
        for block_width, block_height in ((2, 2), (7, 5), (16, 16), (32, 32), (64, 9), (3, 300)):
            compare(tap, "mean", format_name, crops, block_width=block_width,
                    block_height=block_height)
    for format_name in ("GRAY8", "NV12", "RGB", "GRAY16_LE"):
        for mode in ("min", "max"):
            compare(tap, mode, format_name, crops, block_width=13, block_height=6, mode=mode)
    compare(tap, "one block", "I420", crops, block_width=4096, block_height=4096)
    compare(tap, "defaults", "RGB", crops)
    for block in (1, 7, 32):
        compare(tap, "opaque", "RGBA", crops, block_width=block, block_height=block)

    transparency = np.linspace(0, 1, 301)[None, :] * (np.arange(199)[:, None] % 37 > 11)
    for format_name in ("RGBA", "ABGR", "AYUV"):
        for block in (7, 32):
            compare(tap, "transparent", format_name, crops, transparency, block_width=block,
                    block_height=block)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
