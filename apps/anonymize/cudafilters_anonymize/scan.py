# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first pass over a file: detections and scene cuts of every frame."""
import cv2

from .boxes import Box, Detection
from .errors import Problem
from .follow import Follower
from .tracks import Frame

# A cut is where thumbnails differ by this much, and this many times more than their neighbours do,
# unless the picture soon is as before (a flash).
THUMBNAIL = (16, 9)
LEAST_DIFFERENCE = 35.0
LEAST_JUMP = 2.0
LONGEST_FLASH = 4


class Cuts:
    """Finds scene cuts in thumbnails of all frames."""

    def __init__(self):
        self.small = []

    def see(self, image):
        """Whether the next picture may begin another scene, as far as can be told so far."""
        self.small.append(cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA))
        return self.jumps(len(self.small) - 1)

    def difference(self, number, other):
        if not (0 <= number < len(self.small) and 0 <= other < len(self.small)):
            return 0.0
        return float(cv2.absdiff(self.small[number], self.small[other]).mean())

    def jumps(self, number):
        change = self.difference(number - 1, number)
        usual = max(self.difference(number - 2, number - 1), self.difference(number, number + 1))
        return change > max(LEAST_DIFFERENCE, LEAST_JUMP * usual)

    def is_cut(self, number):
        """Whether a scene begins with this frame. Call after all frames were added."""
        if not self.jumps(number):
            return False
        after = range(number + 1, min(number + LONGEST_FLASH + 1, len(self.small)))
        before = range(max(number - LONGEST_FLASH - 1, 0), number - 1)
        return (all(self.difference(number - 1, later) > LEAST_DIFFERENCE for later in after) and
                all(self.difference(earlier, number) > LEAST_DIFFERENCE for earlier in before))


def rounded(detection, scale):
    """The detection in pixels of the file, rounded as in the sidecar."""
    box = detection.box.scaled(scale)
    numbers = (round(float(value), 2) for value in (box.x, box.y, box.width, box.height))
    return Detection(Box(*numbers), round(float(detection.confidence), 4), detection.source,
                     detection.kind)


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
        frame.cut = cuts.is_cut(number)
    return frames
