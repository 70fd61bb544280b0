#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What privacy masks hide from a program that compares faces: dlib's network, on a photograph.

    masks.py            checks what the defaults promise, in TAP
    masks.py --write    measures the table of docs/guides/privacy-masks.md anew

Below a distance of 0.6 dlib takes two faces for the same person. The attacker knows where eyes and
nose are, and may blur what there is before comparing. Needs the modules dlib and
face_recognition_models (pip: dlib-bin has it built), and skips without them.
"""
import importlib.util
import io
import pathlib
import sys

import numpy as np
import PIL.Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "pipelines"), str(ROOT / "tools")]

import harness
import photographs

GUIDE = ROOT / "docs" / "guides" / "privacy-masks.md"
BEGIN, END = "<!-- masks.py -->", "<!-- end of masks.py -->"

SIZES = 60, 91, 150, 273, 600  # of the face, in pixels
# Sigmas of the attacker's blur, as shares of the face's side.
ATTACKS = 0.0, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15
FRAMES = 48
PEOPLE = 100
FACEDETECT = 175, 64, 97, 97  # the box that GStreamer's facedetect finds in the photograph
SAME = 0.6  # dlib's own threshold

# The least distances that the settings promise, as they are and after the attacker's blur: a blur
# stays what it is, but a mosaic that is blurred again shows more of a face than its blocks did.
PROMISED = {"cudablockavg": (0.7, SAME), "cudablockavg blocks-across=3": (0.7, 0.68),
            "cudablockavg anchor=region roi-expand=0.2": (0.7, 0.7),
            "cudagaussblur": (0.7, 0.7), "cudablockavg mode=fill": (0.7, 0.7)}

MASKS = (
    ("`cudablockavg`, nothing set", "cudablockavg"),
    ("the same, in the box that `facedetect` finds", "cudablockavg", "detected"),
    ("`cudagaussblur`, nothing set", "cudagaussblur"),
    ("`mode=fill`", "cudablockavg mode=fill"),
    ("`cudablockavg roi-expand=0.2`", "cudablockavg roi-expand=0.2"),
    ("`anchor=region roi-expand=0.2`", "cudablockavg anchor=region roi-expand=0.2"),
    ("`blocks-across=3`", "cudablockavg blocks-across=3"),
    ("`blocks-across=4`", "cudablockavg blocks-across=4"),
    ("`blocks-across=6`", "cudablockavg blocks-across=6"),
    ("`blocks-across=8`", "cudablockavg blocks-across=8"),
    ("`blocks-across=12`", "cudablockavg blocks-across=12"),
    ("blocks of 32x32", "cudablockavg block-width=32 block-height=32"),
    ("`sigma-relative=0.15`", "cudagaussblur sigma-relative=0.15"),
    ("`sigma-relative=0.1`", "cudagaussblur sigma-relative=0.1"),
    ("`sigma=2`", "cudagaussblur sigma=2"),
    ("`sigma=10`", "cudagaussblur sigma=10"),
)


def missing():
    """The modules that are not there."""
    return [name for name in ("dlib", "face_recognition_models")
            if not importlib.util.find_spec(name)]


class Recogniser:
    """dlib's face network. The landmarks are those of the face without a mask."""

    def __init__(self):
        import dlib

        models = pathlib.Path(importlib.util.find_spec("face_recognition_models")
                              .submodule_search_locations[0], "models")
        self.dlib = dlib
        self.detect = dlib.get_frontal_face_detector()
        self.landmarks = dlib.shape_predictor(str(models / "shape_predictor_5_face_landmarks.dat"))
        self.network = dlib.face_recognition_model_v1(
            str(models / "dlib_face_recognition_resnet_model_v1.dat"))

    def find(self, image):
        """The largest face: x, y, width, height."""
        box = max(self.detect(image, 1), key=lambda found: found.area())
        return box.left(), box.top(), box.width(), box.height()

    def shape(self, image, box):
        x, y, width, height = box
        return self.landmarks(image, self.dlib.rectangle(x, y, x + width - 1, y + height - 1))

    def describe(self, image, shape):
        return np.array(self.network.compute_face_descriptor(np.ascontiguousarray(image), shape))


def resized(image, factor):
    size = [max(round(side * factor), 1) for side in image.shape[1::-1]]
    return np.asarray(PIL.Image.fromarray(image).resize(size, PIL.Image.Resampling.BICUBIC))


def blurred(image, sigma):
    import scipy.ndimage

    if sigma == 0.0:
        return image
    return np.rint(scipy.ndimage.gaussian_filter(image.astype(float), (sigma, sigma, 0))).astype(
        np.uint8)


def masked(images, element):
    """Images of one size, through a pipeline."""
    height, width = images[0].shape[:2]
    import frames

    layout = frames.Layout("RGB", width, height)
    outputs = harness.filter_frames(layout, [layout.pack(
        {role: image[..., c].astype(np.int64) for c, role in enumerate("RGB")})
        for image in images], element.split())
    stacks = (layout.unpack(output) for output in outputs)
    return [np.stack([stack[role] for role in "RGB"], -1).astype(np.uint8) for stack in stacks]


def in_region(element, box):
    return f"{element} backend=cpu roi-mode=inside regions=" + ",".join(map(str, box))


