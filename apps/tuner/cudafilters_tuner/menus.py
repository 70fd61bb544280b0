# SPDX-License-Identifier: LGPL-2.1-or-later
"""The header bar: menus to open a source, choose the filter, its presets, copy, and others."""
from gi.repository import Gio, GLib, Gtk

from . import presets, source
from .export import WAYS
from .text import _


def item(label, action, target):
    """A menu item that calls its action with a text."""
    made = Gio.MenuItem.new(label, None)
    made.set_action_and_target_value(action, GLib.Variant("s", target))
    return made


class Menus:
    def __init__(self, window):
        self._window = window
        self.header = Gtk.HeaderBar()
        self.open_button = Gtk.MenuButton(label=_("Open"), menu_model=self._make_open())
        self.header.pack_start(self.open_button)
        self._names = window.elements()
        self.element_drop = Gtk.DropDown.new_from_strings(self._names)
        self.element_drop.set_tooltip_text(_("Choose the filter"))
        self.element_drop.connect("notify::selected", self._choose_element)
        self.header.pack_start(self.element_drop)
        self._shown = None  # the names in the menu of presets
        self.preset_button = Gtk.MenuButton(label=_("Presets"))
        self.header.pack_start(self.preset_button)
        self.main_button = Gtk.MenuButton(icon_name="open-menu-symbolic", primary=True,
                                          menu_model=self._make_main(),
                                          tooltip_text=_("Menu"))
        self.header.pack_end(self.main_button)
        copy = Gio.Menu()
        for way in WAYS:
            copy.append_item(item(way, "win.copy", way))
        self.copy_button = Gtk.MenuButton(label=_("Copy as"), menu_model=copy)
        self.header.pack_end(self.copy_button)
        self.header.pack_end(Gtk.Button(label=_("Reset all"), action_name="win.reset-all"))

    @staticmethod
    def _make_open():
        menu, tests = Gio.Menu(), Gio.Menu()
        menu.append(_("File…"), "win.open")
        menu.append(_("Address…"), "win.address")
        menu.append_item(item(_("Camera"), "win.source", "camera:"))
        for pattern in source.TEST_PATTERNS:
            tests.append_item(item(pattern, "win.source", f"test:{pattern}"))
        menu.append_submenu(_("Test picture"), tests)
        return menu

    @staticmethod
    def _make_main():
        menu = Gio.Menu()
        first, formats, themes, last = (Gio.Menu() for _part in range(4))
        first.append(_("Save the filtered picture…"), "win.save")
        if source.has_faces():
            first.append(_("Detect faces"), "win.faces")
        for name in (source.ANY_FORMAT, "I420", "NV12", "I420_10LE", "P010_10LE", "RGBA", "GRAY8"):
            formats.append_item(item(_("As the source") if name == source.ANY_FORMAT else name,
                                     "win.format", name))
        first.append_submenu(_("Filtered as"), formats)
        for name, label in (("system", _("As the system")), ("light", _("Light")),
                            ("dark", _("Dark"))):
            themes.append_item(item(label, "win.theme", name))
        first.append_submenu(_("Colours of the window"), themes)
        last.append(_("Keys"), "win.keys")
        last.append(_("Quit"), "app.quit")
        menu.append_section(None, first)
        menu.append_section(None, last)
        return menu

    def _choose_element(self, drop, _spec):
        name = self._names[drop.get_selected()]
        if name != self._window.tuning.name:
            self._window.tuning.choose(name)

    def show_element(self):
        name = self._window.tuning.name
        if name in self._names:
            self.element_drop.set_selected(self._names.index(name))

    def show_presets(self):
        ours, users = presets.names(self._window.tuning.element)
        if (ours, users) == self._shown:
            return
        self._shown = (ours, users)
        menu = Gio.Menu()
        for title, names in ((None, ours), (_("Your presets"), users)):
            if names:
                section = Gio.Menu()
                for name in names:
                    section.append_item(item(name, "win.preset", name))
                menu.append_section(title, section)
        last = Gio.Menu()
        last.append(_("Save a preset…"), "win.save-preset")
        if users:
            remove = Gio.Menu()
            for name in users:
                remove.append_item(item(name, "win.delete-preset", name))
            last.append_submenu(_("Delete"), remove)
        menu.append_section(None, last)
        self.preset_button.set_menu_model(menu)
