# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the command line before there is a window."""
import os

from gi.repository import Gst

from . import controls, presets, tuning as model
from .values import from_text


def about(arguments, element_name):
    """The first error in `arguments`, in one sentence, or None. `element_name`: the filter to start
    with, if they name none."""
    names = model.elements()
    if not names:
        return ("GStreamer has none of the filters: install gst-cuda-filters, or set "
                "GST_PLUGIN_PATH to the folder of libgstcudafilters.so")
    if arguments.element and arguments.element not in names:
        return f"there is no filter {arguments.element}; there are: {', '.join(names)}"
    element = Gst.ElementFactory.make(arguments.element or element_name)
    return (about_preset(arguments.preset, element) or
            next(filter(None, (about_setting(text, element) for text in arguments.set)), None) or
            about_source(arguments.source))


def about_preset(name, element):
    known = [known for group in presets.names(element) for known in group]
    if not name or name in known:
        return None
    return (f"{element.get_factory().get_name()} has no preset {name}; it has: "
            f"{', '.join(known) or 'none'}")


def about_setting(text, element):
    name, equals, value = text.partition("=")
    factory = element.get_factory().get_name()
    known = {control.name: control for control in controls.controls_of(element, {})
             if control.kind != "shown"}
    if not equals:
        return f"--set {text}: write NAME=VALUE, such as alpha=0.4"
    if name not in known:
        return f"{factory} has no property {name}; it has: {', '.join(known)}"
    allowed = allowed_values(known[name], value)
    return allowed and f"{factory} does not take {text}; allowed is {allowed}"


def allowed_values(control, text):
    """The values that `control` allows, if `text` is not one of them; else None."""
    if control.kind == "switch":
        return None if text in ("true", "false") else "true or false"
    if control.kind == "choice":
        nicks = [nick for nick, _ in control.choices]
        return None if text in nicks else f"one of: {', '.join(nicks)}"
    if control.kind not in ("number", "whole"):
        return None
    try:
        good = control.minimum <= from_text(control, text) <= control.maximum
    except ValueError:
        good = False
    kind = "a number" if control.kind == "number" else "a whole number"
    return None if good else f"{kind} from {control.minimum:g} to {control.maximum:g}"


def about_source(source):
    kind, _, rest = (source or "").partition(":")
    if kind == "test" and rest:
        pattern = controls.choices_of(Gst.ElementFactory.make("videotestsrc"), "pattern")
        if rest not in pattern:
            return f"there is no test picture {rest}; there are: {', '.join(pattern)}"
    elif source and kind not in ("camera", "test") and not Gst.uri_is_valid(source):
        if not os.path.exists(source):
            return f"there is no file {source}"
        if not os.path.isfile(source):
            return f"{source} is no file"
    return None
