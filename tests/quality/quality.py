#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a colourist would see of cudallf, measured on clips made from photographs.

    quality.py            checks what the defaults promise, and that every preset works, in TAP
    quality.py --write    writes the tables and pictures of docs/reference/quality.md anew

Needs the plugin (GST_PLUGIN_PATH), and to write Debian's python3-opencv, for CLAHE and unsharp
masking.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "pipelines"), str(ROOT / "tools")]

import bounds
import clips
import harness
import measures
import methods

PAGE = ROOT / "docs" / "reference" / "quality.md"
EQUAL_GAIN = bounds.DETAIL


def rows():
    """(name, method) of the page's first table."""
    yield "`cudallf`, nothing set", methods.element("cudallf")
    yield "`reach=0.07`", methods.element("cudallf reach=0.07")
    yield "`protect=false`", methods.element("cudallf protect=false")
    for name in methods.presets("cudallf"):
        yield f"preset `{name}`", methods.element(f"cudallf @preset={name}")
    yield "`cudasepconv preset=unsharp`", methods.element("cudasepconv preset=unsharp")
    yield "OpenCV: CLAHE, limit 2, 8x8 tiles", methods.clahe(2.0)
    yield "OpenCV: unsharp, sigma 5, amount 1", methods.unsharp(1.0)
    yield "OpenCV: unsharp, sigma 1, amount 1", methods.unsharp(1.0, 1.0)


def families():
    """(name of the setting, method by setting, its range): what can be set to a gain of detail."""
    for words in "cudallf", f"cudallf {bounds.QUIET}":
        yield (f"`{words} alpha={{}}`",
               lambda x, words=words: methods.element(f"{words} alpha={1 - x:.4f}"), 0.3, 0.7)
    yield "OpenCV: CLAHE, limit {}", methods.clahe, 0.2, 3.0
    yield "OpenCV: unsharp, sigma 5, amount {}", methods.unsharp, 0.05, 1.5


def line(name, method, shown):
    results = methods.applied(method, shown)
    cells = [form.format(measure(shown, results)) for _, measure, form in measures.COLUMNS]
    return f"| {name} | {' | '.join(cells)} |"


def table(named):
    heads = ["", *(head for head, _, _ in measures.COLUMNS)]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    shown = clips.clips()
    for name, method in named:
        yield line(name, method, shown)


def equal_rows():
    only = {"fur": clips.clips()["fur"]}
    for name, family, low, high in families():
        setting = methods.with_gain(
            family, lambda made: measures.texture(only, methods.applied(made, only)), EQUAL_GAIN,
            low, high)
        shown = 1 - setting if "alpha" in name else setting
        yield name.format(f"{shown:.2f}"), family(setting)


def bounds_table():
    yield "| what | measured | allowed | |"
    yield "|---|---|---|---|"
    for bound in bounds.bounds(clips.clips()):
        mark = "" if bound.held else "**missed**"
        yield f"| {bound.what} | {bound.measured} | {bound.allowed} | {mark} |"


def write():
    if not methods.HAS_OPENCV:
        sys.exit("python3-opencv is missing: the page compares with CLAHE and unsharp masking")
    import pictures

    equal = list(equal_rows())
    parts = {"bounds": bounds_table, "table": lambda: table(rows()),
             "equal": lambda: table(equal)}
    for name, lines in parts.items():
        begin, end = f"<!-- quality.py: {name} -->", f"<!-- end of {name} -->"
        text = []
        for text_line in lines():
            print(text_line, flush=True)
            text.append(text_line)
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(begin)
        after = rest.split(end)[1]
        PAGE.write_text("\n".join([before + begin, "", *text, "", end + after]), encoding="utf-8")
    pictures.draw(ROOT / "docs" / "images", [
        (name.replace(bounds.QUIET, "as quiet-detail:"), method) for name, method in equal])


def check_presets(tap):
    shown = {"fur": [clips.codes(clips.fur())]}
    for element in methods.FILES:
        for name, settings in methods.presets(element).items():
            before = shown["fur"][0]
            after = methods.applied(methods.element(f"{element} @preset={name}"), shown)["fur"][0]
            by_hand = " ".join(f"{key}={value}" for key, value in settings.items()
                               if not key.startswith("_meta"))
            same = methods.applied(methods.element(f"{element} {by_hand}"), shown)["fur"][0]
            tap.check((after != before).any() and (after == same).all(),
                      f"preset {name} of {element} does what its values do",
                      "it changes nothing, or not what its values change")


def check(tap):
    check_presets(tap)
    for bound in bounds.bounds(clips.clips()):
        tap.check(bound.held, bound.what, f"{bound.measured}, allowed is {bound.allowed}")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        harness.main(check)
