# SPDX-License-Identifier: LGPL-2.1-or-later
"""The window: preview, controls beside it, playback below, and the actions."""
import os

from gi.repository import Gdk, Gio, GLib, Gtk

from . import dialogs, export, menus, tuning as model
from .panel import Panel
from .preview import Preview
from .source import Place
from .text import _

TICK_MILLISECONDS = 250
SECOND = 1_000_000_000
SHOW_WARNING_SECONDS = 8

# Text fields get keys without Ctrl first.
PLAIN_KEYS = {
    Gdk.KEY_space: "play", Gdk.KEY_s: "split", Gdk.KEY_f: "fit", Gdk.KEY_1: "actual-size",
    Gdk.KEY_plus: "larger", Gdk.KEY_KP_Add: "larger", Gdk.KEY_minus: "smaller",
    Gdk.KEY_KP_Subtract: "smaller", Gdk.KEY_m: "map", Gdk.KEY_r: "region", Gdk.KEY_R: "add-region",
}


class Window(Gtk.ApplicationWindow):
    def __init__(self, application, tuning):
        super().__init__(application=application, title="cudafilters-tuner", default_width=1280,
                         default_height=800)
        self.tuning = tuning
        self._kept_open = None  # an open file chooser
        self._hide_later = 0
        self._values = {}
        self.preview = Preview(lambda: self._values, tuning.set)
        self.panel = Panel(tuning)
        self._build()
        self._add_actions()
        self._take_files()
        self._listen()
        self._ticker = GLib.timeout_add(TICK_MILLISECONDS, self._tick)

    # Layout

    def _build(self):
        self.menus = menus.Menus(self)
        self.set_titlebar(self.menus.header)
        left = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self._bar_text = Gtk.Label(wrap=True, xalign=0, hexpand=True)
        self.bar = Gtk.InfoBar(show_close_button=True, revealed=False)
        self.bar.add_child(self._bar_text)
        self.bar.connect("response", lambda bar, _response: bar.set_revealed(False))
        left.append(self.bar)
        self.scroller = Gtk.ScrolledWindow(child=self.preview, hexpand=True, vexpand=True)
        left.append(self.scroller)
        left.append(self._make_transport())
        left.append(self._make_status())
        box = Gtk.Box()
        box.append(left)
        box.append(Gtk.Separator(orientation=Gtk.Orientation.VERTICAL))
        box.append(self.panel)
        self.set_child(box)

    def _make_transport(self):
        bar = Gtk.Box(spacing=6, margin_start=6, margin_end=6, margin_top=4, margin_bottom=4)
        self.play_button = Gtk.Button(icon_name="media-playback-pause-symbolic",
                                      action_name="win.play", tooltip_text=_("Play or pause"))
        self.seeker = Gtk.Scale(adjustment=Gtk.Adjustment(lower=0, upper=1, step_increment=0.01),
                                hexpand=True, draw_value=False, sensitive=False)
        self.seeker.update_property([Gtk.AccessibleProperty.LABEL], [_("Position")])
        self.seeker.connect("change-value", self._seek)
        compare = Gtk.Button(label=_("Compare"), tooltip_text=_("While held: the picture before"))
        press = Gtk.GestureClick(propagation_phase=Gtk.PropagationPhase.CAPTURE)
        press.connect("pressed", lambda *_: self._hold(True))
        for end in ("released", "cancel", "unpaired-release"):
            press.connect(end, lambda *_: self._hold(False))
        compare.add_controller(press)
        self.compare_button = compare
        for widget in (self.play_button, self.seeker, compare,
                       Gtk.ToggleButton(label=_("Split"), action_name="win.split",
                                        tooltip_text=_("Before and after")),
                       Gtk.Button(label=_("Fit"), action_name="win.fit",
                                  tooltip_text=_("Fit the window")),
                       Gtk.Button(label="100 %", action_name="win.actual-size",
                                  tooltip_text=_("Actual size"))):
            bar.append(widget)
        self.map_button = Gtk.ToggleButton(label=_("Map"), action_name="win.map",
                                           tooltip_text=_("Show the blur map"))
        self.region_button = Gtk.ToggleButton(label=_("Region"), action_name="win.region",
                                              tooltip_text=_("Draw a region"))
        bar.append(self.map_button)
        bar.append(self.region_button)
        return bar

    def _make_status(self):
        self.status = Gtk.Label(xalign=0, margin_start=8, margin_end=8, margin_bottom=6,
                                css_classes=["dim-label"], selectable=True)
        return self.status

    # Actions

    def _add_actions(self):
        simple = {
            "open": self._open_file, "address": self._open_address, "save": self._save_picture,
            "play": self.toggle_play, "back": lambda: self._jump(-5), "on": lambda: self._jump(5),
            "fit": lambda: self.preview.set_zoom(None),
            "actual-size": lambda: self.preview.set_zoom(1.0),
            "larger": lambda: self.preview.step_zoom(1),
            "smaller": lambda: self.preview.step_zoom(-1),
            "reset-all": self.tuning.reset_all, "save-preset": self._ask_preset,
            "add-region": self.preview.add_region, "keys": lambda: dialogs.show_keys(self),
        }
        for name, do in simple.items():
            self._add_action(Gio.SimpleAction.new(name, None), lambda _a, _p, do=do: do())
        with_text = {
            "copy": self.copy, "source": lambda text: self.open(Place.of(text)),
            "element": self.tuning.choose, "preset": self.load_preset,
            "delete-preset": self.tuning.delete_preset,
        }
        for name, do in with_text.items():
            self._add_action(Gio.SimpleAction.new(name, GLib.VariantType("s")),
                             lambda _a, value, do=do: do(value.get_string()))
        for name, value in (("split", True), ("map", False), ("region", False), ("faces", False)):
            action = Gio.SimpleAction.new_stateful(name, None, GLib.Variant("b", value))
            action.connect("change-state", self._switch)
            super().add_action(action)
        for name, value in (("format", "automatic"), ("theme", "system")):
            action = Gio.SimpleAction.new_stateful(name, GLib.VariantType("s"),
                                                   GLib.Variant("s", value))
            action.connect("change-state", self._choose)
            super().add_action(action)
        keys = Gtk.EventControllerKey()
        keys.connect("key-pressed", self._press)
        keys.connect("key-released", self._release)
        self.add_controller(keys)

    def _take_files(self):
        """Opens files dropped on the window."""
        drop = Gtk.DropTarget.new(Gdk.FileList, Gdk.DragAction.COPY)
        drop.connect("drop", self._dropped)
        self.add_controller(drop)

    def _dropped(self, _drop, files, _x, _y):
        first = next(iter(files.get_files()), None)
        if first:
            self.open(Place.of(first.get_uri()))
        return first is not None

    def _add_action(self, action, do):
        action.connect("activate", do)
        super().add_action(action)

    def _switch(self, action, value):
        action.set_state(value)
        wanted = value.get_boolean()
        if action.get_name() == "split":
            self.preview.splits = wanted
        elif action.get_name() == "map":
            self.preview.shows_map = wanted
        elif action.get_name() == "region":
            self.preview.draws_region = wanted
        else:
            self.tuning.set_faces(wanted)
        self.preview.queue_draw()

    def _choose(self, action, value):
        action.set_state(value)
        if action.get_name() == "format":
            self.tuning.set_format(value.get_string())
        else:
            self.set_theme(value.get_string())

    def set_theme(self, name):
        settings = Gtk.Settings.get_default()
        if name == "system":
            settings.reset_property("gtk-application-prefer-dark-theme")
        else:
            settings.set_property("gtk-application-prefer-dark-theme", name == "dark")

    def _press(self, _keys, key, _code, state):
        """Handles keys that no widget used. Space is for switches and the like first, which leave
        it to the window."""
        if state & (Gdk.ModifierType.CONTROL_MASK | Gdk.ModifierType.ALT_MASK):
            return False
        if key == Gdk.KEY_space and self.get_focus() and self.get_focus().activate():
            return True
        if key == Gdk.KEY_c:
            self._hold(True)
        elif key in PLAIN_KEYS:
            self.lookup_action(PLAIN_KEYS[key]).activate(None)
        return key == Gdk.KEY_c or key in PLAIN_KEYS

    def _release(self, _keys, key, _code, _state):
        if key == Gdk.KEY_c:
            self._hold(False)

    def _hold(self, holds):
        self.preview.holds_before = holds
        self.preview.queue_draw()

    # Source

    def open(self, place):
        self.bar.set_revealed(False)
        self.preview.clear()
        self.tuning.open(place)

    def _open_file(self):
        self._kept_open = dialogs.choose_file(
            self, _("Open a file"), Gtk.FileChooserAction.OPEN,
            lambda path: self.open(Place.of(path)), patterns=("video/*", "image/*"))

    def _open_address(self):
        dialogs.Question(self, _("Open an address"), _("Open"),
                         lambda text: self.open(Place.of(text)), "rtsp://")

    def toggle_play(self):
        self.tuning.source.play(not self.tuning.source.plays)

    def _seek(self, _seeker, _how, value):
        duration = self.tuning.source.position()[1]
        self.tuning.source.seek(min(max(value, 0.0), 1.0) * duration)
        return False

    def _jump(self, seconds):
        position, duration = self.tuning.source.position()
        if duration:
            self.tuning.source.seek(min(max(position + seconds * SECOND, 0), duration))

    # Tuning

    def load_preset(self, name):
        if not self.tuning.load_preset(name):
            self.tell(_("The preset {name} could not be read.").format(name=name), True)

    def _ask_preset(self):
        dialogs.Question(self, _("Save a preset"), _("Save"), self.save_preset)

    def save_preset(self, name):
        if self.tuning.save_preset(name):
            self.tell(_("Saved as preset {name}.").format(name=name))
        else:
            self.tell(_("The preset {name} could not be written.").format(name=name), True)

    def copy(self, way):
        text = export.WAYS[way](self.tuning.name, self.tuning.changed(), self.tuning.place)
        self.get_clipboard().set(text)
        self.tell(_("Copied as {way}.").format(way=way))

    def _save_picture(self):
        stem = os.path.splitext(self.tuning.place.title)[0].replace(":", "-")
        self._kept_open = dialogs.choose_file(
            self, _("Save the filtered picture"), Gtk.FileChooserAction.SAVE, self.save_picture,
            name=f"{stem}-{self.tuning.name}.png")

    def save_picture(self, path):
        if self.preview.after and self.preview.after.save_to_png(path):
            self.tell(_("Saved {path}.").format(path=path))
        else:
            self.tell(_("{path} could not be written.").format(path=path), True)

    # Display

    def _listen(self):
        tuning = self.tuning
        tuning.connect("pair", self._on_pair)
        tuning.connect("element", self._on_element)
        tuning.connect("value", self._on_value)
        tuning.connect("values", lambda _tuning: self._read_values())
        tuning.connect("opened", lambda _tuning: self._on_opened())
        tuning.connect("error", lambda _tuning, text: self.tell(text, True))
        tuning.connect("warning", lambda _tuning, text: self.tell(text))

    def _on_pair(self, tuning, before, after):
        self.preview.show_pair(before, after, tuning.is_opaque())

    def _on_element(self, tuning):
        self.preview.chosen = None
        self._read_values()
        self.map_button.set_visible("map-mode" in self._values)
        self.region_button.set_visible("regions" in self._values)
        self.menus.show_element()

    def _read_values(self):
        self._values = {control.name: self.tuning.get(control.name)
                        for control in self.tuning.controls if control.kind != "shown"}
        self.preview.values_changed()
        self.menus.show_presets()

    def _on_value(self, tuning, name):
        if name in self._values:
            self._values[name] = tuning.get(name)
            if name.startswith(("map", "roi", "regions")):
                self.preview.values_changed()
        if name == "regions":
            self.lookup_action("region").set_state(
                GLib.Variant("b", self.preview.draws_region))

    def _on_opened(self):
        self.set_title(f"{self.tuning.place.title} - cudafilters-tuner")

    def tell(self, text, is_error=False):
        """Shows a message. An error stays until it is closed, or another source is opened."""
        self.bar.set_message_type(Gtk.MessageType.ERROR if is_error else Gtk.MessageType.INFO)
        self._bar_text.set_label(text)
        self.bar.set_revealed(True)
        if self._hide_later:
            GLib.source_remove(self._hide_later)
            self._hide_later = 0
        if not is_error:
            self._hide_later = GLib.timeout_add_seconds(SHOW_WARNING_SECONDS, self._hide)

    def _hide(self):
        self._hide_later = 0
        self.bar.set_revealed(False)
        return GLib.SOURCE_REMOVE

    def _tick(self):
        tuning = self.tuning
        backend, algorithm, last, average = tuning.report()
        info = tuning.frame_info()
        parts = []
        if info:
            parts.append(f"{info.width}x{info.height} {info.finfo.name}")
        if info and backend:
            parts.append(f"{backend} ({algorithm})")
            parts.append(_("{last:.1f} ms a frame, {average:.1f} on average").format(
                last=last, average=average))
        rate = tuning.frames_per_second()
        if rate > 0:
            parts.append(_("{fps:.1f} frames a second").format(fps=rate))
        self.status.set_label("   ·   ".join(parts))
        self.play_button.set_icon_name("media-playback-pause-symbolic" if tuning.source.plays
                                       else "media-playback-start-symbolic")
        position, duration = tuning.source.position()
        self.seeker.set_sensitive(duration > 0)
        self.seeker.set_value(position / duration if duration else 0.0)
        for name in ("stats", "active-backend"):
            if name in self.panel.rows and self.panel.rows[name].get_mapped():
                self.panel.rows[name].show_value(tuning.get(name))
        return GLib.SOURCE_CONTINUE

    def stop(self):
        GLib.source_remove(self._ticker)
        if self._hide_later:
            GLib.source_remove(self._hide_later)
        self.tuning.close()

    @staticmethod
    def elements():
        return model.elements()
