# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws every preset and recipe, before and after, for docs/gallery.md. Presets are read from
presets/, recipes from the tables in docs/elements/."""
import configparser
import dataclasses
import importlib.util
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import PIL.Image

import hdr_picture
from photographs import photograph

ROOT = pathlib.Path(__file__).resolve().parents[1]
ELEMENTS = ("cudallf", "cudagaussblur", "cudablockavg")
RECIPES = re.compile(r"^\| (?:for|to start from) \| settings \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.M)
SIZE = (288, 192)

# Recipes whose settings are described in words.
IN_WORDS = {
    "the look of shaders with few levels": "alpha=0.4 levels=3",
    "dark or bright detail grown": "mode=max block-width=4 block-height=4",
}


@dataclasses.dataclass(frozen=True)
class Look:
    element: str
    name: str
    settings: str
    note: str = ""  # comment of a preset


def presets(element):
    """The presets of an element, in the order of its file."""
    parser = configparser.RawConfigParser()
    for path in ROOT.glob("presets/*.prs"):
        if path.stem.lower() == f"gst{element}":
            parser.read(path, encoding="utf-8")
    return [Look(element, name, f"@preset={name}", parser[name]["_meta/comment"])
            for name in parser.sections() if name != "_presets_"]


def recipes(element):
    """The recipes of an element, from the table in its page."""
    page = (ROOT / f"docs/elements/{element}.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in RECIPES.search(page)[1].splitlines()]
    return [Look(element, name, IN_WORDS.get(name, settings.strip("`").replace('"', "")))
            for name, settings in rows]


# Scenes: real photographs; those about detail are shown unscaled

def fitted(picture, box=None):
    """The part `box` (left, top, right, bottom), cropped to the aspect of SIZE and scaled to it."""
    image = PIL.Image.fromarray(picture)
    image = image.crop(box) if box else image
    width, height = image.size
    high = min(height, round(width * SIZE[1] / SIZE[0]))
    wide = round(high * SIZE[0] / SIZE[1])
    left, top = (width - wide) // 2, (height - high) // 2
    return np.asarray(image.crop((left, top, left + wide, top + high)).resize(
        SIZE, PIL.Image.LANCZOS))


def disparity():
    """Disparity of the photograph of a motorcycle: near is large. Where unknown, the farthest."""
    package = importlib.util.find_spec("skimage")
    data = np.load(pathlib.Path(package.submodule_search_locations[0], "data/motorcycle_disp.npz"))
    values = data[data.files[0]]
    return np.where(np.isfinite(values), values, np.nanmin(values))


def in_fog():
    """Haze by the scene's depth (Koschmieder's model)."""
    picture = photograph("motorcycle_left.png").astype(float)
    clear = np.exp(-16.0 / disparity())[..., None]
    return (picture * clear * 0.8 + 190 * (1 - clear * 0.8)).astype(np.uint8)


def noisy(picture):
    """Noise of a small sensor indoors."""
    added = np.random.default_rng(9).normal(0.0, 4.0, picture.shape)
    return np.clip(picture + added + 0.5, 0, 255).astype(np.uint8)


def panorama(name, box):
    """A part (left, top, width, height) as SDR, clipped at white."""
    nits = hdr_picture.light(name, box)
    return fitted((255 * np.clip(nits / 100, 0, 1) ** (1 / 2.4) + 0.5).astype(np.uint8))


def scene_of(look):
    words = f"{look.name} {look.settings}"
    if re.search(r"portrait|skin|face|cartoon", words):
        return fitted(photograph("astronaut.png"), (80, 10, 368, 202))
    if "fog" in words:
        return fitted(in_fog())
    if "@preset=landscape" in words and not hdr_picture.missing():
        return panorama("sunrise", (240, 150, *SIZE))
    if re.search(r"hdr|shadows|more detail", words) and not hdr_picture.missing():
        return panorama("sunset", (200, 120, 480, 320))
    if re.search(r"night|hdr|shadows|more detail|landscape\b", words):
        return fitted(photograph("rocket.jpg"), (200, 224, 488, 416))
    if "screen" in words:
        return fitted(photograph("page.png"), (0, 0, 288, 191))
    if re.search(r"tilt|depth|map-mode", words):
        return fitted(photograph("motorcycle_left.png"))
    if re.search(r"text|tiles|look at every|lines|clock", words):
        return fitted(photograph("coffee.png"))
    cat = fitted(photograph("chelsea.png"), (100, 40, 388, 232))
    return noisy(cat) if re.search(r"noisy|quiet", words) else cat


def write_maps(folder):
    """Maps of the motorcycle: depth.png, where far is white, and matte.png, where near is white."""
    near = fitted(np.repeat(disparity().astype(np.uint8)[..., None], 3, -1))[..., 0].astype(float)
    near = (near - near.min()) / (near.max() - near.min())
    for name, values in (("depth.png", 1 - near), ("matte.png", near > 0.5)):
        PIL.Image.fromarray((values * 255).astype(np.uint8)).save(pathlib.Path(folder, name))


def has(element):
    return subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode == 0


def drawn(look, filtered):
    """The pictures (before, after) of a look."""
    scene = scene_of(look)
    with tempfile.TemporaryDirectory() as folder:
        settings = look.settings
        if "map-location" in settings:
            write_maps(folder)
            settings = settings.replace("map-location=", f"map-location={folder}/")
        if re.search(r"roi-types|face-mask", settings):
            detector = ("! video/x-raw,format=RGB ! facedetect display=false min-size-width=50 "
                        "min-size-height=50 !")
            return scene, filtered(
                scene, f"{detector} {look.element} {settings} ! videoconvert ! "
                "video/x-raw,format=RGBx", "videoconvert")
        return scene, filtered(scene, settings, look.element)


def draw(directory, filtered, sheet):
    """The functions `filtered` and `sheet` of tools/gallery."""
    os.environ.setdefault("GST_PRESET_PATH", str(ROOT / "presets"))
    sets = {f"presets-{element}": presets(element) for element in ELEMENTS if presets(element)}
    sets.update({f"recipes-{element}": recipes(element) for element in ELEMENTS})
    for name, looks in sets.items():
        left_out = [] if has("facedetect") else [
            look for look in looks if re.search(r"roi-types|face-mask", look.settings)]
        pairs = [(look, *drawn(look, filtered)) for look in looks if look not in left_out]
        rows = [pairs[first:first + 2] for first in range(0, len(pairs), 2)]
        pictures, captions = [], []
        for row in rows:
            pictures.append([picture for _look, *both in row for picture in both])
            captions.append([text for look, *_both in row
                             for text in (look.name, look.note or look.settings)])
            while len(pictures[-1]) < 4:
                pictures[-1].append(np.full_like(pictures[0][0], 255))
                captions[-1].append("")
        sheet(pictures, captions).save(
            directory / f"gallery-{name}.jpg", quality=62, optimize=True)
        for look in left_out:
            print(f"{look.name} is not drawn: facedetect, of GStreamer's opencv plugin, is missing")
