#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Privacy masks on real detections: OpenCV's facedetect finds a face in a photograph that moves,
and the elements behind it must hide the face, in every frame, and nothing else."""
import re
import subprocess

import numpy as np

import frames
import harness

WIDTH, HEIGHT, COUNT = 320, 288, 24

# Where the astronaut's face is in her photograph: all of it, and the eyes, nose and mouth.
FACE = (150, 30, 300, 210)
FEATURES = (200, 90, 250, 150)


def has_element(name):
    return subprocess.run(["gst-inspect-1.0", "--exists", name], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def offset(number):
    """Of the clip's frame in the photograph: the camera pans and tilts."""
    return 20 + 4 * number, 10 + abs(12 - number)


def clip():
    photograph = np.rint(255 * frames.photograph("astronaut.png")).astype(np.uint8)
    return [np.ascontiguousarray(photograph[y:y + HEIGHT, x:x + WIDTH])
            for x, y in map(offset, range(COUNT))]


def inside(box, number):
    x, y = offset(number)
    return (slice(max(box[1] - y, 0), max(box[3] - y, 0)),
            slice(max(box[0] - x, 0), max(box[2] - x, 0)))


def detail(image):
    """How much neighbouring pixels differ."""
    luma = image.astype(float).mean(axis=2)
    return np.abs(np.diff(luma, axis=0)).mean() + np.abs(np.diff(luma, axis=1)).mean()


def run_clip(images, *elements):
    layout = frames.Layout("RGB", WIDTH, HEIGHT)
    outputs = harness.filter_frames(layout, [image.tobytes() for image in images],
                                    " ".join(elements).split())
    return [np.frombuffer(data, np.uint8).reshape(HEIGHT, WIDTH, 3) for data in outputs]


def hidden(tap, name, images, outputs):
    """Every frame's face has lost its detail, and what is no face is as it was."""
    seen, changed = [], []
    for number, (image, output) in enumerate(zip(images, outputs)):
        features = inside(FEATURES, number)
        if detail(output[features]) > 0.5 * detail(image[features]):
            seen.append(number)
        rest = (output != image).any(axis=2)
        rest[inside(FACE, number)] = False
        if rest.any():
            changed.append(number)
    tap.check(not seen, f"{name}: the face is hidden", f"not in frames {seen}")
    tap.check(not changed, f"{name}: nothing but the face is", f"not in frames {changed}")


def check_detections(tap):
    images = clip()
    detector = "facedetect display=false min-size-width=60 min-size-height=60 min-neighbors=6"
    hold = "roi-mode=inside roi-types=face roi-hold=200000000"

    unfiltered = run_clip(images, detector)
    same = all((a == b).all() for a, b in zip(images, unfiltered))
    tap.check(same, "the detector changes nothing")
    for backend in harness.backends():
        outputs = run_clip(images, f"{detector} ! cudablockavg backend={backend} anchor=region",
                           f"blocks-across=6 {hold}")
        hidden(tap, f"cudablockavg {backend}", images, outputs)
        outputs = run_clip(images, f"{detector} ! cudablockavg backend={backend} block-width=16",
                           f"block-height=16 roi-shape=ellipse roi-feather=6 {hold}")
        hidden(tap, f"cudablockavg ellipse {backend}", images, outputs)
        outputs = run_clip(images, f"{detector} ! cudagaussblur backend={backend} sigma=0",
                           f"sigma-relative=0.15 {hold}")
        hidden(tap, f"cudagaussblur {backend}", images, outputs)
    outputs = run_clip(images, f"{detector} ! cudablockavg roi-mode=inside roi-types=bird")
    tap.check(all((a == b).all() for a, b in zip(images, outputs)), "other types pass")
    outputs = run_clip(images, f"{detector} ! cudablockavg {hold} ! cudablockavg {hold}",
                       "roi-mode=outside")
    tap.check(all((a != b).mean() > 0.5 for a, b in zip(images, outputs)),
              "metas stay for the element behind")


