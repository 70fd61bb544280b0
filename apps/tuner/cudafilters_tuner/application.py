# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program: command line, keys, and the session."""
import argparse
import json
import os
import signal
import sys

from gi.repository import Gdk, Gio, GLib, Gst, Gtk

from . import complaints, export, presets, session, tuning as model
from .source import Place, read_orientation
from .window import Window

ACCELERATORS = {
    "win.open": ["<Control>o"], "win.address": ["<Control>l"], "win.save": ["<Control>s"],
    "win.save-preset": ["<Control><Shift>s"], "win.copy::gst-launch": ["<Control><Shift>c"],
    "win.back": ["<Control>Left"], "win.on": ["<Control>Right"], "win.reset-all": ["<Control>r"],
    "win.keys": ["F1", "<Control>question"], "app.quit": ["<Control>q"],
}
DEFAULT_SOURCE = "test:smpte"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="cudafilters-tuner", formatter_class=lambda prog: argparse.HelpFormatter(
            prog, max_help_position=28, width=80),
        description="Tunes the filters of gst-cuda-filters in a window: before and after, with a "
        "control for every property.",
        epilog="Without arguments the last session goes on. man cudafilters-tuner has more.")
    parser.add_argument("source", nargs="?", metavar="SOURCE",
                        help="a file, an address, camera[:DEVICE] or test[:PATTERN]")
    parser.add_argument("-e", "--element", metavar="NAME", help="the filter: cudallf, "
                        "cudagaussblur, cudablockavg, cudasepconv or cudatonemap")
    parser.add_argument("-p", "--preset", metavar="NAME",
                        help="a preset of the filter to start with")
    parser.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a property to start with, as gst-launch-1.0 writes it; repeatable")
    parser.add_argument("--fresh", action="store_true", help="forget the last session")
    parser.add_argument("--json", action="store_true",
                        help="at the end, print what was tuned as JSON")
    parser.add_argument("--version", action="version", version="cudafilters-tuner " +
                        os.environ.get("CUDAFILTERS_TUNER_VERSION", "unknown"))
    return parser.parse_args(arguments)


def first_element(kept):
    """The element of the last session, else the first; None if there is none."""
    names = model.elements()
    return kept["element"] if kept.get("element") in names else next(iter(names), None)


class Application(Gtk.Application):
    """`notes` is controls.json; `kept` is the last session."""

    def __init__(self, arguments, notes, kept):
        super().__init__(application_id="io.github.gst_cuda_filters.Tuner",
                         flags=Gio.ApplicationFlags.NON_UNIQUE)
        self.arguments, self._notes, self._kept = arguments, notes, kept
        self.window = None
        self.problem = None
        quits = Gio.SimpleAction.new("quit", None)
        quits.connect("activate", lambda *_: self.leave())
        self.add_action(quits)

    def do_activate(self):
        if self.window:
            self.window.present()
            return
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT, self.leave)
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, self.leave)
        Gtk.Window.set_default_icon_name(self.get_application_id())
        read_orientation()
        kept = self._kept
        tuning = model.Tuning(self._notes)
        tuning.keep(kept.get("values", {}))
        self.window = Window(self, tuning)
        self._set_keys()
        self._start(kept)
        self.window.connect("close-request", self._on_close)
        self.window.present()
        self.window.preview.grab_focus()

    def _set_keys(self):
        for action, keys in ACCELERATORS.items():
            self.set_accels_for_action(action, keys)
        for number, name in enumerate(model.elements(), 1):
            self.set_accels_for_action(f"win.element::{name}", [f"<Control>{number}"])

    def _start(self, kept):
        window, tuning = self.window, self.window.tuning
        tuning.choose(self.arguments.element or first_element(kept))
        if self.arguments.preset:
            window.load_preset(self.arguments.preset)
        tuning.set_texts(dict(setting.split("=", 1) for setting in self.arguments.set))
        if "size" in kept:
            window.set_default_size(*kept["size"])
        if kept.get("theme") in ("light", "dark"):
            window.change_action_state("theme", GLib.Variant("s", kept["theme"]))
        window.open(Place.of(self.arguments.source or kept.get("source") or DEFAULT_SOURCE))

    def _on_close(self, _window):
        self.leave()
        return True

    def leave(self):
        if self.window:
            window, tuning = self.window, self.window.tuning
            self._keep(window, tuning)
            if self.arguments.json:
                self._print(tuning)
            window.stop()
            window.destroy()
            self.window = None
        self.quit()
        return GLib.SOURCE_REMOVE

    @staticmethod
    def _keep(window, tuning):
        width, height = window.get_default_size()
        session.write({"source": tuning.place.text, "element": tuning.name,
                       "values": tuning.all_texts(), "size": [width, height],
                       "theme": window.get_action_state("theme").get_string()})

    @staticmethod
    def _print(tuning):
        changed = tuning.changed()
        print(json.dumps({"source": tuning.place.text, "element": tuning.name,
                          "settings": changed,
                          "gst-launch": export.as_launch(tuning.name, changed, tuning.place)}))


def main(notes, preset_folder, arguments=None):
    arguments = parse(arguments)
    # Until there is a window, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Gst.init(None)
    presets.find_ours(preset_folder)
    kept = {} if arguments.fresh else session.read()
    wrong = complaints.about(arguments, first_element(kept))
    if not wrong and not Gdk.Display.get_default():
        wrong = "no display can be opened: DISPLAY or WAYLAND_DISPLAY has to name one"
    if wrong:
        print(f"cudafilters-tuner: {wrong}", file=sys.stderr)
        return 2
    return Application(arguments, notes, kept).run(None)
