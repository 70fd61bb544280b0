# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rectangles in pixels, detections, and the ways in which a picture may lie in its file."""
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


@dataclasses.dataclass(frozen=True)
class Orientation:
    """How a stored picture becomes upright: mirrored left to right first, where `mirrored`, then
    turned clockwise by `quarters` right angles."""
    mirrored: bool = False
    quarters: int = 0

    def upright_size(self, width, height):
        return (height, width) if self.quarters % 2 else (width, height)

    def to_stored(self, box, width, height):
        """A box of the upright picture in the stored picture, which has this width and height."""
        if self.quarters == 1:
            box = Box(box.y, height - box.x - box.width, box.height, box.width)
        elif self.quarters == 2:
            box = Box(width - box.x - box.width, height - box.y - box.height, box.width,
                      box.height)
        elif self.quarters == 3:
            box = Box(width - box.y - box.height, box.x, box.height, box.width)
        if self.mirrored:
            box = Box(width - box.x - box.width, box.y, box.width, box.height)
        return box


def orientation_of_tag(text):
    """Of GStreamer's tag image-orientation: rotate-90, flip-rotate-180 and so on."""
    angle = text.rpartition("-")[2]
    if angle not in ("0", "90", "180", "270"):
        return Orientation()
    return Orientation(text.startswith("flip-"), int(angle) // 90)