def check_fixed(tap):
    """Without any detector: the property, through a tee."""
    image = clip()[0]
    for backend in harness.backends():
        output, = run_clip([image], f"cudablockavg backend={backend} block-width=8 block-height=8",
                           "roi-mode=inside regions=16,24,40,32;200,0,500,16")
        wanted = image.copy()
        for x, y, width, height in ((16, 24, 40, 32), (200, 0, 120, 16)):
            blocks = image[y:y + height, x:x + width].reshape(height // 8, 8, width // 8, 8, 3)
            means = (2 * blocks.astype(int).sum(axis=(1, 3)) + 64) // 128
            wanted[y:y + height, x:x + width] = means.repeat(8, 0).repeat(8, 1)
        tap.check((output == wanted).all(), f"fixed regions {backend}")
    for text in ("1,2,3", "a", "1,2,0,5", "1;2;3;4"):
        try:
            harness.launch("videotestsrc num-buffers=1 ! cudablockavg", [f"regions={text}"],
                           "! fakesink", timeout=harness.REFUSAL_SECONDS)
            tap.check(False, f"regions={text} is refused")
        except harness.PipelineError as error:
            tap.check(error.refused and "x,y,w,h" in str(error), f"regions={text} is refused",
                      str(error))


def messages(elements):
    """What gst-launch-1.0 says that elements post."""
    command = ["gst-launch-1.0", "-m", *"videotestsrc num-buffers=5 !".split(),
               "video/x-raw,width=320,height=240", "!", *elements.split(), "!", "fakesink"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=harness.TIMEOUT_SECONDS)
    return result.stdout


def check_messages(tap):
    """What an application sees on the bus."""
    cases = (("roi-mode=inside regions=-8,10,48,80;300,-6,40,30;500,0,9,9", 2,
              (40 * 80 + 20 * 24) / (320 * 240)),
             ("roi-mode=outside regions=-8,10,48,80", 1, 1 - 40 * 80 / (320 * 240)),
             ("roi-mode=inside regions=-8,10,48,80 roi-missing=cover", 1, 1.0),
             ("roi-mode=inside regions=100,100,100,80 roi-shape=ellipse", 1,
              np.pi / 4 * 101 * 81 / (320 * 240)),  # with half of the pixel that fades
             ("roi-mode=inside", 0, 0.0))
    for settings, regions, covered in cases:
        text = messages(f"cudablockavg backend=cpu {settings}")
        told = re.findall(r"cudafilters-coverage, regions=\(uint\)(\d+), held=\(uint\)0, "
                          r"missing=\(boolean\)true, covered=\(double\)([-+.e\d]+)", text)
        good = (len(told) == 1 and int(told[0][0]) == regions
                and abs(float(told[0][1]) - covered) < 0.001)
        tap.check(good, f"{settings}: coverage is told", text)
    for settings, warning in (("cudablockavg regions=1,2,3,4", "no effect without roi-mode"),
                              ("cudablockavg roi-mode=inside regions=1,2,3,4 blocks-across=256",
                               "blocks of one pixel"),
                              ("cudagaussblur roi-mode=inside sigma=0.1", "hides nothing")):
        text = messages(f"{settings} backend=cpu")
        tap.check(text.count(warning) == 1, f"{settings}: one warning", text)


def check_missing(tap):
    """A fixed region does not open what roi-missing=cover covers."""
    image = clip()[0]
    blocks = "block-width=64 block-height=48"
    for backend in harness.backends():
        element = f"cudablockavg backend={backend} {blocks}"
        whole, = run_clip([image], element)
        output, = run_clip([image], element, "roi-mode=inside roi-missing=cover regions=8,8,16,16")
        tap.check((output == whole).all(), f"no detection, and a fixed region {backend}")


def run(tap):
    check_fixed(tap)
    check_messages(tap)
    check_missing(tap)
    if has_element("facedetect"):
        check_detections(tap)
    else:
        tap.skip("faces that facedetect finds", "GStreamer's opencv plugin is missing")
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
