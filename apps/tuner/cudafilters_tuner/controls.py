# SPDX-License-Identifier: LGPL-2.1-or-later
"""What there is to set on an element: from its GParamSpecs, which every GStreamer knows, and from
controls.json, which our parameter tables wrote, for what these do not tell: group, usual range,
scale and step. An element or a property that the file does not name still gets a control.
"""
import dataclasses
import json

from gi.repository import GObject, Gst

NUMBERS = {"GParamDouble": "number", "GParamFloat": "number", "GParamInt": "whole",
           "GParamUInt": "whole", "GParamInt64": "whole", "GParamUInt64": "whole",
           "GParamLong": "whole", "GParamULong": "whole"}
OTHERS = {"GParamBoolean": "switch", "GParamEnum": "choice", "GParamFlags": "flags",
          "GParamString": "text", "GstParamArray": "list"}

# Types whose properties are not settings of the filter.
NOT_OURS = {"GObject", "GstObject", "GstElement", "GstBaseTransform", "GstVideoFilter"}

# Largest span for which a slider is useful.
WIDEST = 1e5


@dataclasses.dataclass(frozen=True)
class Control:
    """A property, and how to show it."""
    name: str
    nick: str
    blurb: str
    kind: str  # number whole switch choice flags color list text file, or shown (read-only)
    group: str
    minimum: float = 0.0
    maximum: float = 0.0
    soft_minimum: float = 0.0  # of the slider; equal to soft_maximum: no slider
    soft_maximum: float = 0.0
    scale: str = "linear"
    step: float = 0.0
    unit: str = ""  # ns, bytes or none
    choices: tuple = ()  # (nick, meaning) of a choice or flags
    restarts: bool = False  # takes effect at the next start

    @property
    def slides(self):
        return self.soft_minimum < self.soft_maximum


def read_notes(path):
    """controls.json as {element: {property: entry}}, in its order; empty without the file."""
    try:
        with open(path, encoding="utf-8") as file:
            elements = json.load(file)["elements"]
        return {name: {entry["name"]: entry for entry in entries}
                for name, entries in elements.items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _kind(spec):
    type_name = spec.__gtype__.name
    if not spec.flags & GObject.ParamFlags.WRITABLE:
        return "shown"
    if type_name == "GParamUInt" and spec.maximum == 0xffffffff:
        return "color"
    if type_name == "GParamString" and spec.name.endswith("location"):
        return "file"
    return NUMBERS.get(type_name) or OTHERS.get(type_name) or "shown"


def _choices(element, spec, kind):
    """(nick, meaning) of each value, from the class of a value: where that has them depends on the
    version of the bindings, but less than with a GParamSpec."""
    members = type(element.get_property(spec.name)) if kind in ("choice", "flags") else None
    for place in ("__enum_values__", "__flags_values__"):
        members = getattr(members, place, members)
    members = members.values() if isinstance(members, dict) else members or ()
    if kind == "flags":
        return tuple((value.first_value_nick, value.first_value_name) for value in members)
    return tuple((value.value_nick, value.value_name) for value in members)


def choices_of(element, name):
    """The nicks allowed for a property of any element."""
    return [nick for nick, _ in _choices(element, element.find_property(name), "choice")]


def _make(element, spec, note):
    kind = _kind(spec)
    numeric = kind in ("number", "whole")
    minimum, maximum = (spec.minimum, spec.maximum) if numeric else (0.0, 0.0)
    soft = (note.get("soft-minimum", minimum), note.get("soft-maximum", maximum))
    if soft[1] - soft[0] > WIDEST and "soft-maximum" not in note:
        soft = (0.0, 0.0)
    playing = spec.flags & Gst.PARAM_MUTABLE_PLAYING
    owner = spec.owner_type.name
    group = note.get("group") or ("Regions" if spec.name.startswith("roi-") else
                                  "Backend" if owner.endswith("Base") else "Settings")
    return Control(
        name=spec.name, nick=spec.nick, blurb=spec.blurb, kind=kind, group=group, minimum=minimum,
        maximum=maximum, soft_minimum=max(soft[0], minimum), soft_maximum=min(soft[1], maximum),
        scale=note.get("scale", "linear"), step=note.get("step", 0.0), unit=note.get("unit", ""),
        choices=_choices(element, spec, kind), restarts=kind != "shown" and not playing)


def controls_of(element, notes):
    """The controls of `element`, in the order of the notes; properties not in them come last."""
    named = notes.get(element.get_factory().get_name(), {})
    specs = {spec.name: spec for spec in element.list_properties()
             if spec.owner_type.name not in NOT_OURS}
    order = [name for name in named if name in specs] + [name for name in specs
                                                         if name not in named]
    return [_make(element, specs[name], named.get(name, {})) for name in order]


def grouped(controls):
    """{group: controls}, in the order of first appearance; the backend is last."""
    groups = {}
    for control in sorted(controls, key=lambda control: control.group == "Backend"):
        groups.setdefault(control.group, []).append(control)
    return groups
