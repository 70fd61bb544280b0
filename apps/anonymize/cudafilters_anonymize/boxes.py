# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boxes in pixels, and detections in them."""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Box:
    """Top left corner and size, in pixels; may reach beyond the picture."""
    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self):
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def area(self):
        return self.width * self.height

    @property
    def size(self):
        return math.sqrt(self.area)

    def moved(self, dx, dy):
        return Box(self.x + dx, self.y + dy, self.width, self.height)

    def scaled(self, factor):
        """The box with all coordinates multiplied by `factor`."""
        return Box(self.x * factor, self.y * factor, self.width * factor, self.height * factor)

    def grown(self, fraction):
        """The box with a margin on each side: this fraction of its size."""
        dx, dy = self.width * fraction, self.height * fraction
        return Box(self.x - dx, self.y - dy, self.width + 2 * dx, self.height + 2 * dy)

    def union(self, other):
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.x + self.width, other.x + other.width) - x,
                   max(self.y + self.height, other.y + other.height) - y)

    def overlap(self, other):
        """The area of the intersection."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(width, 0) * max(height, 0)

    def iou(self, other):
        common = self.overlap(other)
        return common / max(self.area + other.area - common, 1e-9)

    def within(self, width, height):
        """The fraction of the box that lies in a picture of this size."""
        return self.overlap(Box(0, 0, width, height)) / max(self.area, 1e-9)


def around(centre, width, height):
    return Box(centre[0] - width / 2, centre[1] - height / 2, width, height)


# Source of a detection: the detector, or optical flow from a frame with a detection.
DETECTED, FOLLOWED = "detected", "followed"


@dataclasses.dataclass(frozen=True)
class Detection:
    """A detected box in pixels of the upright picture; confidence 0..1."""
    box: Box
    confidence: float
    source: str = DETECTED
    kind: str = "face"
