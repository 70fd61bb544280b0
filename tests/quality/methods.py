# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is measured: an element with settings, or OpenCV's ways to do the same."""
import configparser
import importlib.util
import os
import pathlib

import numpy as np

import frames
import harness
from clips import HEIGHT, WIDTH

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "presets"
FILES = {"cudallf": "GstCudaLlf", "cudagaussblur": "GstCudaGaussBlur"}
HAS_OPENCV = importlib.util.find_spec("cv2") is not None


def element(words):
    """A method: frames through an element on the CPU."""
    def apply(sources):
        layout = frames.Layout("RGB", WIDTH, HEIGHT)
        os.environ.setdefault("GST_PRESET_PATH", str(PRESETS))
        outputs = harness.filter_frames(layout, [source.tobytes() for source in sources],
                                        f"{words} backend=cpu".split())
        return [np.frombuffer(output, np.uint8).reshape(HEIGHT, WIDTH, 3) for output in outputs]

    return apply


def by_luma(change):
    """OpenCV's usual way with colours: only the Y of YCrCb is changed."""
    def apply(sources):
        import cv2

        results = []
        for source in sources:
            planes = cv2.cvtColor(source, cv2.COLOR_RGB2YCrCb)
            planes[..., 0] = change(cv2, planes[..., 0])
            results.append(cv2.cvtColor(planes, cv2.COLOR_YCrCb2RGB))
        return results

    return apply


def clahe(limit):
    return by_luma(lambda cv2, plane: cv2.createCLAHE(limit, (8, 8)).apply(plane))


def unsharp(amount, sigma=5.0):
    return by_luma(lambda cv2, plane: cv2.addWeighted(
        plane, 1 + amount, cv2.GaussianBlur(plane, (0, 0), sigma), -amount, 0))


def presets(element_name):
    """Names and settings, in the order of the element's file in presets/."""
    parser = configparser.RawConfigParser()
    parser.read(PRESETS / f"{FILES[element_name]}.prs", encoding="utf-8")
    return {section: dict(parser[section]) for section in parser.sections()
            if section != "_presets_"}


def preset(element_name, name, *properties):
    """These properties of a preset, as a command line has them."""
    settings = presets(element_name)[name]
    return " ".join(f"{key}={settings[key]}" for key in properties)


def applied(method, shown):
    """All clips by one run: nothing is remembered from frame to frame."""
    sources = [frame for clip in shown.values() for frame in clip]
    results = iter(method(sources))
    return {name: [next(results) for _ in clip] for name, clip in shown.items()}


def with_gain(family, measure, target, low, high):
    """The setting in low..high of `family`, whose gain grows, with which `measure` is `target`."""
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if measure(family(middle)) < target else (low, middle)
    return (low + high) / 2