class Face:
    """The astronaut's face, `side` pixels across, with what is around it."""

    def __init__(self, recogniser, side):
        photograph = np.ascontiguousarray(photographs.photograph("astronaut.png"))
        x, y, width, _ = recogniser.find(photograph)
        margin = width * 2 // 3
        self.image = resized(photograph[max(y - margin, 0):y + width + margin,
                                        max(x - margin, 0):x + width + margin], side / width)
        left, top = max(x - margin, 0), max(y - margin, 0)
        self.box, self.detected = (
            tuple(round(number * side / width) for number in (a - left, b - top, c, d))
            for a, b, c, d in ((x, y, width, width), FACEDETECT))
        self.side = side
        self.recogniser = recogniser
        self.shape = recogniser.shape(self.image, self.box)
        self.own = recogniser.describe(self.image, self.shape)

    def distance(self, image):
        return float(np.linalg.norm(self.recogniser.describe(image, self.shape) - self.own))

    def distances(self, image):
        """As it is, and after the blur that serves the attacker best."""
        each = [self.distance(blurred(image, share * self.side)) for share in ATTACKS]
        return each[0], min(each)

    def behind(self, element, box="box"):
        return self.distances(masked([self.image], in_region(element, getattr(self, box)))[0])

    def averaged(self, element, box="box"):
        """FRAMES frames in which the face moves over the frame's grid, laid on each other."""
        random = np.random.default_rng(5)
        moves = random.integers(0, self.side, (FRAMES, 2))
        total = np.zeros(self.image.shape)
        for across, down in moves:
            image = np.pad(self.image, ((down, 0), (across, 0), (0, 0)), mode="edge")
            left, top, *size = getattr(self, box)
            output, = masked([image], in_region(element, (left + across, top + down, *size)))
            total += output[down:, across:]
        return self.distances(np.rint(total / FRAMES).astype(np.uint8))


def compressed(image, random):
    """The same photograph as somebody else has it: with noise, and as a JPEG."""
    noisy = np.clip(image + random.normal(0.0, 3.0, image.shape), 0, 255).astype(np.uint8)
    file = io.BytesIO()
    PIL.Image.fromarray(noisy).save(file, "JPEG", quality=80)
    return np.asarray(PIL.Image.open(file))


def picked(element):
    """Of so many people the share, in percent, that is told by masking photographs alike."""
    import skimage.data

    faces = skimage.data.lfw_subset()[:PEOPLE]
    random = np.random.default_rng(7)
    codes = [np.rint(255 * face).astype(np.uint8) for face in faces]
    people = [resized(np.repeat(code[..., None], 3, 2), 4) for code in codes]
    box = (10, 10, people[0].shape[1] - 20, people[0].shape[0] - 20)
    inner = (slice(10, -10), slice(10, -10))
    candidates = masked(people, in_region(element, box))
    shown = masked([compressed(person, random) for person in people], in_region(element, box))
    found = 0
    for number, probe in enumerate(shown):
        apart = [np.square(probe[inner].astype(float) - candidate[inner]).sum()
                 for candidate in candidates]
        found += apart.count(min(apart)) == 1 and int(np.argmin(apart)) == number
    return 100 * found / PEOPLE


def check(tap, faces):
    for element, promised in PROMISED.items():
        for side, face in faces.items():
            apart = face.behind(element)
            tap.check(apart[0] > promised[0] and apart[1] > promised[1],
                      f"{element}: a face of {side} pixels",
                      "%.2f, after a blur %.2f; allowed is above %g and %g" % (*apart, *promised))
    tap.check(picked("cudablockavg mode=fill") == 0.0, "mode=fill tells nobody from another")
    weak, _ = faces[600].behind("cudagaussblur sigma=2")
    tap.check(weak < SAME, "sigma=2 does not hide a face of 600 pixels", f"{weak:.2f}")


def row(faces, name, element, *box):
    cells = []
    for face in faces.values():
        plain, attacked = face.behind(element, *box)
        text = f"{plain:.2f} / {attacked:.2f}"
        cells.append(text if attacked >= SAME else f"**{text}**")
    _, moving = faces[150].averaged(element, *box)
    cells.append(f"{moving:.2f}" if moving >= SAME else f"**{moving:.2f}**")
    told = picked(element)
    cells.append(f"{told:.0f} %" if told else "none")
    return f"| {name} | {' | '.join(cells)} |"


def write(faces):
    heads = [f"{side} px" for side in faces] + [f"{FRAMES} frames", "picked"]
    lines = [BEGIN, "", f"| mask | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for mask in MASKS:
        lines.append(row(faces, *mask))
        print(lines[-1], flush=True)
    page = GUIDE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    GUIDE.write_text(before + "\n".join(lines + ["", END]) + after)


def main():
    if missing():
        print(f"1..0 # SKIP python3 lacks {' and '.join(missing())} (pip: dlib-bin "
              "face_recognition_models)")
        sys.exit(0)
    recogniser = Recogniser()
    faces = {side: Face(recogniser, side) for side in SIZES}
    if "--write" in sys.argv:
        write(faces)
    else:
        harness.main(lambda tap: check(tap, faces))


if __name__ == "__main__":
    main()
