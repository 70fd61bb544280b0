# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first pass over a file: what is seen in every frame."""
import cv2
import numpy as np

from .boxes import Box, Detection
from .errors import Problem
from .follow import Follower
from .tracks import Frame

# Another scene begins where small pictures differ so much, and their brightness is distributed so
# differently; unless the picture so many frames later is like the last one before: a flash.
THUMBNAIL = (32, 18)
LEAST_DIFFERENCE = 28
MOST_COMMON = 0.65
LONGEST_FLASH = 4


class Cuts:
    """Small pictures of all frames, and where other scenes begin."""

    def __init__(self):
        self.small = []

    def see(self, image):
        """Does this next picture differ from the last as another scene does?"""
        self.small.append(cv2.cvtColor(cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA),
                                       cv2.COLOR_BGR2GRAY))
        return len(self.small) > 1 and self.differ(len(self.small) - 2, len(self.small) - 1)

    def differ(self, number, other):
        one, two = self.small[number], self.small[other]
        if cv2.absdiff(one, two).mean() < LEAST_DIFFERENCE:
            return False
        counts = [np.histogram(small, 16, (0, 256))[0] for small in (one, two)]
        return np.minimum(*counts).sum() < MOST_COMMON * one.size

    def is_flash(self, number):
        """Once all frames are seen: is the scene soon as it was before this frame?"""
        later = range(number + 1, min(number + LONGEST_FLASH + 1, len(self.small)))
        earlier = range(max(number - LONGEST_FLASH, 0), number)
        return (any(not self.differ(number - 1, other) for other in later) or
                any(not self.differ(other, number) for other in earlier))


def rounded(detection, scale):
    """In pixels of the file, as exact as the sidecar writes it."""
    box = detection.box.scaled(scale)
    return Detection(Box(*(round(float(value), 2) for value in (box.x, box.y, box.width, box.height))),
                     round(float(detection.confidence), 4), detection.source, detection.kind)


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
        cut = cuts.see(picture.image)
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
    for number, frame in enumerate(frames):
        frame.cut = frame.cut and not cuts.is_flash(number)
    return frames
