# SPDX-License-Identifier: LGPL-2.1-or-later
"""The panel of controls, in groups that can be folded."""
from gi.repository import Gtk

from . import controls
from .rows import ROWS
from .text import _

FOLDED = {"Backend", "Algorithm"}

# Rows close together, since there are many.
STYLE = b"""
.controls scale { padding: 0px 8px 0px 2px; }
.controls scale > marks { margin: 0px; }
.controls scale > marks indicator { min-height: 4px; }
.controls spinbutton, .controls dropdown > button { min-height: 26px; }
.controls spinbutton > button { min-width: 18px; padding: 0px 4px; }
.controls button.flat { min-height: 22px; min-width: 22px; padding: 1px; }
"""


class Panel(Gtk.ScrolledWindow):
    def __init__(self, tuning):
        super().__init__(hscrollbar_policy=Gtk.PolicyType.NEVER, width_request=340, hexpand=False)
        self._tuning = tuning
        self.rows = {}
        self.add_css_class("controls")
        provider = Gtk.CssProvider()
        provider.load_from_data(STYLE)
        Gtk.StyleContext.add_provider_for_display(self.get_display(), provider,
                                                  Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
        tuning.connect("element", lambda _tuning: self._build())
        tuning.connect("value", lambda _tuning, name: self._show(name))
        tuning.connect("values", lambda _tuning: self.show_all_values())

    def _build(self):
        tuning = self._tuning
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4, margin_start=12,
                      margin_end=12, margin_top=6, margin_bottom=12)
        self.rows = {}
        for group, members in controls.grouped(tuning.controls).items():
            inside = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4, margin_top=4,
                             margin_bottom=4)
            for control in members:
                row = ROWS[control.kind](control, tuning.defaults[control.name], tuning.set,
                                         tuning.reset)
                inside.append(row)
                self.rows[control.name] = row
            title = Gtk.Label(label=_(group), css_classes=["heading"])
            box.append(Gtk.Expander(label_widget=title, child=inside,
                                    expanded=group not in FOLDED))
        self.set_child(box)
        self.show_all_values()

    def _show(self, name):
        self.rows[name].show_value(self._tuning.get(name))

    def show_all_values(self):
        for name in self.rows:
            self._show(name)
