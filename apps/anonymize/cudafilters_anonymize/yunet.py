# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCV's YuNet (face_detection_yunet_*.onnx of OpenCV's model zoo). OpenCV before 4.8 takes
models of 2022, later ones those of 2023."""
import cv2

from .boxes import Box, Detection
from .errors import Problem

WEAKEST = 0.3
OVERLAP = 0.3
MOST = 5000


class YuNet:
    name = "yunet"
    detect_size = 640
    threshold = 0.6

    def __init__(self, path, smallest):
        self.smallest = smallest
        try:
            self.model = cv2.FaceDetectorYN.create(path, "", (320, 320), WEAKEST, OVERLAP, MOST)
        except (AttributeError, cv2.error) as error:
            raise Problem(f"OpenCV {cv2.__version__} cannot read the model {path} as YuNet: "
                          f"{last_line(error)}") from error
        self.path = path

    def find(self, image):
        """Detections in a BGR image, in its pixels."""
        height, width = image.shape[:2]
        self.model.setInputSize((width, height))
        try:
            _, rows = self.model.detect(image)
        except cv2.error as error:
            raise Problem(f"OpenCV {cv2.__version__} cannot run the model {self.path}: "
                          f"{last_line(error)}; a model of another year may fit") from error
        found = []
        for row in rows if rows is not None else ():
            box = Box(*(float(value) for value in row[:4]))
            if min(box.width, box.height) >= self.smallest * min(width, height):
                found.append(Detection(box, min(max(float(row[14]), 0.0), 1.0)))
        return found


def last_line(error):
    return (str(error).strip().splitlines() or ["no reason given"])[-1].strip()
