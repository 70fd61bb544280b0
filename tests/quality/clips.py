# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the quality suite looks at: frames of 320x240 RGB with 8 bits, from photographs and from
what cameras, compression and weather do to them. The same in every run."""
import io

import numpy as np
import PIL.Image
import scipy.ndimage

import photographs

WIDTH, HEIGHT = 320, 240
LUMA = np.array([0.299, 0.587, 0.114])

GREY = 128
NOISE = 2.0  # codes of a sensor in a lit room
STEP = 88, 168
PAN_FRAMES, PAN_STEP = 12, 3  # pixels a frame
OBJECT_FRAMES = 12
FADE_MEANS = np.linspace(60, 195, 16)


def codes(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def grey(plane):
    return codes(np.repeat(np.asarray(plane, float)[..., None], 3, -1))


def luma(frame):
    return frame @ LUMA


def chroma(frame):
    """Blue less luma."""
    return frame[..., 2] - luma(frame)


def cut(name, left, top, scale=1.0):
    """WIDTH x HEIGHT of a photograph that is scaled before."""
    image = PIL.Image.fromarray(photographs.photograph(name))
    size = [round(side * scale) for side in image.size]
    image = image.resize(size, PIL.Image.Resampling.LANCZOS) if scale != 1.0 else image
    return np.asarray(image.crop((left, top, left + WIDTH, top + HEIGHT))).astype(float)


def noise(seed, deviation, channels=1):
    return np.random.default_rng(seed).normal(0.0, deviation, (HEIGHT, WIDTH, channels))


def detail(frame):
    """What is finer than about 10 pixels, in luma."""
    plane = luma(frame)
    return plane - scipy.ndimage.gaussian_filter(plane, 4.0)


def fur():
    """The texture on which gains are compared: the fur of a cat."""
    return cut("chelsea.png", 90, 30)


def sky():
    """A bright sky above something dark: a photographer, exposed for the coat."""
    return codes(cut("camera.png", 90, 20, 0.8) * 1.2)


def haze():
    """The fur through haze that leaves a quarter of its contrast."""
    return codes(fur() * 0.25 + 150)


def jpeg_sky():
    """A smooth gradient after a camera's compression."""
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    plane = 150 + 50 * y / HEIGHT + 8 * np.sin(x / 60)
    file = io.BytesIO()
    PIL.Image.fromarray(codes(grey(plane) + noise(21, 1.5))).save(file, "JPEG", quality=50)
    return np.asarray(PIL.Image.open(file))


def gradient():
    """One code more every 4 columns, without noise."""
    return grey(np.tile(80 + np.arange(WIDTH) // 4, (HEIGHT, 1)))


def step():
    plane = np.full((HEIGHT, WIDTH), STEP[0])
    plane[:, WIDTH // 2:] = STEP[1]
    return grey(plane)


def dark(noisy):
    """A face in the dark, as a small sensor sees it."""
    frame = cut("astronaut.png", 80, 0) * 0.16 + 6
    return codes(frame + (noise(22, NOISE, 3) if noisy else 0))


def fade():
    """The fur's texture, always as strong, while it gets brighter; the last two frames are a frame
    before and the one in a flash."""
    texture = 0.6 * detail(fur())
    return [grey(mean + texture) for mean in (*FADE_MEANS, 90, 180)]


def pan():
    """A camera with noise goes past the fur; what moves is cut from a wider picture."""
    photograph = photographs.photograph("chelsea.png").astype(float)
    return [codes(photograph[30:30 + HEIGHT, 20 + PAN_STEP * t:20 + PAN_STEP * t + WIDTH]
                  + noise(40 + t, NOISE)) for t in range(PAN_FRAMES)]


def object_at(t):
    """The columns that the object covers, from the right."""
    return WIDTH - 10 * t


def entering():
    """A street at dusk into which something white comes from the right, as far as a third."""
    scene = cut("rocket.jpg", 200, 180)
    frames = []
    for t in range(OBJECT_FRAMES):
        frame = scene.copy()
        frame[40:200, object_at(t):] = 250
        frames.append(codes(frame))
    return frames


def clips():
    """All of them, by name; a clip is a list of frames."""
    texture = fur()
    return {
        "fur": [codes(texture)],
        "fur with noise": [codes(texture + noise(23, NOISE))],
        "flat": [codes(GREY + np.repeat(noise(24, NOISE), 3, -1))],
        "sky": [sky()],
        "haze": [haze()],
        "jpeg": [jpeg_sky()],
        "gradient": [gradient()],
        "step": [step()],
        "dark": [dark(True), dark(False)],
        "fade": fade(),
        "pan": pan(),
        "entering": entering(),
    }
