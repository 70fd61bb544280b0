# SPDX-License-Identifier: LGPL-2.1-or-later
"""Presets of an element: GstPreset, ours and the user's. GStreamer copies ours into the file of the
user's when it writes that; ours are told by the files that we install."""
import configparser
import os
import pathlib

from gi.repository import GLib, Gst

FOLDER = ("gstreamer-1.0", "presets")


def _folders():
    named = os.environ.get("GST_PRESET_PATH")
    application = Gst.preset_get_app_dir()
    return [pathlib.Path(folder) for folder in [named, application] if folder] + [
        pathlib.Path(folder, *FOLDER) for folder in GLib.get_system_data_dirs()]


def find_ours(folder):
    """Makes the presets of `folder` known where GStreamer would not find them by itself."""
    if pathlib.Path(folder).is_dir():
        Gst.preset_set_app_dir(str(folder))


def ours(element):
    """Names of the presets installed with the program."""
    name = f"{element.__gtype__.name}.prs"
    found = set()
    for folder in _folders():
        parser = configparser.RawConfigParser(strict=False, interpolation=None)
        try:
            parser.read(folder / name, encoding="utf-8")
        except configparser.Error:
            continue
        found.update(section for section in parser.sections() if section != "_presets_")
    return found


def names(element):
    """(installed presets, the user's presets), each sorted."""
    if not isinstance(element, Gst.Preset):
        return [], []
    came_along = ours(element)
    everything = sorted(element.get_preset_names() or [])
    return ([name for name in everything if name in came_along],
            [name for name in everything if name not in came_along])


def comment(element, name):
    known, text = element.get_meta(name, "comment")
    return text if known else ""
