# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command gst-cuda-filters."""
from __future__ import annotations

import os
import sys

import gst_cuda_filters

USAGE = """\
Usage: gst-cuda-filters COMMAND [ARGUMENT...]

Runs a command with the elements cudallf, cudagaussblur, cudablockavg, cudasepconv and cudatonemap
where GStreamer finds them, such as

  gst-cuda-filters gst-inspect-1.0 cudallf
  gst-cuda-filters gst-launch-1.0 videotestsrc ! cudallf alpha=0.3 ! autovideosink
  gst-cuda-filters python3 program.py

  --path      prints the folder of the plugin, for GST_PLUGIN_PATH
  --version   prints the version
  -h, --help  prints this
"""


def main() -> int:
    """Returns an exit status, unless the command takes the place of this process."""
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if words == ["--version"]:
        print(gst_cuda_filters.version())
        return 0
    if not words or (words[0].startswith("-") and words != ["--path"]):
        print(USAGE, end="", file=sys.stderr)
        return 2
    try:
        if words == ["--path"]:
            print(gst_cuda_filters.plugin_directory())
            return 0
        os.execvpe(words[0], words, gst_cuda_filters.environment())
    except gst_cuda_filters.PluginError as error:
        print(f"gst-cuda-filters: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"gst-cuda-filters: {words[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
