# SPDX-License-Identifier: LGPL-2.1-or-later
"""Light of HDR panoramas; and the picture of docs/guides/hdr-to-sdr.md: a courtyard in sun and
shade, as HDR shown as SDR, clipped at white, and by cudatonemap."""
import os
import pathlib
import subprocess
import tempfile

import numpy as np

WORLD = pathlib.Path("/usr/share/blender/datafiles/studiolights/world")
LEFT, TOP, WIDTH, HEIGHT = 200, 100, 480, 300
WHITE, PEAK = 203, 4000  # nits
MEAN = 20  # geometric mean in nits, as a colourist might grade it
LUMINANCE_709, LUMINANCE_2020 = (0.2126, 0.7152, 0.0722), (0.2627, 0.6780, 0.0593)
# ITU-R BT.2087.
TO_2020 = np.array([[0.627403896, 0.329283038, 0.043313066],
                    [0.069097289, 0.919540395, 0.011362316],
                    [0.016391439, 0.088013308, 0.895595253]])


def missing():
    """Why the picture cannot be drawn here, or None."""
    if not WORLD.exists():
        return "Debian's blender-data is missing"
    try:
        import cv2  # noqa: F401
    except ImportError:
        return "python3-opencv is missing"
    return ""


def light(name, box):
    """BT.709 red, green and blue, in nits, of a part (left, top, width, height) of a panorama."""
    os.environ["OPENCV_IO_ENABLE_OPENEXR"] = "1"
    import cv2

    panorama = cv2.imread(str(WORLD / f"{name}.exr"), cv2.IMREAD_UNCHANGED)[..., ::-1]
    left, top, width, height = box
    part = np.maximum(panorama[top:top + height, left:left + width].astype(float), 0)
    luminance = part @ LUMINANCE_709
    mean = np.exp(np.log(luminance + 1e-3 * np.median(luminance)).mean())
    return np.minimum(part / mean * MEAN, PEAK)


def pq(nits):
    power = (np.maximum(nits, 0) / 10000) ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)


def tone_mapped(signal):
    """Filters R'G'B' in PQ and BT.2020 with cudatonemap."""
    luma = signal @ LUMINANCE_2020
    planes = 256 * np.stack([16 + 219 * luma, 128 + 224 * (signal[..., 2] - luma) / 1.8814,
                             128 + 224 * (signal[..., 0] - luma) / 1.4746])
    with tempfile.TemporaryDirectory() as directory:
        source, result = pathlib.Path(directory, "in.raw"), pathlib.Path(directory, "out.raw")
        source.write_bytes(np.rint(planes).astype("<u2").tobytes())
        subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={source}",
             f"blocksize={2 * planes.size}", "!", "rawvideoparse", "format=y444-16le",
             f"width={WIDTH}", f"height={HEIGHT}", "!", "capssetter",
             "caps=video/x-raw,colorimetry=bt2100-pq", "!", "cudatonemap", f"peak={PEAK}", "!",
             "video/x-raw,format=RGBA", "!", "filesink", f"location={result}"], check=True)
        data = np.frombuffer(result.read_bytes(), np.uint8)
    return data.reshape(HEIGHT, WIDTH, 4)[..., :3]


def draw(directory, sheet):
    nits = light("courtyard", (LEFT, TOP, WIDTH, HEIGHT))
    signal = pq(nits @ TO_2020.T)
    clipped = np.clip(nits / WHITE, 0, 1) ** (1 / 2.4)
    pictures = [(255 * signal + 0.5).astype(np.uint8), (255 * clipped + 0.5).astype(np.uint8),
                tone_mapped(signal)]
    sheet([pictures], [["HDR shown as if it were SDR", "cut off at white (203 nits)",
                        "cudatonemap"]]).save(directory / "hdr-to-sdr.jpg", quality=85)
