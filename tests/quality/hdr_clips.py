# SPDX-License-Identifier: LGPL-2.1-or-later
"""HDR clips of known content: a camera pans over the panoramas that Debian's blender-data brings
(CC0, Greg Zaal), or over photographs of python3-skimage under lights, which are graded for a
display of 1000 or 4000 nits, in PQ or HLG, and coded as HEVC without loss, as files of HDR10 and
HLG are."""
import dataclasses
import functools
import importlib.util
import os
import pathlib
import subprocess

import numpy as np
import PIL.Image
import scipy.ndimage

import photographs

WORLD = pathlib.Path("/usr/share/blender/datafiles/studiolights/world")
WIDTH, HEIGHT, TOP = 640, 360, 70
FRAMES, STEP = 24, 3  # columns a frame

LUMA_709 = np.array([0.2126, 0.7152, 0.0722])
LUMA_2020 = np.array([0.2627, 0.6780, 0.0593])
TO_2020 = np.array([[0.627403896, 0.329283038, 0.043313066],
                    [0.069097289, 0.919540395, 0.011362316],
                    [0.016391439, 0.088013308, 0.895595253]])
HLG_PEAK = 1000.0


@dataclasses.dataclass(frozen=True)
class Scene:
    panorama: str
    left: int      # where the pan begins
    key: float     # nits of the geometric mean, as a colourist might grade it
    peak: float    # nits of the display that it is graded for
    transfer: str = "pq"

    @property
    def name(self):
        return f"{self.panorama} {self.transfer.upper()} {self.peak:.0f}"


SCENES = (
    Scene("city", 200, 25, 1000),
    Scene("courtyard", 200, 20, 4000),
    Scene("forest", 200, 20, 1000),
    Scene("interior", 200, 20, 4000),
    Scene("night", 200, 3, 1000),
    Scene("studio", 200, 8, 4000),
    Scene("sunrise", 200, 20, 1000),
    Scene("sunset", 200, 15, 4000),
    Scene("courtyard", 600, 20, HLG_PEAK, "hlg"),
    Scene("interior", 600, 20, HLG_PEAK, "hlg"),
    Scene("sunrise", 600, 20, HLG_PEAK, "hlg"),
)

# What constants and defaults were not chosen on: photographs with a window's or a sun's light, or a
# lamp's, added.
UNSEEN = (
    Scene("coffee.png", 30, 12, 1000),
    Scene("rocket.jpg", 60, 10, 4000),
    Scene("astronaut.png", 20, 20, 4000),
    Scene("chelsea.png", 40, 8, 1000),
    Scene("coffee.png", 200, 15, HLG_PEAK, "hlg"),
    Scene("astronaut.png", 120, 12, HLG_PEAK, "hlg"),
)


def missing():
    """Why no clips can be made here, or nothing."""
    if not WORLD.is_dir():
        return "Debian's blender-data is not installed"
    if importlib.util.find_spec("cv2") is None:
        return "Debian's python3-opencv is not installed"
    return ""


def filled(light):
    """Without the black ringing that compression leaves about suns and lamps."""
    light = np.maximum(light, 0)
    luminance = light @ LUMA_709
    beside_lamp = (scipy.ndimage.maximum_filter(luminance, 9)
                   > 100 * scipy.ndimage.median_filter(luminance, 13))
    hole = beside_lamp & (scipy.ndimage.grey_closing(luminance, (5, 5)) > 10 * luminance)
    colours = [scipy.ndimage.grey_closing(light[..., c], (5, 5)) for c in range(3)]
    return np.where(hole[..., None], np.stack(colours, -1), light)


def under_lights(name):
    """A photograph in a light whose edge is as sharp as a window's, with lamps in it."""
    width, height, seed = 1024, TOP + HEIGHT, sum(name.encode())
    picture = PIL.Image.fromarray(photographs.photograph(name)).resize((width, height), 3)
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    light = np.full((height, width), 1.0)
    for _ in range(2):
        slant, middle, half = random.uniform(-0.6, 0.6), random.uniform(200, 800), 70
        light *= np.where(np.abs(x - middle - slant * (y - 200)) < half, 24.0, 1.0)
    light = scipy.ndimage.gaussian_filter(light, 0.7)
    result = (np.asarray(picture) / 255) ** 2.4 * light[..., None]
    for column in random.uniform(100, 950, 4):
        row, colour = random.uniform(TOP, height), random.uniform(0.3, 1, 3)
        near = np.hypot(x - column, y - row)
        glow = 400.0 * scipy.ndimage.gaussian_filter((near < 7).astype(float), 1) + 4 / (
            1 + (near / 25) ** 2)
        result += glow[..., None] * colour
    return result


