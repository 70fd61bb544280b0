# SPDX-License-Identifier: LGPL-2.1-or-later
"""GStreamer's elements cudallf, cudagaussblur, cudablockavg, cudasepconv and cudatonemap, for
programs that have come from PyPI:

    import gst_cuda_filters
    gst_cuda_filters.setup()
    from gi.repository import Gst

GStreamer itself is the system's; gst-inspect-1.0 and `docs/` of the project describe the elements.
"""
from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import pathlib

__all__ = ["PluginError", "environment", "plugin_directory", "setup", "version"]

_HERE = pathlib.Path(__file__).resolve().parent
_LIBRARY = "libgstreamer-1.0.so.0"
_PLUGIN = "libgstcudafilters.so"


class PluginError(RuntimeError):
    """GStreamer is missing or too old, or the plugin does not load into it; says why."""


def version() -> str:
    """The version of this package, and of the plugin in it."""
    return importlib.metadata.version("gst-cuda-filters")


def _gstreamer_version() -> tuple[int, int]:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise PluginError(f"GStreamer is not installed, or does not load ({error}). Install it from"
                          " your distribution; on Debian and Ubuntu: apt install"
                          " gstreamer1.0-tools gstreamer1.0-plugins-good") from error
    numbers = [ctypes.c_uint() for _ in range(4)]
    library.gst_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value


@functools.lru_cache(maxsize=None)
def plugin_directory() -> pathlib.Path:
    """The folder with the plugin that was built for the GStreamer of this system, or for the one
    before it where that one does not load: it then has fewer features, and warns of them.

    Raises PluginError if none loads."""
    running = _gstreamer_version()
    builds = {tuple(map(int, folder.name.split("."))): folder
              for folder in (_HERE / "plugins").iterdir()}
    reasons = []
    for needed, folder in sorted(builds.items(), reverse=True):
        if needed > running:
            continue
        try:
            ctypes.CDLL(str(folder / _PLUGIN), mode=os.RTLD_NOW)
            return folder
        except OSError as error:
            reasons.append(str(error))
    if reasons:
        raise PluginError(f"the plugin does not load: {'; '.join(reasons)}")
    oldest = ".".join(map(str, min(builds)))
    raise PluginError(f"GStreamer {running[0]}.{running[1]} is too old; needed is {oldest}"
                      " or later")


def environment() -> dict[str, str]:
    """A copy of os.environ in which GStreamer finds the plugin and its presets, for programs that
    are started from this one."""
    variables = dict(os.environ)
    for name, folder in (("GST_PLUGIN_PATH_1_0", plugin_directory()),
                         ("GST_PRESET_PATH", _HERE / "presets")):
        # The newer name hides the older one, which the user may have set.
        known = variables.get(name) or variables.get(name.removesuffix("_1_0"))
        if folder.is_dir():
            variables[name] = f"{folder}:{known}" if known else str(folder)
    return variables


def setup() -> None:
    """Initialises GStreamer, unless that is done, and makes the elements known to it.

    Raises PluginError if GStreamer is missing or too old, and ImportError without PyGObject or
    its description of GStreamer."""
    folder = plugin_directory()
    presets = environment().get("GST_PRESET_PATH")
    if presets:
        os.environ["GST_PRESET_PATH"] = presets
    try:
        import gi
        gi.require_version("Gst", "1.0")
        from gi.repository import Gst
    except (ImportError, ValueError) as error:
        raise ImportError("GStreamer for Python is not here. Install it from your distribution; on"
                          " Debian and Ubuntu: apt install python3-gst-1.0. A virtual environment"
                          " finds it if made with --system-site-packages") from error
    Gst.init(None)
    Gst.Registry.get().scan_path(str(folder))
    if not Gst.ElementFactory.find("cudallf"):
        raise PluginError(f"GStreamer does not take the plugin in {folder};"
                          " GST_DEBUG=GST_PLUGIN_LOADING:5 says why")
