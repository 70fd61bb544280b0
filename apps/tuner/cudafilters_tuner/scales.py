# SPDX-License-Identifier: LGPL-2.1-or-later
"""Between the place of a slider, 0..1, and a value in minimum..maximum.

The scales are those of the parameter tables: linear; log, where the same way multiplies by the same
factor; square, where the value goes by the square of the way from 0 and keeps its sign.
"""
import math

NAMES = ("linear", "log", "square")


def _bend(scale, value):
    if scale == "log":
        return math.log(value)
    if scale == "square":
        return math.copysign(math.sqrt(abs(value)), value)
    return value


def _unbend(scale, bent):
    if scale == "log":
        return math.exp(bent)
    if scale == "square":
        return math.copysign(bent * bent, bent)
    return bent


def usable(scale, minimum):
    """`scale`, or linear for a log scale whose range includes 0 or less."""
    return "linear" if scale not in NAMES or (scale == "log" and minimum <= 0) else scale


def place(scale, minimum, maximum, value):
    """The position of `value` on the slider; values beyond it are at its ends."""
    low, high = _bend(scale, minimum), _bend(scale, maximum)
    value = min(max(value, minimum), maximum)
    return (_bend(scale, value) - low) / (high - low)


def value_at(scale, minimum, maximum, where):
    low, high = _bend(scale, minimum), _bend(scale, maximum)
    value = _unbend(scale, low + (high - low) * min(max(where, 0.0), 1.0))
    return min(max(value, minimum), maximum)


def tidy(value, span, step=0.0, start=0.0):
    """`value` rounded to the resolution of a slider over `span`, or to steps from `start`."""
    if step:
        return start + step * round((value - start) / step)
    digits = 2 - math.floor(math.log10(span)) if span > 0 else 3
    if value:
        digits = max(digits, 1 - math.floor(math.log10(abs(value))))
    return round(value, digits)
