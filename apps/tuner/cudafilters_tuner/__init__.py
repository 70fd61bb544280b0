# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-tuner: the filters of gst-cuda-filters in a window, with all their properties.

From what knows no window to what is one: scales, controls, values; presets, recipes of code
(export), what is kept (session); source, line and tuning, which run pipelines; shapes and maps,
which are geometry; rows, panel, preview, dialogs, window and application, which are GTK.
"""
