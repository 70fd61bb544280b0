# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element that covers faces, and its property `regions` for a frame."""
import dataclasses
import math

from . import media
from .boxes import Box
from .errors import USAGE, Problem

MASKS = ("blur", "mosaic", "fill")
SHAPES = ("ellipse", "rectangle")
# In a list of boxes: the whole frame.
WHOLE = object()


@dataclasses.dataclass(frozen=True)
class Mask:
    """kind: of MASKS; shape: of SHAPES; expand, feather, blocks_across, sigma_relative, fill_color,
    backend: as the properties of the elements."""
    kind: str = "blur"
    shape: str = "ellipse"
    expand: float = 0.25
    feather: float = 0.0
    blocks_across: int = 5
    sigma_relative: float = 0.25
    fill_color: int = 0xFF000000
    backend: str = "auto"

    def element(self):
        name = "cudagaussblur" if self.kind == "blur" else "cudablockavg"
        element = media.Gst.ElementFactory.make(name, "mask")
        if not element:
            raise Problem(f"GStreamer does not find the element {name}: install gst-cuda-filters, "
                          "or set GST_PLUGIN_PATH to the folder of libgstcudafilters.so")
        settings = {"roi-mode": "inside", "roi-shape": self.shape, "roi-expand": self.expand,
                    "roi-feather": self.feather, "backend": self.backend, "qos": False}
        if self.kind == "blur":
            settings["sigma-relative"] = self.sigma_relative
        elif self.kind == "mosaic":
            settings |= {"blocks-across": self.blocks_across, "anchor": "region"}
        else:
            if not element.find_property("fill-color"):
                raise Problem("--mask fill needs a cudablockavg with mode=fill, which this version "
                              "has not; take --mask mosaic, or install a newer gst-cuda-filters",
                              USAGE)
            settings |= {"mode": "fill", "fill-color": self.fill_color}
        for setting, value in settings.items():
            if isinstance(value, str):
                media.Gst.util_set_object_arg(element, setting, value)
            else:
                element.set_property(setting, value)
        return element

    def whole(self, width, height):
        """A box whose region, ellipse or not, covers a whole frame of this size."""
        if self.shape == "rectangle":
            return Box(0, 0, width, height)
        grow = (math.sqrt(2) - 1) / 2 + 0.01
        return Box(0, 0, width, height).grown(grow)


def as_text(boxes):
    """The value of the property `regions`: boxes rounded outwards to whole pixels."""
    words = []
    for box in boxes:
        x, y = math.floor(box.x), math.floor(box.y)
        width, height = math.ceil(box.x + box.width) - x, math.ceil(box.y + box.height) - y
        words.append(f"{x},{y},{max(width, 1)},{max(height, 1)}")
    return ";".join(words)
