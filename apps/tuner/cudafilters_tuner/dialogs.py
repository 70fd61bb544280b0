# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dialogs: for files, for a line of text, and the list of keys."""
from gi.repository import Gdk, Gtk

from .text import _

KEYS = (
    (_("File"), (("<Control>o", _("Open a file")), ("<Control>l", _("Open an address")),
                 ("<Control>s", _("Save the filtered picture")), ("<Control>q", _("Quit")))),
    (_("Play"), (("space", _("Play or pause")), ("<Control>Left", _("Back 5 seconds")),
                 ("<Control>Right", _("Forward 5 seconds")))),
    (_("View"), (("c", _("While held: the picture before")), ("s", _("Before and after")),
                 ("Left Right", _("Move the line")), ("f", _("Fit the window")),
                 ("1", _("Actual size")), ("plus minus", _("Zoom in, zoom out")),
                 ("m", _("Show the blur map")))),
    (_("Tune"), (("<Control>1 <Control>2 <Control>3 <Control>4 <Control>5", _("Choose the filter")),
                 ("<Control>r", _("Reset all")), ("<Control><Shift>s", _("Save a preset")),
                 ("r", _("Draw a region")), ("<Shift>r", _("Add a region")),
                 ("Tab", _("Choose the next region")),
                 ("Delete", _("Remove the chosen region")),
                 ("<Control><Shift>c", _("Copy as gst-launch-1.0")))),
)


def show_keys(parent):
    window = Gtk.ShortcutsWindow(transient_for=parent, modal=True)
    section = Gtk.ShortcutsSection(visible=True, section_name="keys")
    for title, rows in KEYS:
        group = Gtk.ShortcutsGroup(title=title)
        for keys, meaning in rows:
            group.append(Gtk.ShortcutsShortcut(accelerator=keys, title=meaning))
        section.append(group)
    window.set_child(section)
    window.present()
    return window


def choose_file(parent, title, action, done, name=None, patterns=()):
    """Asks for a file; calls `done(path)` unless cancelled. The caller keeps the returned chooser
    alive while it is open."""
    chooser = Gtk.FileChooserNative(title=title, action=action, transient_for=parent, modal=True)
    if name:
        chooser.set_current_name(name)
    if patterns:
        kind = Gtk.FileFilter()
        kind.set_name(_("Pictures and videos"))
        for pattern in patterns:
            kind.add_mime_type(pattern)
        chooser.add_filter(kind)
    chooser.connect("response", lambda chooser, response: done(chooser.get_file().get_path())
                    if response == Gtk.ResponseType.ACCEPT else None)
    chooser.show()
    return chooser


class Question(Gtk.Window):
    """Asks for a line of text; calls `done(text)` on Enter or the button, not on Escape."""

    def __init__(self, parent, title, button, done, text=""):
        super().__init__(title=title, transient_for=parent, modal=True, resizable=False,
                         default_width=420)
        self._done = done
        self.entry = Gtk.Entry(text=text, hexpand=True, activates_default=True)
        self.button = Gtk.Button(label=button, css_classes=["suggested-action"])
        self.button.connect("clicked", self._accept)
        box = Gtk.Box(spacing=6, margin_start=12, margin_end=12, margin_top=12, margin_bottom=12)
        box.append(self.entry)
        box.append(self.button)
        self.set_child(box)
        self.set_default_widget(self.button)
        keys = Gtk.EventControllerKey()
        keys.connect("key-pressed", self._press)
        self.add_controller(keys)
        self.present()

    def _press(self, _keys, key, _code, _state):
        if key == Gdk.KEY_Escape:
            self.close()
        return key == Gdk.KEY_Escape

    def _accept(self, _button):
        text = self.entry.get_text().strip()
        if text:
            self.close()
            self._done(text)
