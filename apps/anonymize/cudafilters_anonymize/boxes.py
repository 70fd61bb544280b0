# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rectangles in pixels, and what was seen in them."""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Box:
    """Top left corner and size, in pixels; it may reach over the edges of the picture."""
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
        """All coordinates times `factor`."""
        return Box(self.x * factor, self.y * factor, self.width * factor, self.height * factor)

    def grown(self, fraction):
        """With this fraction of its size added on each side."""
        dx, dy = self.width * fraction, self.height * fraction
        return Box(self.x - dx, self.y - dy, self.width + 2 * dx, self.height + 2 * dy)

    def union(self, other):
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.x + self.width, other.x + other.width) - x,
                   max(self.y + self.height, other.y + other.height) - y)

    def overlap(self, other):
        """The area that both cover."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(width, 0) * max(height, 0)

    def iou(self, other):
        common = self.overlap(other)
        return common / max(self.area + other.area - common, 1e-9)

    def within(self, width, height):
        """The share of it that lies in a picture of this size."""
        return self.overlap(Box(0, 0, width, height)) / max(self.area, 1e-9)


def around(centre, width, height):
    return Box(centre[0] - width / 2, centre[1] - height / 2, width, height)


# Where a detection comes from: a detector saw it, or optical flow followed it from frames where
# the detector did.
DETECTED, FOLLOWED = "detected", "followed"


@dataclasses.dataclass(frozen=True)
class Detection:
    """A box that something was seen in, in pixels of the upright picture; confidence 0..1."""
    box: Box
    confidence: float
    source: str = DETECTED
    kind: str = "face"
