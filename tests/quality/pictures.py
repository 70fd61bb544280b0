# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of docs/reference/quality.md: the clips, and what methods make of them."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont

import clips
import methods

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gallery"
COLOURS = (130, 130, 130), (20, 90, 200), (120, 60, 180), (200, 60, 30), (90, 150, 60)


def loaded(path):
    """tools/gallery, which is a program and not named as a module."""
    sys.dont_write_bytecode = True  # not beside it
    loader = importlib.machinery.SourceFileLoader("gallery", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gallery", loader))
    loader.exec_module(module)
    return module


gallery = loaded(GALLERY)


def shown(method, frame):
    return method([frame])[0]


def twice(frame, left, top, width, height):
    return np.kron(frame[top:top + height, left:left + width], np.ones((2, 2, 1), np.uint8))


def stretched(frame, times):
    """Contrast about the mean raised, so that small differences are seen in print."""
    plane = clips.luma(frame)
    return clips.grey((plane - plane.mean()) * times + 128)


def marked(before, after):
    """What is newly black or white, in red."""
    new = (((after == 0) | (after == 255)) & (before != 0) & (before != 255)).any(-1)
    return np.where(new[..., None], np.array((230, 0, 0), np.uint8), after)


def noise(directory, equal):
    """Fur in a camera's noise, at twice its size; below it a grey wall, contrast 6 times."""
    fur, wall = clips.clips()["fur with noise"][0], clips.clips()["flat"][0]
    cases = [("the input", list), *equal]
    rows = [[twice(shown(method, fur), 60, 60, 120, 80) for _, method in cases],
            [twice(stretched(shown(method, wall), 6), 60, 60, 120, 50) for _, method in cases]]
    stacked = [np.concatenate([above, np.full_like(above[:4], 255), below])
               for above, below in zip(*rows)]
    gallery.sheet([stacked], [[name for name, _ in cases]]).save(
        directory / "quality-noise.jpg", quality=72)


def sky(directory):
    frame = clips.sky()
    cases = [("the input", list),
             *((words, methods.element(words)) for words in ("cudallf protect=false", "cudallf")),
             ("unsharp, sigma 5, amount 1", methods.unsharp(1.0))]
    gallery.sheet([[marked(frame, shown(method, frame)) for _, method in cases]],
                  [[name for name, _ in cases]]).save(directory / "quality-sky.jpg", quality=80)


def compression(directory):
    frame = clips.jpeg_sky()
    cases = [("the input", list),
             *((words, methods.element(words)) for words in ("cudallf noise-floor=0", "cudallf")),
             ("CLAHE, limit 2", methods.clahe(2.0))]
    gallery.sheet([[stretched(shown(method, frame), 3)[40:200] for _, method in cases]],
                  [[name for name, _ in cases]]).save(directory / "quality-jpeg.jpg", quality=75)


def edge(directory, equal):
    """Luma across a step, in a graph."""
    size, left, bottom = (640, 300), 40, 270
    canvas = PIL.Image.new("RGB", size, gallery.WHITE)
    draw = PIL.ImageDraw.Draw(canvas)
    font = PIL.ImageFont.load_default()
    low, high = clips.STEP[0] - 25, clips.STEP[1] + 25
    middle, around = clips.WIDTH // 2, 40
    draw.line([(left, 20), (left, bottom), (size[0] - 10, bottom)], gallery.BLACK)
    for code in (*clips.STEP, sum(clips.STEP) // 2):
        y = bottom - (code - low) / (high - low) * (bottom - 20)
        draw.text((8, y - 5), str(code), gallery.BLACK, font)
    for number, (name, method) in enumerate([("the input", list), *equal]):
        line = clips.luma(shown(method, clips.step())[clips.HEIGHT // 2])
        points = [(left + (i + 0.5) / (2 * around) * (size[0] - left - 10),
                   bottom - (code - low) / (high - low) * (bottom - 20))
                  for i, code in enumerate(line[middle - around:middle + around])]
        draw.line(points, COLOURS[number], 2)
        draw.text((left + 20, 30 + 16 * number), name, COLOURS[number], font)
    draw.text((left + 180, bottom + 10), "80 columns across a step of 80 codes", gallery.BLACK,
              font)
    canvas.save(directory / "quality-step.png", optimize=True)


def draw(directory, equal):
    """`equal`: (name, method), at most four, that raise detail as much."""
    named = [(name.replace("`", ""), method) for name, method in equal]
    noise(directory, named)
    edge(directory, named)
    sky(directory)
    compression(directory)
