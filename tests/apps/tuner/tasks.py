#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people do with the tuner, done with the mouse and the keys, and looked at on the screen.

tasks.py [FOLDER] keeps the pictures of the screen there; in docs/images docs/guides/tuner.md shows
them.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import driver

driver.on_a_screen()

import numpy as np
import PIL.Image

import harness
from photographs import photograph

SHOT_WIDTH = 960


def make_video(path):
    """A second of a camera that goes over a photograph, 1280x720."""
    picture = PIL.Image.fromarray(photograph("rocket.jpg")).resize((1440, 961), PIL.Image.LANCZOS)
    frames = b"".join(picture.crop((x, 100, x + 1280, 820)).convert("RGB").tobytes()
                      for x in range(0, 100, 4))
    raw = path.with_suffix(".raw")
    raw.write_bytes(frames)
    harness.launch("filesrc", [f"location={raw}"], "blocksize=2764800 ! rawvideoparse format=rgb "
                   "width=1280 height=720 framerate=25/1 ! videoconvert ! "
                   "video/x-raw,format=I420 ! x264enc speed-preset=ultrafast ! mp4mux ! filesink",
                   [f"location={path}"])
    raw.unlink()


class Tasks:
    def __init__(self, tap, folder, shots):
        self.tap, self.folder, self.shots = tap, folder, shots
        self.video, self.photo = folder / "launch.mp4", folder / "portrait.png"
        make_video(self.video)
        PIL.Image.fromarray(photograph("astronaut.png")).resize((720, 720), PIL.Image.LANCZOS).save(
            self.photo)
        self.hand = None

    def see(self, name):
        """Rows, columns, 3 of the screen, as whole numbers."""
        seen = self.hand.see()
        if self.shots:
            self.shots.mkdir(parents=True, exist_ok=True)
            picture = PIL.Image.fromarray(seen)
            height = picture.height * SHOT_WIDTH // picture.width
            picture.resize((SHOT_WIDTH, height), PIL.Image.LANCZOS).save(
                self.shots / f"tuner-{name}.jpg", quality=82, optimize=True)
        return seen.astype(int)

    def on_picture(self, seen, left, top, right, bottom):
        """The part of the screen between these points of the picture."""
        x0, y0 = self.hand.on_picture(left, top)
        x1, y1 = self.hand.on_picture(right, bottom)
        return seen[y0:y1, x0:x1]

    def focus(self):
        """On the picture, where keys do what the page of keys says."""
        self.hand.window.preview.grab_focus()
        self.hand.wait(0.05)

    # The tasks, in the order of the guide

    def open(self):
        """With Ctrl+O, and the name written into the dialog. That of newer GTKs takes Enter for the
        folder: there with Ctrl+L, which takes files, too."""
        from gi.repository import Gtk
        hand = self.hand
        if Gtk.get_minor_version() < 10:
            hand.keys("ctrl+o")
        else:
            hand.keys("ctrl+l")
            hand.wait(0.3)
            hand.keys("ctrl+a")
        hand.wait(0.6)
        hand.write(str(self.video))
        hand.wait(0.4)
        hand.keys("Return")
        opened = hand.wait(until=lambda: hand.tuning.place.path == str(self.video))
        self.tap.check(opened and hand.wait_for_frames(10), "1 open a video",
                       hand.tuning.place.text)
        self.see("open")

    def tune(self):
        """By dragging a slider; the picture on the right changes, that on the left does not."""
        hand = self.hand
        hand.tuning.source.play(False)
        hand.settle()
        before = hand.see().astype(int)
        slider = hand.window.panel.rows["alpha"].slider
        x, y = hand.on_screen(slider)
        start = hand.on_screen(slider, 12 + slider.get_value() * (slider.get_width() - 24))
        hand.drag((start[0], y), (x - 110, y))
        hand.settle()
        after = self.see("tune")
        left = [self.on_picture(seen, 60, 200, 600, 700) for seen in (before, after)]
        right = [self.on_picture(seen, 700, 200, 1240, 700) for seen in (before, after)]
        self.tap.check(hand.tuning.get("alpha") < 0.3, "2 drag the slider of alpha",
                       str(hand.tuning.get("alpha")))
        self.tap.check(np.abs(left[1] - left[0]).max() <= 2 and
                       np.abs(right[1] - right[0]).mean() > 0.3,
                       "2 the right half of the picture changes, the left stays")

    def compare(self):
        """The line is dragged; while C is held all is as it was."""
        hand = self.hand
        hand.drag(hand.on_picture(640, 500), hand.on_picture(250, 500))
        self.tap.check(hand.wait(until=lambda: abs(hand.window.preview.split - 250 / 1280) < 0.01),
                       "3 drag the line",
                       str(hand.window.preview.split))
        moved = self.see("compare")
        hand.hands("mousemove", *hand.on_screen(hand.window.compare_button), "sleep", 0.1,
                   "mousedown", 1)
        held = hand.window.preview.holds_before
        hand.hands("mouseup", 1)
        self.tap.check(held and not hand.window.preview.holds_before,
                       "3 hold the button Compare, let it go")
        self.focus()
        hand.hands("keydown", "c")
        held = hand.see().astype(int)
        hand.hands("keyup", "c")
        back = hand.see().astype(int)
        area = (400, 200, 1240, 700)
        differs = np.abs(self.on_picture(held, *area) - self.on_picture(moved, *area)).mean()
        returns = np.abs(self.on_picture(back, *area) - self.on_picture(moved, *area)).max()
        # What is painted in parts is scaled in parts, and rounds differently.
        self.tap.check(differs > 0.3 and returns <= 2, "3 hold C: before; let go: after",
                       f"{differs} {returns}")

    def preset(self):
        """Out of the menu, by keys."""
        hand = self.hand
        hand.click(*hand.on_screen(hand.window.menus.preset_button))
        hand.wait(0.3)
        hand.keys("Down")
        self.see("preset")
        hand.keys("Return")
        chosen = hand.wait(until=lambda: hand.tuning.get("beta") == 0.4)
        self.tap.check(chosen and hand.tuning.get("sigma") == 0.15,
                       "4 choose the preset hdr-like from the menu", str(hand.tuning.changed()))

    def zoom(self):
        """1 for actual size: a pixel of the picture is one of the screen."""
        hand, preview = self.hand, self.hand.window.preview
        self.focus()
        hand.keys("1")
        actual = hand.wait(until=lambda: preview.place()[2:] == (1280, 720) and
                           preview.get_width() == 1280)
        self.tap.check(actual, "5 look at it in actual size", str(preview.place()))
        self.see("zoom")
        x, y = hand.on_screen(hand.window.scroller)
        hand.hands("mousemove", x, y, "keydown", "ctrl", "click", 4, "keyup", "ctrl")
        larger = hand.wait(until=lambda: preview.place()[2:] == (2560, 1440))
        self.tap.check(larger, "5 larger with Ctrl and the wheel",
                       str(preview.place()))
        self.focus()
        hand.keys("f")
        self.tap.check(hand.wait(until=lambda: preview.get_width() < 1280),
                       "5 fit the window again")

    def map(self):
        """Tilt-shift; its centre is dragged on the picture, and the map shown."""
        hand, tuning = self.hand, self.hand.tuning
        hand.keys("ctrl+2")
        hand.wait(0.3)
        tuning.open(str(self.video))
        hand.wait_for_frames()
        hand.window.load_preset("tilt-shift")
        hand.wait(0.4)
        hand.drag(hand.on_picture(640, 360), hand.on_picture(520, 500))
        self.tap.check(abs(tuning.get("map-y") - 500 / 720) < 0.01 and
                       abs(tuning.get("map-x") - 520 / 1280) < 0.01,
                       "6 drag the centre of the blur map", str(tuning.changed()))
        hand.drag(hand.on_picture(520 + 0.25 * 1280, 500), hand.on_picture(520 + 300, 440))
        self.tap.check(-14 < tuning.get("map-angle") < -9, "6 turn its line",
                       str(tuning.get("map-angle")))
        plain = hand.see().astype(int)
        self.focus()
        hand.keys("m")
        veiled = self.see("map")
        sky = (900, 30, 1250, 90)
        change = (self.on_picture(veiled, *sky) - self.on_picture(plain, *sky)).mean((0, 1))
        self.tap.check(change[0] > 40 and change[0] > change[1] + 30, "6 see where it blurs",
                       str(change))
        self.focus()
        hand.keys("m")

    def region(self):
        """Drawn on a face, moved, made larger at a corner, and removed."""
        hand, tuning = self.hand, self.hand.tuning
        hand.keys("ctrl+3")
        hand.wait(0.3)
        tuning.open(str(self.photo))
        hand.wait_for_frames(1)
        hand.wait(0.3)
        hand.window.preview.split = 0.0
        self.focus()
        hand.keys("r")
        hand.drag(hand.on_picture(230, 60), hand.on_picture(380, 260))
        self.tap.check(tuning.get("roi-mode") == "inside" and
                       near(tuning.get("regions"), (230, 60, 150, 200)), "7 draw a region",
                       tuning.get("regions"))
        hand.drag(hand.on_picture(300, 150), hand.on_picture(320, 160))
        self.tap.check(near(tuning.get("regions"), (250, 70, 150, 200)), "7 drag it",
                       tuning.get("regions"))
        hand.drag(hand.on_picture(400, 270), hand.on_picture(410, 290))
        self.tap.check(near(tuning.get("regions"), (250, 70, 160, 220)), "7 drag a corner",
                       tuning.get("regions"))
        tuning.set("roi-shape", "ellipse")
        tuning.set("blocks-across", 5)
        hand.wait(0.4)
        self.see("region")
        self.focus()
        hand.keys("Delete")
        self.tap.check(hand.wait(until=lambda: tuning.get("regions") == ""), "7 remove it")

    def save_preset(self):
        """Its name is written into a window; it is in the menu, and comes back."""
        hand, tuning = self.hand, self.hand.tuning
        tuning.set("block-width", 12)
        hand.keys("ctrl+shift+s")
        hand.wait(0.5)
        hand.write("small blocks")
        self.see("save-preset")
        hand.keys("Return")
        hand.wait(0.4)
        hand.keys("ctrl+r")
        reset = hand.wait(until=lambda: tuning.changed() == {})
        hand.window.lookup_action("preset").activate(text_variant("small blocks"))
        loaded = hand.wait(until=lambda: tuning.get("block-width") == 12)
        self.tap.check(reset and loaded,
                       "8 save a preset, reset all, and load it", str(tuning.changed()))

    def copy(self):
        """What is copied is a command line, and it runs."""
        hand = self.hand
        hand.keys("ctrl+1")
        hand.wait(0.2)
        hand.tuning.open(str(self.video))
        hand.wait_for_frames()
        hand.keys("ctrl+shift+c")
        hand.wait(0.2)
        self.see("copy")
        copied = []
        hand.window.get_clipboard().read_text_async(
            None, lambda clipboard, result: copied.append(clipboard.read_text_finish(result)))
        hand.wait(until=lambda: copied)
        text = copied[0] if copied else ""
        done = subprocess.run(["sh", "-c", text], check=False, text=True, timeout=60, env=dict(
            os.environ, GST_PLUGIN_FEATURE_RANK="fakevideosink:MAX"), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.tap.check("cudallf sigma=0.15" in text and done.returncode == 0,
                       "9 copy the command line, and run it", f"{text}\n{done.stdout}")

    def save_picture(self):
        hand = self.hand
        path = self.folder / "saved.png"
        hand.keys("ctrl+s")
        hand.wait(0.6)
        hand.keys("ctrl+a")
        hand.write(str(path))
        hand.wait(0.4)
        hand.keys("Return")
        written = hand.wait(until=path.exists)
        hand.wait(0.3)
        self.tap.check(written and PIL.Image.open(path).size == (1280, 720),
                       "10 save the filtered picture")

    def leave_and_return(self):
        """The next start goes on where this one stopped: in the dark, this time."""
        hand = self.hand
        hand.window.change_action_state("theme", text_variant("dark"))
        changed = hand.tuning.changed()
        hand.keys("ctrl+q")
        hand.wait(until=lambda: hand.app.window is None)
        self.tap.check(not hand.raised, "nothing was raised", "\n".join(hand.raised))
        self.hand = hand = driver.Driver()
        playing = hand.wait_for_frames()
        self.tap.check(playing and hand.tuning.changed() == changed and
                       hand.tuning.place.path == str(self.video),
                       "11 leave, and go on the next time", str(hand.tuning.changed()))
        seen = self.see("dark")
        self.tap.check(seen[700:790, 20:60].mean() < 90, "11 dark, as it was left",
                       str(seen[700:790, 20:60].mean()))
        hand.close()


def near(regions, wanted):
    """Within two pixels: one of the screen is more than one of the picture."""
    try:
        return max(abs(int(a) - b) for a, b in zip(regions.split(","), wanted)) <= 2
    except ValueError:
        return False


def text_variant(text):
    from gi.repository import GLib
    return GLib.Variant("s", text)


def run(tap):
    shots = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as name:
        tasks = Tasks(tap, pathlib.Path(name), shots)
        tasks.hand = driver.Driver("--fresh", "test:smpte")
        tasks.hand.wait_for_frames()
        for task in (tasks.open, tasks.tune, tasks.compare, tasks.preset, tasks.zoom, tasks.map,
                     tasks.region, tasks.save_preset, tasks.copy, tasks.save_picture,
                     tasks.leave_and_return):
            task()


if __name__ == "__main__":
    harness.main(run)
