# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can be dragged on the picture, in its pixels: regions, and the centre, distances and angle
of a drawn blur map. No GTK here: a handle is a point with a name, and what moving it sets."""
import dataclasses
import math

DRAWN_MAPS = ("radial", "linear")
LEAST = 4  # least side of a region, in pixels


@dataclasses.dataclass(frozen=True)
class Region:
    x: int
    y: int
    width: int
    height: int

    @property
    def corners(self):
        right, bottom = self.x + self.width, self.y + self.height
        return ((self.x, self.y), (right, self.y), (self.x, bottom), (right, bottom))

    def holds(self, x, y):
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def parse_regions(text):
    """The regions in a value of the property `regions`; skips those that are not valid."""
    found = []
    for part in text.split(";"):
        try:
            x, y, width, height = (int(number) for number in part.split(","))
        except ValueError:
            continue
        found.append(Region(x, y, width, height))
    return found


def format_regions(regions):
    return ";".join(f"{region.x},{region.y},{region.width},{region.height}" for region in regions)


def spanned(start, end):
    """The region with these two corners."""
    (x0, y0), (x1, y1) = start, end
    return Region(round(min(x0, x1)), round(min(y0, y1)), max(round(abs(x1 - x0)), LEAST),
                  max(round(abs(y1 - y0)), LEAST))


def moved(region, dx, dy):
    return dataclasses.replace(region, x=round(region.x + dx), y=round(region.y + dy))


def resized(region, corner, to):
    """The region with a corner moved; `corner` is an index into Region.corners."""
    return spanned(region.corners[3 - corner], to)


@dataclasses.dataclass(frozen=True)
class Map:
    """The drawn map of cudagaussblur; lengths are fractions of the picture's width."""
    mode: str
    x: float
    y: float
    inner: float
    outer: float
    angle: float  # degrees, clockwise

    def centre(self, width, height):
        return self.x * width, self.y * height

    def direction(self):
        """The direction of the line of a linear map."""
        angle = math.radians(self.angle)
        return math.cos(angle), math.sin(angle)

    def handles(self, width, height):
        """{name: point}. Handles of distances are right of the centre, or below the line."""
        cx, cy = self.centre(width, height)
        along = self.direction()
        across = (1.0, 0.0) if self.mode == "radial" else (-along[1], along[0])
        points = {"centre": (cx, cy)}
        for name, distance in (("inner", self.inner), ("outer", self.outer)):
            points[name] = (cx + across[0] * distance * width, cy + across[1] * distance * width)
        if self.mode == "linear":
            points["angle"] = (cx + along[0] * 0.25 * width, cy + along[1] * 0.25 * width)
        return points

    def dragged(self, name, to, width, height):
        """{property: value} for the handle `name` moved to `to`."""
        cx, cy = self.centre(width, height)
        dx, dy = to[0] - cx, to[1] - cy
        if name == "centre":
            return {"map-x": round(min(max(to[0] / width, 0.0), 1.0), 4),
                    "map-y": round(min(max(to[1] / height, 0.0), 1.0), 4)}
        if name == "angle":
            return {"map-angle": round(math.degrees(math.atan2(dy, dx)), 1)}
        if self.mode == "radial":
            distance = math.hypot(dx, dy)
        else:
            along = self.direction()
            distance = abs(dy * along[0] - dx * along[1])
        return {f"map-{name}": round(min(distance / width, 1.0), 4)}


def map_of(values):
    """The radial or linear map of these property values, or None."""
    if values.get("map-mode") not in DRAWN_MAPS:
        return None
    return Map(values["map-mode"], *(values[f"map-{name}"]
                                     for name in ("x", "y", "inner", "outer", "angle")))
