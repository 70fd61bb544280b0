# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tuner in a process of a test: the window of the program on a screen of Xvfb, moved by
xdotool's mouse and keys, seen by ImageMagick's `import`."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ["CUDAFILTERS_BUILD"])
sys.path[:0] = [str(ROOT / "apps/tuner"), str(ROOT / "tests/pipelines"), str(ROOT / "tools")]

SCREEN = "1280x800x24"
NOTES = BUILD / "gst/controls.json"
PRESETS = ROOT / "presets"
SKIP = 0  # TAP says it in its plan
AT_MOST = 60.0  # seconds for what must come
LOOK_MILLISECONDS = 10  # between looks at what is waited for, where the main loop has nothing to do


def missing_tools(*tools):
    return [tool for tool in tools if not shutil.which(tool)]


def on_a_screen():
    """Runs this program again on a screen of its own, with folders of its own, in English, unless
    it is there. Ends it where something is missing."""
    if os.environ.get("TUNER_TEST_SCREEN"):
        return
    missing = missing_tools("xvfb-run", "xdotool", "import")
    try:
        import gi
        gi.require_version("Gtk", "4.0")
        gi.require_version("GstVideo", "1.0")
    except (ImportError, ValueError) as error:
        missing.append(str(error))
    if missing:
        print(f"1..0 # SKIP missing: {', '.join(missing)}")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as home:
        environment = dict(
            os.environ, TUNER_TEST_SCREEN="1", GSK_RENDERER="cairo", GDK_BACKEND="x11",
            HOME=home, XDG_STATE_HOME=f"{home}/state", XDG_DATA_HOME=f"{home}/data",
            XDG_CONFIG_HOME=f"{home}/config", GTK_A11Y="none", GSETTINGS_BACKEND="memory",
            DBUS_SESSION_BUS_ADDRESS="disabled:", NO_AT_BRIDGE="1",
            CUDAFILTERS_TUNER_LOCALE=str(BUILD / "apps/tuner/po"),
            LANGUAGE=os.environ.get("TUNER_TEST_LANGUAGE", "en"), LANG="C.UTF-8")
        sys.exit(subprocess.run(
            ["xvfb-run", "-a", "-s", f"-screen 0 {SCREEN}", sys.executable, *sys.argv],
            env=environment, check=False).returncode)


class Driver:
    """The program with these arguments."""

    def __init__(self, *arguments):
        import gi
        for name, version in (("Gst", "1.0"), ("GstVideo", "1.0"), ("Gdk", "4.0"), ("Gtk", "4.0")):
            gi.require_version(name, version)
        from gi.repository import Gdk, GLib, Gst
        Gst.init(None)
        from cudafilters_tuner import application, presets, session
        self.raised = []  # what callbacks raised, which bindings only print
        sys.excepthook = self._note
        self._glib, self._context = GLib, GLib.MainContext.default()
        self._display = Gdk.Display.get_default()
        presets.find_ours(PRESETS)
        wanted = application.parse(list(arguments))
        self.app = application.Application(wanted, NOTES, {} if wanted.fresh else session.read())
        self.app.register(None)
        self.app.activate()
        self.window = self.app.window
        self.tuning = self.window.tuning
        self.pairs = 0
        self.errors = []
        self.tuning.connect("pair", self._count)
        self.tuning.connect("error", lambda _tuning, text: self.errors.append(text))

    def _note(self, kind, error, trace):
        self.raised.append("".join(traceback.format_exception(kind, error, trace)))
        sys.__excepthook__(kind, error, trace)

    def _count(self, *_):
        self.pairs += 1

    def wait(self, seconds=0.0, until=None):
        """Runs the main loop: for so long, or until something is so. True when it is."""
        end = time.monotonic() + (AT_MOST if until else seconds)
        look = self._glib.timeout_add(LOOK_MILLISECONDS, lambda: self._glib.SOURCE_CONTINUE)
        so = False
        while not so and time.monotonic() < end:
            self._context.iteration(True)
            so = bool(until and until())
        self._glib.source_remove(look)
        return so or until is None

    def wait_for_frames(self, count=3):
        wanted = self.pairs + count
        return self.wait(until=lambda: self.pairs >= wanted)

    def settle(self):
        """Until the last frame that comes, of a source that stands still, is filtered and shown."""
        shown, end = -1, time.monotonic() + AT_MOST
        while (shown != self.pairs or self.tuning._line.busy) and time.monotonic() < end:
            shown = self.pairs
            self.wait(0.5)

    def hands(self, *words):
        """xdotool, while the window lives on, until all that it did has reached the window."""
        process = subprocess.Popen(["xdotool", *map(str, words)])
        self.wait(until=lambda: process.poll() is not None)
        self._display.sync()
        self.wait(0.1)
        # Painting takes long where others run, and comes after what came from the hands.
        handled = []
        self._glib.idle_add(handled.append, True, priority=self._glib.PRIORITY_DEFAULT + 1)
        self.wait(until=lambda: handled)

    def frame_ms(self, count=5):
        """Processor time, on all threads, in which the frame that is there is filtered and painted:
        the mean of `count` times. The status line is still: a clock writes it, not a frame."""
        from cudafilters_tuner.window import TICK_MILLISECONDS
        self._glib.source_remove(self.window._ticker)
        before = time.process_time()
        for _ in range(count):
            self.tuning.refresh()
            if not self.wait_for_frames(1):
                raise TimeoutError("the frame is not filtered again")
        cost = (time.process_time() - before) / count * 1000
        self.window._ticker = self._glib.timeout_add(TICK_MILLISECONDS, self.window._tick)
        return cost

    def click(self, x, y, times=1):
        self.hands("mousemove", x, y, "sleep", 0.1, "click", "--repeat", times, "--delay", 60, 1)

    def drag(self, start, end, steps=8):
        """The mouse goes down at `start` and up at `end`, on the screen."""
        words = ["mousemove", *start, "sleep", 0.1, "mousedown", 1]
        for step in range(1, steps + 1):
            words += ["sleep", 0.03, "mousemove",
                      *(round(a + (b - a) * step / steps) for a, b in zip(start, end))]
        self.hands(*words, "sleep", 0.05, "mouseup", 1)

    def keys(self, *names):
        self.hands("key", "--delay", 40, *names)

    def write(self, text):
        self.hands("type", "--delay", 15, text)

    def on_screen(self, widget, x=None, y=None):
        """Where a point of a widget, by default its middle, is on the screen."""
        x = widget.get_width() / 2 if x is None else x
        y = widget.get_height() / 2 if y is None else y
        known = widget.translate_coordinates(self.window, x, y)
        inset = self.window.get_surface_transform()
        return round(known[0] + inset[0]), round(known[1] + inset[1])

    def on_picture(self, x, y):
        """Where a pixel of the picture is on the screen."""
        preview = self.window.preview
        return self.on_screen(preview, *preview.to_widget(x, y))

    def see(self, path=None):
        """The screen: rows, columns, 3; kept at `path` besides, by its extension."""
        import numpy as np
        import PIL.Image
        self.wait(0.15)
        with tempfile.TemporaryDirectory() as folder:
            shot = pathlib.Path(folder, "screen.png")
            process = subprocess.Popen(["import", "-window", "root", str(shot)])
            self.wait(until=lambda: process.poll() is not None)
            picture = PIL.Image.open(shot).convert("RGB")
        if path:
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            picture.save(path, **({"quality": 80, "optimize": True}
                                  if str(path).endswith("jpg") else {}))
        return np.asarray(picture)

    def close(self):
        self.app.leave()
        self.wait(0.1)
