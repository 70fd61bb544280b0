# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCV's cascades, which Debian has in opencv-data: no model to fetch, but slower than a network
and blind to more. The picture is searched upright and turned both ways for frontal faces, and as it
is and mirrored for profiles.
"""
import os

import cv2

from .boxes import Box, Detection
from .errors import Problem

FOLDERS = ("/usr/share/opencv4/haarcascades", "/usr/share/opencv/haarcascades",
           "/usr/local/share/opencv4/haarcascades")
FRONTAL = "haarcascade_frontalface_alt2.xml"
PROFILE = "haarcascade_profileface.xml"
ANGLES = (0, -25, 25)
SCALE_STEP = 1.15
FEWEST_NEIGHBOURS = 2
# Number of agreeing windows for a confidence of one half. Turned pictures and profiles have more
# false detections, and need more.
HALF_SURE_UPRIGHT, HALF_SURE_ELSE = 4, 6


def cascade(name):
    folders = [*FOLDERS, getattr(getattr(cv2, "data", None), "haarcascades", "")]
    for folder in folders:
        path = os.path.join(folder, name)
        if folder and os.path.exists(path):
            found = cv2.CascadeClassifier(path)
            if not found.empty():
                return found
    raise Problem(f"there is no detector: no model, and {name} is in none of "
                  f"{', '.join(FOLDERS)}; install opencv-data, or name a model with --model")


class Haar:
    """Detects faces in pictures that the caller has scaled to detect_size."""
    name = "haar"
    detect_size = 640
    threshold = 0.5

    def __init__(self, smallest):
        """smallest: size of the smallest face, as a fraction of the picture's shorter side."""
        self.smallest = smallest
        self.frontal = cascade(FRONTAL)
        self.profile = cascade(PROFILE)

    def find(self, image):
        """Detections in a BGR image, in its pixels."""
        gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        height, width = gray.shape
        found = []
        for angle in ANGLES:
            turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1)
            turned = cv2.warpAffine(gray, turn, (width, height)) if angle else gray
            back = cv2.invertAffineTransform(turn)
            half_sure = HALF_SURE_ELSE if angle else HALF_SURE_UPRIGHT
            for box, confidence in self.search(self.frontal, turned, half_sure):
                x, y = back @ (*box.centre, 1)
                found.append(Detection(box.moved(x - box.centre[0], y - box.centre[1]),
                                       confidence))
        for mirrored in (False, True):
            image = cv2.flip(gray, 1) if mirrored else gray
            for box, confidence in self.search(self.profile, image, HALF_SURE_ELSE):
                if mirrored:
                    box = Box(width - box.x - box.width, box.y, box.width, box.height)
                found.append(Detection(box, confidence))
        return merged(found)

    def search(self, classifier, gray, half_sure):
        smallest = max(round(self.smallest * min(gray.shape)), 20)
        boxes, neighbours = classifier.detectMultiScale2(
            gray, scaleFactor=SCALE_STEP, minNeighbors=FEWEST_NEIGHBOURS,
            minSize=(smallest, smallest))
        for box, count in zip(boxes, neighbours):
            yield (Box(*(float(value) for value in box)),
                   1 - 0.5 ** (int(count) / half_sure))


def merged(found):
    """Merges detections of one face by several searches into one that covers all of them."""
    result = []
    for one in sorted(found, key=lambda detection: -detection.confidence):
        for index, other in enumerate(result):
            if one.box.iou(other.box) > 0.3:
                doubt = (1 - one.confidence) * (1 - other.confidence)
                result[index] = Detection(other.box.union(one.box), 1 - doubt)
                break
        else:
            result.append(one)
    return result
