# SPDX-License-Identifier: LGPL-2.1-or-later
"""The photographs of Debian's python3-skimage, for the demo and the tests."""
import functools
import importlib.util
import pathlib

import numpy as np
import PIL.Image


@functools.lru_cache
def photograph(name):
    """A photograph as 8-bit RGB: rows, columns, 3."""
    package = importlib.util.find_spec("skimage")
    path = pathlib.Path(package.submodule_search_locations[0], "data", name)
    return np.asarray(PIL.Image.open(path).convert("RGB"))
