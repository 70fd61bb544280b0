# SPDX-License-Identifier: LGPL-2.1-or-later
"""The blur map as a small picture of 0..1, to lay over the frame: 1 is sigma, 0 is sigma-min."""
import math

COLUMNS = 96


def size_for(width, height):
    columns = min(COLUMNS, width)
    return columns, max(1, round(columns * height / width))


def drawn(shape, width, height):
    """The rows of a radial or linear map for a frame of this size."""
    columns, rows = size_for(width, height)
    cx, cy = shape.centre(width, height)
    along = shape.direction()
    result = []
    for row in range(rows):
        dy = (row + 0.5) * height / rows - cy
        for column in range(columns):
            dx = (column + 0.5) * width / columns - cx
            distance = (math.hypot(dx, dy) if shape.mode == "radial"
                        else abs(dy * along[0] - dx * along[1])) / width
            span = shape.outer - shape.inner
            result.append(min(max((distance - shape.inner) / span, 0.0), 1.0) if span > 0
                          else float(distance >= shape.inner))
    return columns, rows, result


def of_frame(mode, data, stride, width, height):
    """The map from the luma or alpha of a frame in BGRA."""
    columns, rows = size_for(width, height)
    result = []
    for row in range(rows):
        line = int((row + 0.5) * height / rows) * stride
        for column in range(columns):
            at = line + 4 * int((column + 0.5) * width / columns)
            blue, green, red, alpha = data[at:at + 4]
            result.append(alpha / 255 if mode == "alpha"
                          else (0.114 * blue + 0.587 * green + 0.299 * red) / 255)
    return columns, rows, result


def of_file(path, width, height):
    """The map of a PNG, PGM or PPM file; None if it cannot be read."""
    from gi.repository import GdkPixbuf, GLib
    columns, rows = size_for(width, height)
    try:
        picture = GdkPixbuf.Pixbuf.new_from_file_at_scale(path, columns, rows, False)
    except GLib.Error:
        return None
    data, stride, channels = picture.get_pixels(), picture.get_rowstride(), picture.get_n_channels()
    result = []
    for row in range(rows):
        for column in range(columns):
            at = row * stride + column * channels
            red, green, blue = data[at:at + 3]
            result.append((0.299 * red + 0.587 * green + 0.114 * blue) / 255)
    return columns, rows, result


def tint(values, invert):
    """R8G8B8A8 bytes, not premultiplied: the redder, the more blur."""
    amounts = (1.0 - value if invert else value for value in values)
    return b"".join(bytes((220, 30, 40, round(150 * amount))) for amount in amounts)
