# SPDX-License-Identifier: LGPL-2.1-or-later
"""One row of the panel for each control: its name, its widget and a button that resets it."""
import math

from gi.repository import Gdk, Gtk, Pango

from . import scales, values
from .text import _

UNITS = {"ns": (1e9, "s"), "bytes": (1048576.0, "MiB")}


def tip_of(control, default):
    lines = [_(control.blurb), "", f"{control.name}={values.to_text(control, default)}"
             if control.kind != "shown" else control.name]
    lines[2:2] = [f"{nick}: {_(meaning)}" for nick, meaning in control.choices]
    if control.kind in ("number", "whole") and control.maximum < 1e9:
        lines.append(_("allowed: {low:g} to {high:g}").format(low=control.minimum,
                                                              high=control.maximum))
    return "\n".join(line for index, line in enumerate(lines) if line or index == 1)


class Row(Gtk.Box):
    """`change(name, value)` is called for what the user does; show() for what has changed."""

    def __init__(self, control, default, change, reset):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=0)
        self.control, self._default, self._change = control, default, change
        self._showing = False
        self.set_tooltip_text(tip_of(control, default))
        self.line = Gtk.Box(spacing=6)
        self.append(self.line)
        label = Gtk.Label(label=_(control.nick), xalign=0, hexpand=True,
                          ellipsize=Pango.EllipsizeMode.END)
        self.line.append(label)
        self.editor = self._make(label)
        self.reset_button = Gtk.Button(icon_name="edit-undo-symbolic", has_frame=False,
                                       tooltip_text=_("Reset"))
        self.reset_button.connect("clicked", lambda _button: reset(control.name))
        self.reset_button.update_property(
            [Gtk.AccessibleProperty.LABEL], [f"{_('Reset')} {_(control.nick)}"])
        if control.kind != "shown":
            self.line.append(self.reset_button)

    def _make(self, label):
        raise NotImplementedError

    def _paint(self, value):
        raise NotImplementedError

    def _changed(self, value):
        if not self._showing:
            self._change(self.control.name, value)

    def show_value(self, value):
        self._showing = True
        self._paint(value)
        self._showing = False
        self.reset_button.set_sensitive(value != self._default)
        self.reset_button.set_opacity(0.0 if value == self._default else 1.0)


class NumberRow(Row):
    """A slider over the usual range, and a field for all allowed values."""

    def _make(self, label):
        control = self.control
        self._factor, unit = UNITS.get(control.unit, (1.0, ""))
        if unit:
            label.set_label(f"{_(control.nick)} ({unit})")
        whole = control.kind == "whole" and self._factor == 1.0
        span = control.soft_maximum - control.soft_minimum or control.maximum - control.minimum
        digits = 0 if whole else min(max(3 - math.ceil(math.log10(span / self._factor)), 1), 4)
        step = control.step or (1.0 if whole else 10.0 ** -max(digits - 1, 1))
        field = Gtk.SpinButton(
            adjustment=Gtk.Adjustment(lower=control.minimum / self._factor,
                                      upper=min(control.maximum / self._factor, 1e12),
                                      step_increment=step, page_increment=10 * step),
            digits=digits, width_chars=6, numeric=True, valign=Gtk.Align.CENTER)
        field.connect("value-changed", lambda field: self._changed(self._of_field(field)))
        self.line.append(field)
        self.field = field
        self.slider = None
        if control.slides:
            self._scale = scales.usable(control.scale, control.soft_minimum)
            self._add_slider(label)
        return self.slider or field

    def _of_field(self, field):
        value = field.get_value() * self._factor
        return round(value) if self.control.kind == "whole" else value

    def _add_slider(self, label):
        control = self.control
        self.slider = Gtk.Scale(adjustment=Gtk.Adjustment(
            lower=0.0, upper=1.0, step_increment=0.01, page_increment=0.1), draw_value=False)
        self.slider.update_property([Gtk.AccessibleProperty.LABEL], [_(control.nick)])
        if control.soft_minimum <= self._default <= control.soft_maximum:
            self.slider.add_mark(self._place(self._default), Gtk.PositionType.BOTTOM, None)
        self.slider.connect("value-changed", lambda slider: self._changed(self._of_slider(slider)))
        click = Gtk.GestureClick(propagation_phase=Gtk.PropagationPhase.CAPTURE)
        click.connect("pressed", self._pressed)
        self.slider.add_controller(click)
        self.append(self.slider)

    def _pressed(self, click, presses, _x, _y):
        """A double click resets to the default."""
        if presses == 2:
            click.set_state(Gtk.EventSequenceState.CLAIMED)
            self._change(self.control.name, self._default)

    def _place(self, value):
        return scales.place(self._scale, self.control.soft_minimum, self.control.soft_maximum,
                            value)

    def _of_slider(self, slider):
        control = self.control
        value = scales.value_at(self._scale, control.soft_minimum, control.soft_maximum,
                                slider.get_value())
        step = control.step or (1.0 if control.kind == "whole" and self._factor == 1.0 else 0.0)
        value = scales.tidy(value, control.soft_maximum - control.soft_minimum, step,
                            control.minimum)
        return round(value) if control.kind == "whole" else value

    def _paint(self, value):
        self.field.set_value(value / self._factor)
        # Many positions round to one whole number: the slider is not moved under the mouse.
        if self.slider and self._of_slider(self.slider) != value:
            self.slider.set_value(self._place(value))


