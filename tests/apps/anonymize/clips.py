# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clips with moving photographs of real faces, of which is known where they are in every frame.

The faces: the astronaut of scikit-image, and faces of its subset of Labeled Faces in the Wild.
"""
import dataclasses
import pathlib
import subprocess
import sys

import cv2
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
import frames

WIDTH, HEIGHT, RATE = 320, 256, 25

# In the astronaut's photograph: centre and half axes of her face, hair line to chin.
FACE = (224.0, 118.0, 44.0, 58.0)
# In a picture of LFW's subset, which has 25x25 pixels: the same.
LFW_FACE = (12.5, 13.0, 8.0, 10.5)


@dataclasses.dataclass
class Clip:
    """images: RGB; truth: for each, the ellipses (x, y, half width, half height, degrees) of the
    faces in it."""
    images: list
    truth: list


def astronaut():
    return np.rint(255 * frames.photograph("astronaut.png")).astype(np.uint8)


def warped(image, matrix, face):
    """The photograph under a similarity, and its face there."""
    picture = cv2.warpAffine(image, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR,
                             borderMode=cv2.BORDER_REPLICATE)
    x, y = matrix @ (face[0], face[1], 1)
    scale = np.hypot(matrix[0, 0], matrix[1, 0])
    angle = np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0]))
    return picture, (x, y, face[2] * scale, face[3] * scale, angle)


def similarity(centre, to, angle=0.0, scale=1.0):
    """Moves the point `centre` to the point `to`, turned by degrees and scaled."""
    matrix = cv2.getRotationMatrix2D(centre, angle, scale)
    matrix[:, 2] += np.subtract(to, centre)
    return matrix


def of_astronaut(count, place):
    """place(share): where her face is (x, y), degrees and scale, share going from 0 to 1."""
    image = astronaut()
    clip = Clip([], [])
    for number in range(count):
        to, angle, scale = place(number / max(count - 1, 1))
        picture, ellipse = warped(image, similarity(FACE[:2], to, angle, scale), FACE)
        clip.images.append(picture)
        clip.truth.append([ellipse])
    return clip


def pan(count):
    """The camera pans and tilts."""
    return of_astronaut(count, lambda s: ((90 + 130 * s, 120 + 25 * np.sin(6 * s)), 0, 0.9))


def turn(count):
    """Her head turns in the plane of the picture, 45 degrees and back."""
    return of_astronaut(count, lambda s: ((160, 125), 45 * np.sin(np.pi * s), 0.8))


def leave(count):
    """Her face leaves across the left edge."""
    return of_astronaut(count, lambda s: ((130 - 220 * s, 120), 0, 0.9))


def approach(count):
    """Her face comes nearer."""
    return of_astronaut(count, lambda s: ((150 + 20 * s, 120), 0, 0.5 + 0.9 * s))


def crowd(count, faces=(0, 6)):
    """Two faces of LFW cross a photograph of something else."""
    import skimage.data

    lfw = skimage.data.lfw_subset()
    background = np.rint(255 * frames.photograph("coffee.png")).astype(np.uint8)
    background = cv2.resize(background, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    clip = Clip([], [])
    for number in range(count):
        share = number / max(count - 1, 1)
        picture, truth = background.copy(), []
        for index, face in enumerate(faces):
            patch = np.rint(255 * lfw[face]).astype(np.uint8)
            scale = 4.0
            x = 20 + 60 * share if index == 0 else 190 - 40 * share
            y = 30 + 20 * share if index == 0 else 120 - 30 * share
            matrix = np.array([[scale, 0, x], [0, scale, y]])
            mask = cv2.warpAffine(np.full_like(patch, 255), matrix, (WIDTH, HEIGHT))
            pasted = cv2.warpAffine(patch, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC,
                                    borderMode=cv2.BORDER_REPLICATE)
            picture[mask > 128] = pasted[mask > 128][:, None]
            truth.append((x + scale * LFW_FACE[0], y + scale * LFW_FACE[1], scale * LFW_FACE[2],
                          scale * LFW_FACE[3], 0.0))
        clip.images.append(picture)
        clip.truth.append(truth)
    return clip


def joined(*clips):
    return Clip(sum((clip.images for clip in clips), []), sum((clip.truth for clip in clips), []))


def face_mask(ellipses, size=(WIDTH, HEIGHT)):
    """Which pixels show a face."""
    mask = np.zeros(size[::-1], np.uint8)
    for x, y, half_width, half_height, angle in ellipses:
        cv2.ellipse(mask, ((x, y), (2 * half_width, 2 * half_height), angle), 255, -1)
    return mask > 0


def write(clip, path, *arguments, rate=RATE):
    """Encodes the clip by ffmpeg, well enough to compare pixels. `arguments` come before `path`;
    input 0 is the clip, and later inputs have to be among them."""
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24",
               "-s", "{1}x{0}".format(*clip.images[0].shape), "-r", str(rate), "-i", "-",
               *arguments, "-pix_fmt", "yuv420p", str(path)]
    subprocess.run(command, input=b"".join(image.tobytes() for image in clip.images), check=True)


def read(path):
    """RGB images of a file, by ffmpeg, upright and each once."""
    size = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
                           "stream=width,height:stream_side_data=rotation", "-of", "csv=p=0:nk=1",
                           str(path)], check=True, capture_output=True, text=True).stdout.split()
    numbers = [int(value) for value in size[0].strip(",").split(",") if value]
    width, height = numbers[:2]
    if len(numbers) > 2 and numbers[2] % 180:
        width, height = height, width
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v:0",
                           "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                          check=True, capture_output=True).stdout
    return list(np.frombuffer(data, np.uint8).reshape(-1, height, width, 3))
