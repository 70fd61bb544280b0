# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first pass over a file: what is seen in every frame."""
import cv2
import numpy as np

from .boxes import Box, Detection
from .errors import Problem
from .follow import Follower
from .tracks import Frame

# Another scene begins where small pictures differ so much, and their brightness is distributed so
# differently.
THUMBNAIL = (32, 18)
LEAST_DIFFERENCE = 28
MOST_COMMON = 0.65


class Cuts:
    """Tells whether a picture begins another scene."""

    def __init__(self):
        self.last = None

    def is_cut(self, image):
        small = cv2.cvtColor(cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA),
                             cv2.COLOR_BGR2GRAY).astype(np.float32)
        last, self.last = self.last, small
        if last is None or np.abs(small - last).mean() < LEAST_DIFFERENCE:
            return False
        counts = [np.histogram(one, 16, (0, 256))[0] for one in (small, last)]
        return np.minimum(*counts).sum() < MOST_COMMON * small.size


def rounded(detection, scale):
    """In pixels of the file, as exact as the sidecar writes it."""
    box = detection.box.scaled(scale)
    return Detection(Box(*(round(value, 2) for value in (box.x, box.y, box.width, box.height))),
                     round(detection.confidence, 4), detection.source, detection.kind)


def scan(pictures, detector, settings, progress):
    """Frames with their detections, in pixels of the upright picture. detector: None finds nothing.
    settings: `every` so many frames it is asked, `threshold`, `follow` in seconds.
    progress(frames, pts) is called for each picture."""
    frames = []
    cuts = Cuts()
    follower = Follower(settings.follow)
    for number, picture in enumerate(pictures):
        if picture.pts is None:
            raise Problem(f"picture {number} has no time stamp, so that regions cannot be told for "
                          "it; put the file into another container first")
        cut = cuts.is_cut(picture.image)
        frames.append(Frame(picture.pts, [], cut, picture.damaged, picture.time))
        if detector:
            asked = number % settings.every == 0 or cut
            found = detector.find(picture.image) if asked else []
            frames[number].detections = [rounded(one, picture.scale) for one in found]
            followed = follower.see(number, picture, picture.pts / 1e9, found, settings.threshold,
                                    cut)
            for earlier, others in followed.items():
                frames[earlier].detections += [rounded(one, picture.scale) for one in others]
        progress(number + 1, picture.time)
    return frames
