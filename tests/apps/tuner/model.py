#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tuner without its window: controls, scales, what is dragged, presets, and what is copied,
which is compiled and run."""
import gettext
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import driver

if "TUNER_TEST_HOME" not in os.environ:
    with tempfile.TemporaryDirectory() as made:
        sys.exit(subprocess.run([sys.executable, *sys.argv], check=False, env=dict(
            os.environ, TUNER_TEST_HOME=made, XDG_DATA_HOME=f"{made}/data",
            XDG_STATE_HOME=f"{made}/state")).returncode)

try:
    import gi
    for module, version in (("Gst", "1.0"), ("GstVideo", "1.0")):
        gi.require_version(module, version)
    from gi.repository import Gst
except (ImportError, ValueError) as missing:
    print(f"1..0 # SKIP {missing}")
    sys.exit(driver.SKIP)
import numpy as np

import harness
from cudafilters_tuner import (controls, export, maps, presets, scales, session, shapes, tuning,
                               values)
from cudafilters_tuner.source import Place

FAKE_SINK = dict(os.environ, GST_PLUGIN_FEATURE_RANK="fakevideosink:MAX")


def check_scales(tap):
    worst = 0.0
    for scale, low, high in (("linear", -3, 7), ("log", 0.05, 10), ("square", -5, 60),
                             ("square", 0, 64)):
        for where in np.linspace(0, 1, 101):
            value = scales.value_at(scale, low, high, where)
            worst = max(worst, abs(scales.place(scale, low, high, value) - where))
    tap.check(worst < 1e-9, "a slider is where its value is", f"{worst} off")
    tap.check(abs(scales.value_at("log", 0.1, 10, 0.5) - 1) < 1e-9 and
              scales.value_at("square", -4, 4, 0.75) == 1.0, "scales are log and square")
    tap.check(scales.usable("log", 0.0) == "linear" and scales.usable("new", 1.0) == "linear",
              "a scale that cannot be is linear")
    tap.check(scales.tidy(5.2, 48, 2, 3) == 5 and scales.tidy(0.123456, 1) == 0.12 and
              scales.tidy(0.000123456, 1) == 0.00012, "values are as round as can be meant")


def check_controls(tap, notes):
    for name in tuning.elements():
        element = Gst.ElementFactory.make(name)
        made = controls.controls_of(element, notes)
        ours = {spec.name for spec in element.list_properties()
                if spec.owner_type.name.startswith("GstCuda")}
        tap.check({control.name for control in made} == ours, f"{name}: a control for everything")
        tap.check(set(notes[name]) == ours, f"{name}: the notes name what there is, and all of it",
                  str(set(notes[name]) ^ ours))
        tap.check(all(control.group for control in made), f"{name}: everything has a group")
        bad = [control.name for control in made if control.kind in ("number", "whole") and not
               control.minimum <= control.soft_minimum < control.soft_maximum <= control.maximum]
        bad += [control.name for control in made if scales.usable(
            control.scale, control.soft_minimum) != control.scale]
        tap.check(not bad, f"{name}: usual ranges and scales are possible", " ".join(bad))
        check_values(tap, name, element, made)


def check_values(tap, name, element, made):
    """Each value that can be read is written back through its text and stays what it was."""
    changed = []
    for control in made:
        if control.kind != "shown":
            before = values.read(element, control)
            values.write(element, control,
                         values.from_text(control, values.to_text(control, before)))
            if values.read(element, control) != before:
                changed.append(control.name)
    tap.check(not changed, f"{name}: values survive as text", " ".join(changed))


def check_unknown(tap):
    """A plugin that controls.json knows nothing of, and elements of others."""
    for name in ("cudagaussblur", "videobalance", "gaussianblur", "gamma"):
        if not Gst.ElementFactory.find(name):
            tap.skip(f"{name}: without notes", f"there is no {name}")
            continue
        element = Gst.ElementFactory.make(name)
        made = controls.controls_of(element, controls.read_notes("/nonexistent"))
        ranges = [control for control in made if control.kind in ("number", "whole")]
        tap.check(ranges and all(control.soft_minimum <= control.soft_maximum and
                                 scales.usable(control.scale, control.soft_minimum) == "linear"
                                 for control in ranges),
                  f"{name}: without notes there are controls all the same")
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder, "controls.json")
        broken.write_text('{"elements": [1')
        tap.check(controls.read_notes(broken) == {}, "broken notes are none")


def check_shapes(tap):
    regions = shapes.parse_regions("1,2,30,40; 5,6,7,8;nonsense;1,2")
    tap.check(shapes.format_regions(regions) == "1,2,30,40;5,6,7,8", "regions are read and written")
    tap.check(shapes.resized(regions[0], 0, (11, 12)) == shapes.Region(11, 12, 20, 30) and
              shapes.resized(regions[0], 3, (11, 12)) == shapes.Region(1, 2, 10, 10),
              "a corner moves, the opposite one stays")
    for mode in shapes.DRAWN_MAPS:
        shape = shapes.Map(mode, 0.4, 0.6, 0.1, 0.3, 30.0)
        wrong = []
        for handle, point in shape.handles(640, 360).items():
            name = {"centre": "map-x"}.get(handle, f"map-{handle}")
            now = {"map-x": 0.4, "map-y": 0.6, "map-inner": 0.1, "map-outer": 0.3,
                   "map-angle": 30.0}
            told = shape.dragged(handle, point, 640, 360)
            if any(abs(told[key] - now[key]) > 1e-3 for key in told) or name not in told:
                wrong.append(f"{handle} {told}")
        tap.check(not wrong, f"{mode}: a handle that stays changes nothing", str(wrong))


def check_maps(tap):
    """Against the definition of the map, with arithmetic of numpy."""
    width, height = 320, 180
    for mode in shapes.DRAWN_MAPS:
        shape = shapes.Map(mode, 0.4, 0.6, 0.1, 0.3, 20.0)
        columns, rows, made = maps.drawn(shape, width, height)
        x = (np.arange(columns) + 0.5)[None, :] * width / columns - 0.4 * width
        y = (np.arange(rows) + 0.5)[:, None] * height / rows - 0.6 * height
        turn = np.deg2rad(20.0)
        distance = (np.hypot(x, y) if mode == "radial" else
                    np.abs(y * np.cos(turn) - x * np.sin(turn))) / width
        wanted = np.clip((distance - 0.1) / 0.2, 0, 1)
        off = np.abs(wanted - np.reshape(made, (rows, columns))).max()
        tap.check(off < 1e-9, f"{mode}: the veil is the map", f"{off} off")
    frame = np.zeros((20, 30, 4), np.uint8)
    frame[:, 15:] = (255, 255, 255, 128)
    _columns, _rows, luma = maps.of_frame("luma", frame.tobytes(), 120, 30, 20)
    _columns, _rows, alpha = maps.of_frame("alpha", frame.tobytes(), 120, 30, 20)
    tap.check(min(luma) == 0 and abs(max(luma) - 1) < 1e-9 and max(alpha) == 128 / 255,
              "luma and alpha are those of the frame")


def check_presets(tap):
    found = {name: presets.names(Gst.ElementFactory.make(name))[0] for name in tuning.elements()}
    expected = {"cudallf": ["fog", "hdr-like", "landscape", "night", "portrait", "quiet-detail",
                            "screen", "soft-skin"],
                "cudagaussblur": ["face-mask", "tilt-shift"],
                "cudablockavg": [], "cudasepconv": [], "cudatonemap": []}
    tap.check(all(found[name] == expected[name] for name in found), "our presets are there",
              str(found))
    for name, ours in found.items():
        for preset in ours:
            output = subprocess.run(
                ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!", "video/x-raw,"
                 "width=64,height=48,format=I420", "!", name, f"@preset={preset}", "!", "fakesink"],
                text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            tap.check(output.returncode == 0 and not output.stdout,
                      f"{name} @preset={preset} plays without a word", output.stdout)


def check_own_presets(tap):
    """What is saved comes back, whole, and nothing of the machine is in it."""
    model = tuning.Tuning(driver.NOTES)
    model.choose("cudasepconv")
    settings = {"row-kernel": "<1,2,1>", "planes": "chroma+alpha", "bias": "0.25",
                "border-color": "0x80ff0000", "border": "constant", "normalize": "true"}
    model.set_texts({**settings, "n-threads": "1"})
    tap.check(model.save_preset("mine"), "a preset is saved")
    model.reset_all()
    tap.check(model.changed() == {}, "all is reset", str(model.changed()))
    model.set_texts({"scale": "3", "backend": "cpu"})
    tap.check(model.load_preset("mine") and model.changed() == {**settings, "backend": "cpu"},
              "it comes back, and the backend stays", str(model.changed()))
    tap.check(presets.names(model.element) == ([], ["mine"]), "it is the user's")
    tap.check(model.delete_preset("mine") and presets.names(model.element) == ([], []),
              "it is deleted")
    model.choose("cudallf")
    model.save_preset("mine")
    ours, users = presets.names(model.element)
    tap.check(users == ["mine"] and "fog" in ours and not model.delete_preset("fog"),
              "presets of ours stay ours beside it, and cannot be deleted")
    model.close()


def run_copied(tap, way, text, folder):
    """What was copied ends by itself; it must say nothing."""
    if way == "gst-launch":
        command = ["sh", "-c", text.replace("gst-launch-1.0", "gst-launch-1.0 -q", 1)]
    elif way == "Python":
        (folder / "program.py").write_text(text)
        command = [sys.executable, folder / "program.py"]
    else:
        (folder / "program.c").write_text(text)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gstreamer-1.0"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split()
        subprocess.run(["cc", "-Wall", "-Werror", folder / "program.c", *flags, "-o",
                        folder / "program"], check=True)
        command = [folder / "program"]
    done = subprocess.run(command, env=FAKE_SINK, text=True, check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.check(done.returncode == 0 and not done.stdout, f"copied as {way}, it runs", done.stdout)


def check_export(tap):
    still = export.as_launch("cudallf", {}, Place.of("/tmp/a photo.JPG"))
    tap.check("'location=/tmp/a photo.JPG' ! decodebin ! imagefreeze !" in still,
              "a photograph stays in the window", still)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        clip = folder / 'a "quoted" name.mp4'
        harness.launch("videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48 ! x264enc ! "
                       "mp4mux ! filesink", [f"location={clip}"])
        settings = {"row-kernel": "<1,4,1>", "planes": "luma+alpha", "bias": "0.1",
                    "normalize": "true"}
        for way, write in export.WAYS.items():
            text = write("cudasepconv", settings, Place.of(str(clip)))
            missing = [value for value in settings.values() if value not in text]
            tap.check(not missing, f"copied as {way}, it has all values", text)
            if way == "C" and not (shutil.which("cc") and shutil.which("pkg-config")):
                tap.skip("copied as C, it runs", "there is no compiler")
            else:
                run_copied(tap, way, text, folder)


def check_session(tap):
    kept = {"element": "cudallf", "values": {"cudallf": {"alpha": "0.3"}}}
    session.write(kept)
    tap.check(session.read() == kept, "a session is kept")
    session.path().write_text("{broken")
    tap.check(session.read() == {}, "a broken session is none")
    model = tuning.Tuning(driver.NOTES)
    model.choose("cudallf")
    model.set_texts({"alpha": "0.3", "gone": "1", "beta": "nonsense"})
    tap.check(model.changed() == {"alpha": "0.3"}, "what is not understood is left out")
    model.close()


def strings_of_program():
    found = subprocess.run(
        ["xgettext", "--language=Python", "--keyword=_", "--from-code=UTF-8", "--no-wrap",
         "--output=-", *map(str, (driver.ROOT / "apps/tuner/cudafilters_tuner").glob("*.py"))],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    return set(re.findall(r'^msgid "(.+)"$', found, re.M))


def check_translations(tap):
    """Whoever adds a text to the program translates it; those of properties may be late."""
    folder = driver.ROOT / "apps/tuner/po"
    if not shutil.which("xgettext"):
        tap.skip("translations", "gettext is missing")
        return
    for language in (folder / "LINGUAS").read_text().split():
        text = (folder / f"{language}.po").read_text()
        done = {key for key, value in re.findall(r'^msgid "(.+)"\nmsgstr "(.*)"$', text, re.M)
                if value}
        lacking = strings_of_program() - done
        tap.check(not lacking, f"{language} has all texts of the program: tuner/po/update",
                  "\n".join(sorted(lacking)))
    catalogue = gettext.translation("cudafilters-tuner", driver.BUILD / "apps/tuner/po", ["de"])
    tap.check(catalogue.gettext("Reset all") == "Alles zurücksetzen", "a translation is built")


def run(tap):
    Gst.init(None)
    presets.find_ours(driver.PRESETS)
    notes = json.loads(driver.NOTES.read_text())
    tap.check(notes["version"] == 1, "controls.json is of version 1")
    check_scales(tap)
    check_controls(tap, controls.read_notes(driver.NOTES))
    check_unknown(tap)
    check_shapes(tap)
    check_maps(tap)
    check_presets(tap)
    check_own_presets(tap)
    check_export(tap)
    check_session(tap)
    check_translations(tap)


if __name__ == "__main__":
    harness.main(run)
