#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/reference/properties.md against what gst-inspect-1.0 prints, which people ask first."""
import pathlib
import re
import subprocess

import harness

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/properties.md"
ELEMENTS = ("cudallf", "cudagaussblur", "cudablockavg", "cudasepconv", "cudatonemap")

# Not ours: every element of GStreamer, and every transform, has these.
INHERITED = {"name", "parent", "qos"}


def inspected(element):
    """{property: {blurb, flags, range, default, choices}} as gst-inspect-1.0 has it."""
    text = subprocess.run(["gst-inspect-1.0", "--no-colors", element], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for part in re.split(r"\n  (?=[a-z][\w-]* +: )", text.partition("Element Properties:")[2])[1:]:
        name, _, rest = part.partition(":")
        limits = re.search(r"Range:\s+(\S+) - +(\S+)", rest)
        default = re.search(r'Default:\s+(?:\d\w*, )?"?([^"\n]*?)"?\s*(?:\n|$)', rest)
        found[name.strip()] = {
            "blurb": rest.split("\n")[0].strip(), "flags": re.search(r"flags: (.*)", rest)[1],
            "range": tuple(map(float, limits.groups())) if limits else None,
            "default": default[1] if default else "",
            "choices": dict(re.findall(r"\(\w+\): (\S+) +- (.*)", rest))}
    return {name: told for name, told in found.items() if name not in INHERITED}


def written(element):
    """({property: cells of its row}, {property=value: meaning}) as the page has it."""
    part = PAGE.read_text().partition(f"<!-- properties: {element} reference -->")[2]
    part = part.partition("<!-- end of properties -->")[0]
    rows, choices = {}, {}
    for line in part.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells
        elif len(cells) == 2 and cells[0].startswith("`"):
            choices[cells[0].strip("`")] = cells[1].replace("\\|", "|")
    return rows, choices


def complaint(cells, told):
    """What is wrong with a row, or None."""
    _name, allowed, usual, default, when, what = cells
    if what.replace("\\|", "|") != told["blurb"]:
        return f'"{what}", not "{told["blurb"]}"'
    limits = re.fullmatch(r"([-\d.e+]+?)\.\.([-\d.e+]+)", allowed)
    if limits and tuple(map(float, limits.groups())) != told["range"]:
        return f"allowed {allowed}, not {told['range']}"
    if told["range"] and re.fullmatch(r"[-\d.]+", default) and \
            float(default) != float(told["default"]):
        return f"default {default}, not {told['default']}"
    soft = re.match(r"([-\d.e+]+?)\.\.([-\d.e+]+)", usual)
    if soft and not (told["range"][0] <= float(soft[1]) < float(soft[2]) <= told["range"][1]):
        return f"usual {usual}, outside of {told['range']}"
    if ("writable" in told["flags"]) != (when != "read only") or \
            ("controllable" in told["flags"]) != (when == "animated"):
        return f"{when}, not {told['flags']}"
    return None


def run(tap):
    for element in ELEMENTS:
        told, (rows, choices) = inspected(element), written(element)
        tap.check(set(told) == set(rows), f"{element}: the page has every property, and no other",
                  str(set(told) ^ set(rows)))
        wrong = [f"{name}: {complaint(rows[name], told[name])}" for name in told
                 if name in rows and complaint(rows[name], told[name])]
        tap.check(not wrong, f"{element}: the page says what gst-inspect-1.0 says",
                  "\n".join(wrong))
        expected = {f"{name}={value}": meaning for name, entry in told.items()
                    for value, meaning in entry["choices"].items()}
        tap.check(expected == choices and expected, f"{element}: and so of values",
                  str(set(expected.items()) ^ set(choices.items())))


if __name__ == "__main__":
    harness.main(run)
