# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tuner without its window: the source, the filter, its values and presets."""
import time

from gi.repository import GLib, GObject, Gst, GstVideo

from . import controls, presets, values
from .line import Line
from .source import ANY_FORMAT, Place, Source

ELEMENTS = ("cudallf", "cudagaussblur", "cudablockavg", "cudasepconv", "cudatonemap")


def elements():
    """Names of the cudafilters elements that are installed, in the order of their pages."""
    return [name for name in ELEMENTS if Gst.ElementFactory.find(name)]


class Tuning(GObject.Object):
    """Signals: `pair` (before, after: samples), `element` when there is another one, `value` (its
    name) when one has changed, `values` when any may have, `error` and `warning` (a sentence)."""

    __gsignals__ = {
        "pair": (GObject.SignalFlags.RUN_FIRST, None, (object, object)),
        "element": (GObject.SignalFlags.RUN_FIRST, None, ()),
        "value": (GObject.SignalFlags.RUN_FIRST, None, (str,)),
        "values": (GObject.SignalFlags.RUN_FIRST, None, ()),
        "opened": (GObject.SignalFlags.RUN_FIRST, None, ()),
        "error": (GObject.SignalFlags.RUN_FIRST, None, (str,)),
        "warning": (GObject.SignalFlags.RUN_FIRST, None, (str,)),
    }

    def __init__(self, notes_path):
        super().__init__()
        self._notes = controls.read_notes(notes_path)
        self._source = Source(self._on_frame, lambda text: self.emit("error", text))
        self._line = None
        self._kept = {}  # element: {property: text}, for elements tuned before
        self._frame = None  # the last frame of the source that is open
        self._stale = False  # the shown frame was filtered with older values
        self._times = []  # times at which pairs came
        self.format = ANY_FORMAT
        self.faces = False
        self.controls, self.defaults = [], {}

    # The element

    @property
    def element(self):
        return self._line.element

    @property
    def name(self):
        return self.element.get_factory().get_name()

    def choose(self, name):
        """Changes to another element; keeps the values of the current one."""
        if self._line:
            self._kept[self.name] = self.changed()
            self._line.close()
        self._line = Line(name, self._on_pair, self._on_error, self._on_warning)
        self.controls = controls.controls_of(self.element, self._notes)
        fresh = Gst.ElementFactory.make(name)
        self.defaults = {control.name: values.read(fresh, control) for control in self.controls}
        self.element.connect("notify", self._on_notify)
        self.emit("element")
        self.set_texts(self._kept.get(name, {}))
        if self._source.place:
            self.open(self._source.place)

    def control(self, name):
        return next((control for control in self.controls if control.name == name), None)

    # Values

    def get(self, name):
        return values.read(self.element, self.control(name))

    def set(self, name, value):
        control = self.control(name)
        if values.read(self.element, control) == value:
            return
        if control.restarts:
            self._line.stop()
        values.write(self.element, control, value)
        self.refresh()

    def is_default(self, name):
        return self.get(name) == self.defaults[name]

    def reset(self, name):
        self.set(name, self.defaults[name])

    def reset_all(self):
        for control in self.controls:
            if control.kind != "shown":
                self.reset(control.name)

    def changed(self):
        """{property: text} of properties not at their default."""
        return {control.name: values.to_text(control, self.get(control.name))
                for control in self.controls
                if control.kind != "shown" and not self.is_default(control.name)}

    def set_texts(self, texts):
        """Sets saved values; skips those that are unknown or not valid."""
        for name, text in texts.items():
            control = self.control(name)
            if control and control.kind != "shown":
                try:
                    self.set(name, values.from_text(control, text))
                except (TypeError, ValueError):
                    self.emit("warning", f"{name}={text}")

    def all_texts(self):
        """{element: {property: text}} of all elements tuned so far."""
        return {**self._kept, self.name: self.changed()}

    def keep(self, texts):
        self._kept.update(texts)

    # Presets

    def load_preset(self, name):
        """Loads a preset; properties that it does not set go back to their defaults."""
        for control in self.controls:
            if control.kind != "shown" and control.group != "Backend":
                values.write(self.element, control, self.defaults[control.name])
        good = self.element.load_preset(name)
        self.emit("values")
        self.refresh()
        return good

    def save_preset(self, name):
        good = self.element.save_preset(name)
        self.emit("values")
        return good

    def delete_preset(self, name):
        good = name not in presets.ours(self.element) and self.element.delete_preset(name)
        self.emit("values")
        return good

    # Source

    @property
    def source(self):
        return self._source

    @property
    def place(self):
        return self._source.place

    def open(self, place):
        place = place if isinstance(place, Place) else Place.of(place)
        formats = self._line.formats()
        if self.format in formats:
            formats = [self.format]
        self._frame = None
        self._source.open(place, formats, self.faces)
        self.emit("opened")

    def set_format(self, name):
        self.format = name
        self.open(self.place)

    def set_faces(self, wanted):
        self.faces = wanted
        self.open(self.place)

    def close(self):
        self._source.close()
        if self._line:
            self._line.close()

    def refresh(self):
        """Filters the shown frame again, unless a newer one comes."""
        self._stale = True
        self._go_on()

    def _go_on(self):
        if self._frame and self._stale and not self._line.busy:
            self._stale = False
            self._line.push(self._frame)

    def _on_frame(self, sample):
        self._frame, self._stale = sample, True
        self._go_on()

    def is_opaque(self):
        """Whether frames have no alpha."""
        info = self.frame_info()
        return not info or not info.finfo.flags & GstVideo.VideoFormatFlags.ALPHA

    def frame_info(self):
        """GstVideoInfo of the shown frame, or None."""
        return self._frame and GstVideo.VideoInfo.new_from_caps(self._frame.get_caps())

    def _on_pair(self, before, after):
        self._times = [*self._times[-30:], time.monotonic()]
        self.emit("pair", before, after)
        self._go_on()

    def _on_error(self, text):
        self.emit("error", text)

    def _on_warning(self, text):
        self.emit("warning", text)
        self.emit("values")

    def _on_notify(self, element, spec):
        """On any thread."""
        GLib.idle_add(self._tell, element, spec.name, priority=GLib.PRIORITY_DEFAULT)

    def _tell(self, element, name):
        if element == self.element and self.control(name):
            self.emit("value", name)
        return GLib.SOURCE_REMOVE

    # Statistics

    def frames_per_second(self):
        recent = [moment for moment in self._times if moment > time.monotonic() - 1.5]
        return (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 2 else 0.0

    def report(self):
        """(backend, algorithm, milliseconds of the last frame, of frames on average)"""
        if not self.element.find_property("stats"):
            return "", "", 0.0, 0.0
        stats = self.element.get_property("stats")
        return (stats.get_value("backend"), stats.get_value("algorithm"),
                stats.get_value("last-time") / 1e6, stats.get_value("average-time") / 1e6)