class SwitchRow(Row):
    def _make(self, label):
        switch = Gtk.Switch(valign=Gtk.Align.CENTER)
        switch.connect("notify::active", lambda switch, _spec: self._changed(switch.get_active()))
        self.line.append(switch)
        return switch

    def _paint(self, value):
        self.editor.set_active(value)


class ChoiceRow(Row):
    def _make(self, label):
        self._nicks = [nick for nick, _meaning in self.control.choices]
        drop = Gtk.DropDown.new_from_strings(self._nicks)
        drop.connect("notify::selected",
                     lambda drop, _spec: self._changed(self._nicks[drop.get_selected()]))
        self.line.append(drop)
        return drop

    def _paint(self, value):
        self.editor.set_selected(self._nicks.index(value))


class FlagsRow(Row):
    def _make(self, label):
        box = Gtk.Box(spacing=6)
        self._buttons = {}
        for nick, meaning in self.control.choices:
            button = Gtk.CheckButton(label=nick, tooltip_text=_(meaning))
            button.connect("toggled", lambda _button: self._changed(self._union()))
            self._buttons[nick] = button
            box.append(button)
        self.append(box)
        return box

    def _union(self):
        return "+".join(nick for nick, button in self._buttons.items()
                        if button.get_active()) or "0"

    def _paint(self, value):
        for nick, button in self._buttons.items():
            button.set_active(nick in value.split("+"))


class ColorRow(Row):
    def _make(self, label):
        button = Gtk.ColorButton(use_alpha=True, title=_(self.control.nick))
        button.connect("notify::rgba", lambda button, _spec: self._changed(self._of(button)))
        self.line.append(button)
        return button

    @staticmethod
    def _of(button):
        rgba = button.get_rgba()
        parts = (rgba.alpha, rgba.red, rgba.green, rgba.blue)
        return sum(round(part * 255) << shift for part, shift in zip(parts, (24, 16, 8, 0)))

    def _paint(self, value):
        rgba = Gdk.RGBA()
        rgba.alpha, rgba.red, rgba.green, rgba.blue = (
            (value >> shift & 255) / 255 for shift in (24, 16, 8, 0))
        self.editor.set_rgba(rgba)


class TextRow(Row):
    """A text that takes effect on Enter, or when the field loses the focus."""

    def _make(self, label):
        entry = Gtk.Entry(hexpand=True, placeholder_text="<1,4,6,4,1>"
                          if self.control.kind == "list" else "")
        entry.update_property([Gtk.AccessibleProperty.LABEL], [_(self.control.nick)])
        entry.connect("activate", self._done)
        focus = Gtk.EventControllerFocus()
        focus.connect("leave", lambda _focus: self._done(entry))
        entry.add_controller(focus)
        box = Gtk.Box(spacing=6)
        box.append(entry)
        self.append(box)
        if self.control.kind == "file":
            button = Gtk.Button(icon_name="document-open-symbolic", tooltip_text=_("Choose a file"))
            button.connect("clicked", self._choose)
            box.append(button)
        return entry

    def _done(self, entry):
        text = entry.get_text().strip()
        if self.control.kind == "list" and text and not text.startswith("<"):
            text = f"<{text}>"
        if text != self._shown:
            self._changed(text)

    def _choose(self, _button):
        chooser = Gtk.FileChooserNative(
            title=_(self.control.nick), action=Gtk.FileChooserAction.OPEN,
            transient_for=self.get_root(), modal=True)
        chooser.connect("response", self._chosen)
        self._chooser = chooser  # kept alive while open
        chooser.show()

    def _chosen(self, chooser, response):
        if response == Gtk.ResponseType.ACCEPT:
            self._change(self.control.name, chooser.get_file().get_path())
        self._chooser = None

    def _paint(self, value):
        self._shown = value
        if self.editor.get_text() != value:
            self.editor.set_text(value)


class ShownRow(Row):
    def _make(self, label):
        shown = Gtk.Label(xalign=0, wrap=True, selectable=True,
                          wrap_mode=Pango.WrapMode.WORD_CHAR, css_classes=["dim-label"])
        self.append(shown)
        return shown

    def _paint(self, value):
        self.editor.set_label(value.partition(", ")[2].rstrip(";") or value)


ROWS = {"number": NumberRow, "whole": NumberRow, "switch": SwitchRow, "choice": ChoiceRow,
        "flags": FlagsRow, "color": ColorRow, "list": TextRow, "text": TextRow, "file": TextRow,
        "shown": ShownRow}