@functools.lru_cache
def panorama(name):
    """Linear light of BT.709 in a unit of its own: rows, columns, 3."""
    if "." in name:
        return under_lights(name)
    os.environ["OPENCV_IO_ENABLE_OPENEXR"] = "1"  # read when the module is loaded
    import cv2

    light = cv2.imread(str(WORLD / f"{name}.exr"), cv2.IMREAD_UNCHANGED)
    return filled(light[..., 2::-1].astype(float))


@functools.lru_cache
def graded(scene):
    """What the whole pan sees, in nits of BT.2020."""
    columns = np.arange(scene.left, scene.left + WIDTH + STEP * (FRAMES - 1))
    light = panorama(scene.panorama)
    light = light[TOP:TOP + HEIGHT, columns % light.shape[1]]
    luminance = light @ LUMA_709
    mean = np.exp(np.log(luminance + 1e-3 * np.median(luminance)).mean())
    return np.clip(light / mean * scene.key @ TO_2020.T, 0, scene.peak)


def shown(scene, number):
    """Frame `number` of the clip, in nits of BT.2020."""
    return graded(scene)[:, number * STEP:number * STEP + WIDTH]


def pq(nits):
    p = (np.maximum(nits, 0) / 10000) ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * p) / (1 + 2392 / 128 * p)) ** (2523 / 32)


def hlg(nits):
    a, b = 0.17883277, 0.28466892
    c = 0.5 - a * np.log(4 * a)
    luminance = (nits @ LUMA_2020)[..., None] / HLG_PEAK
    scene = np.clip(nits / HLG_PEAK * np.maximum(luminance, 1e-12) ** (1 / 1.2 - 1), 0, 1)
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene),
                    a * np.log(np.maximum(12 * scene - b, 1e-12)) + c)


def planes_10_bit(nits, transfer):
    """Y, Cb, Cr of limited range in 4:2:0, 10 bits."""
    encoded = pq(nits) if transfer == "pq" else hlg(nits)
    luma = encoded @ LUMA_2020

    def halved(plane):
        return (plane[0::2, 0::2] + plane[1::2, 0::2] + plane[0::2, 1::2] + plane[1::2, 1::2]) / 4

    return [np.rint(4 * plane).astype("<u2")
            for plane in (16 + 219 * luma,
                          128 + 224 * halved((encoded[..., 2] - luma) / 1.8814),
                          128 + 224 * halved((encoded[..., 0] - luma) / 1.4746))]


def raw(scene):
    return b"".join(plane.tobytes() for number in range(FRAMES)
                    for plane in planes_10_bit(shown(scene, number), scene.transfer))


def content_peak(scene):
    """MaxCLL."""
    return int(np.ceil(graded(scene).max()))


def write(scene, path):
    """The clip, as a file of HDR10 or HLG."""
    options = ("lossless=1:log-level=error:colorprim=bt2020:colormatrix=bt2020nc:range=limited:"
               f"transfer={'smpte2084' if scene.transfer == 'pq' else 'arib-std-b67'}")
    if scene.transfer == "pq":
        options += (":hdr10=1:repeat-headers=1:master-display=G(8500,39850)B(6550,2300)R(35400,"
                    f"14600)WP(15635,16450)L({scene.peak * 10000:.0f},1)"
                    f":max-cll={content_peak(scene)},200")
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-nostdin", "-y", "-f", "rawvideo", "-pix_fmt",
         "yuv420p10le", "-s", f"{WIDTH}x{HEIGHT}", "-r", "25", "-i", "-", "-c:v", "libx265",
         "-preset", "ultrafast", "-x265-params", options, str(path)],
        input=raw(scene), check=True)
