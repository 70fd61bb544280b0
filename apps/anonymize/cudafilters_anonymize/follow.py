# SPDX-License-Identifier: LGPL-2.1-or-later
"""Follows what a detector has seen from one picture into the next, by optical flow of points in the
box: over the pictures in which a turned or half hidden face is not detected, forwards as they come
and backwards through the last ones that are kept.
"""
import collections
import dataclasses
import math

import cv2
import numpy as np

from .boxes import FOLLOWED, Box, Detection, around

MOST_POINTS = 60
FEWEST_POINTS = 6
# Largest error of a point that is followed forth and back, in pixels.
MOST_ERROR = 1.5
# Fraction of the points that have to agree on one movement.
FEWEST_AGREEING = 0.5
MOST_SCALE_CHANGE = 1.15
LEAST_LIKENESS = 0.4
# Factor on the confidence for each second of following.
CONFIDENCE_LEFT = 0.5
SIDE_OF_TEMPLATE = 32


@dataclasses.dataclass
class Followed:
    """A followed box: when it was last detected, how it looked then, and by how many degrees it has
    turned since."""
    box: Box
    confidence: float
    kind: str
    time: float
    template: np.ndarray
    angle: float = 0.0


class Follower:
    """Follows detections through pictures, which it gets in their order. `seconds`: how long to
    follow a box that is not detected again."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.past = collections.deque()
        self.active = []

    def see(self, number, picture, time, detections, threshold, cut):
        """Returns what else is in this picture, and in earlier ones: {number: [Detection]}. Boxes
        are in pixels of picture.image."""
        gray = cv2.cvtColor(picture.image, cv2.COLOR_BGR2GRAY)
        if cut:
            self.past.clear()
            self.active = []
        found = collections.defaultdict(list)
        before = self.past[-1][1] if self.past else None
        strong = [one for one in detections if one.confidence >= threshold]
        still = []
        for one in self.active:
            if matching(one.box, strong) is not None:
                continue
            moved, angle = self.step(before, gray, one, time)
            if moved is None or matching(moved, strong) is not None:
                continue
            still.append(one)
            one.box, one.angle = moved, angle
            if matching(moved, detections) is None:
                found[number].append(self.as_detection(one, time))
        for detection in strong:
            fresh = Followed(detection.box, detection.confidence, detection.kind, time,
                             template(gray, detection.box))
            if not self.is_known(detection):
                for earlier, followed in self.backwards(gray, fresh):
                    found[earlier].append(followed)
            still.append(fresh)
        self.active = still
        self.past.append((number, gray, time, [*detections, *found.get(number, ())]))
        while self.past and self.past[0][2] < time - self.seconds:
            self.past.popleft()
        return found

    def is_known(self, detection):
        """Whether the box was in the last picture."""
        return bool(self.past) and matching(detection.box, self.past[-1][3]) is not None

    def backwards(self, gray, fresh):
        one = dataclasses.replace(fresh)
        later = gray
        for number, earlier, time, known in reversed(self.past):
            moved, angle = self.step(later, earlier, one, time)
            if moved is None or matching(moved, known) is not None:
                return
            one.box, one.angle, later = moved, angle, earlier
            known.append(self.as_detection(one, time))
            yield number, known[-1]

    def as_detection(self, one, time):
        left = CONFIDENCE_LEFT ** abs(time - one.time)
        return Detection(one.box, one.confidence * left, FOLLOWED, one.kind)

    def step(self, gray, other, one, time):
        """The box in the picture `other`, and its angle; (None, 0) if it is lost."""
        if gray is None or abs(time - one.time) > self.seconds:
            return None, 0.0
        box, turned = moved_box(gray, other, one.box)
        angle = one.angle + turned
        if (box is None or box.within(other.shape[1], other.shape[0]) < 0.3 or
                likeness(one.template, template(other, box, angle)) < LEAST_LIKENESS):
            return None, 0.0
        return box, angle


def matching(box, detections):
    """The detection of the same object as this box, or None."""
    best = max(detections, key=lambda detection: detection.box.iou(box), default=None)
    return best if best and best.box.iou(box) > 0.3 else None


def template(gray, box, angle=0.0):
    """What lies in the box, which has turned by some degrees; always of one size."""
    width, height = max(round(box.width), 4), max(round(box.height), 4)
    place = cv2.getRotationMatrix2D(box.centre, angle, 1.0)
    place[:, 2] += np.subtract((width / 2, height / 2), box.centre)
    patch = cv2.warpAffine(gray, place, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return cv2.resize(patch, (SIDE_OF_TEMPLATE, SIDE_OF_TEMPLATE),
                      interpolation=cv2.INTER_AREA).astype(np.float32)


def likeness(one, other):
    """The correlation of two images, -1..1."""
    one, other = one - one.mean(), other - other.mean()
    norm = math.sqrt(float((one * one).sum()) * float((other * other).sum()))
    return float((one * other).sum()) / norm if norm > 1e-6 else 0.0


def moved_box(gray, other, box):
    """The movement of the points in the box: (new box, degrees), or (None, 0)."""
    height, width = gray.shape
    inner = box.grown(-0.1)
    x0, y0 = max(round(inner.x), 0), max(round(inner.y), 0)
    x1 = min(round(inner.x + inner.width), width)
    y1 = min(round(inner.y + inner.height), height)
    if x1 - x0 < 8 or y1 - y0 < 8:
        return None, 0.0
    mask = np.zeros_like(gray)
    mask[y0:y1, x0:x1] = 255
    points = cv2.goodFeaturesToTrack(gray, MOST_POINTS, 0.01, max((x1 - x0) / 12, 2), mask=mask)
    if points is None or len(points) < FEWEST_POINTS:
        return None, 0.0
    there, good, _ = cv2.calcOpticalFlowPyrLK(gray, other, points, None, winSize=(15, 15))
    back, good_back, _ = cv2.calcOpticalFlowPyrLK(other, gray, there, None, winSize=(15, 15))
    error = np.linalg.norm(points - back, axis=2).flatten()
    kept = (good.flatten() == 1) & (good_back.flatten() == 1) & (error < MOST_ERROR)
    if kept.sum() < max(FEWEST_POINTS, FEWEST_AGREEING * len(points)):
        return None, 0.0
    matrix, agreeing = cv2.estimateAffinePartial2D(points[kept], there[kept],
                                                   ransacReprojThreshold=2.0)
    if matrix is None or agreeing.sum() < FEWEST_AGREEING * len(points):
        return None, 0.0
    scale = math.hypot(matrix[0, 0], matrix[1, 0])
    if not 1 / MOST_SCALE_CHANGE < scale < MOST_SCALE_CHANGE:
        return None, 0.0
    moved = around(tuple(matrix @ (*box.centre, 1)), box.width * scale, box.height * scale)
    return moved, math.degrees(math.atan2(matrix[1, 0], matrix[0, 0]))
