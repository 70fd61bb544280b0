# SPDX-License-Identifier: LGPL-2.1-or-later
"""Values of properties, as Python has them and as gst-launch-1.0 writes them.

number float, whole int, switch bool, color int, choice its nick, flags nicks joined by `+`, list
`<1,4,1>`, text and file a string, shown any text.
"""
from gi.repository import Gst


def read(element, control):
    value = element.get_property(control.name)
    if control.kind == "choice":
        return value.value_nick
    if control.kind == "flags":
        return "+".join(value.value_nicks) or "0"
    if control.kind == "list":
        return "<" + ",".join(f"{tap:.15g}" for tap in value) + ">"
    if control.kind in ("text", "file"):
        return value or ""
    if control.kind == "shown":
        return value.to_string() if isinstance(value, Gst.Structure) else str(value)
    return value


def write(element, control, value):
    """Sets a property. The element checks the value with its next frame: read it back then."""
    if control.kind in ("choice", "flags", "list"):
        Gst.util_set_object_arg(element, control.name, value)
    elif control.kind in ("text", "file"):
        element.set_property(control.name, value or None)
    elif control.kind == "number":
        element.set_property(control.name,
                             min(max(float(value), control.minimum), control.maximum))
    elif control.kind == "whole":
        element.set_property(control.name,
                             int(min(max(value, control.minimum), control.maximum)))
    elif control.kind != "shown":
        element.set_property(control.name, value)


def to_text(control, value):
    """The value as gst-launch-1.0 takes it, without shell quotes."""
    if control.kind == "switch":
        return "true" if value else "false"
    if control.kind == "number":
        return f"{value:.10g}"
    if control.kind == "color":
        return f"0x{value:08x}"
    return str(value)


def from_text(control, text):
    if control.kind == "switch":
        return text == "true"
    if control.kind == "number":
        return float(text)
    if control.kind in ("whole", "color"):
        return int(text, 0)
    return text
