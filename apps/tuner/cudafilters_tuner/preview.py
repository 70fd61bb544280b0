# SPDX-License-Identifier: LGPL-2.1-or-later
"""The preview: the picture before and after, on the left and right of a line that can be dragged;
over it, handles to drag, and the blur map."""
from gi.repository import Gdk, GLib, Graphene, Gsk, Gst, GstVideo, Gtk

from . import maps, shapes
from .text import _

REACH = 12.0  # distance from a handle, in screen pixels, that still grabs it
ZOOMS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
LINE, SHADE = "#ffffff", "rgba(0,0,0,0.55)"
CHOSEN, PLAIN = "#ffd54a", "#4ac8ff"


def color(text):
    rgba = Gdk.RGBA()
    rgba.parse(text)
    return rgba


def rectangle(x, y, width, height):
    return Graphene.Rect().init(x, y, width, height)


def texture_of(sample, opaque):
    """A frame in BGRA as a texture. Opaque frames need not be premultiplied."""
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    buffer = sample.get_buffer()
    meta = GstVideo.buffer_get_video_meta(buffer)
    stride = meta.stride[0] if meta else info.stride[0]
    layout = (Gdk.MemoryFormat.B8G8R8A8_PREMULTIPLIED if opaque else Gdk.MemoryFormat.B8G8R8A8)
    data = buffer.extract_dup(0, buffer.get_size())
    return Gdk.MemoryTexture.new(info.width, info.height, layout, GLib.Bytes.new(data), stride)


def pixel_shape(sample):
    """The pixel aspect ratio, width by height."""
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    return info.par_n / info.par_d


class Preview(Gtk.Widget):
    """`values()` gives {property: value}; `change(name, value)` is called for what is dragged."""

    def __init__(self, values, change):
        super().__init__(focusable=True, hexpand=True, vexpand=True)
        self.set_overflow(Gtk.Overflow.HIDDEN)
        self._values, self._change = values, change
        self._before = self._after = self._veil = None
        self._sample = None  # the sample of `before`, for luma and alpha maps
        self._aspect = 1.0
        self.zoom = None  # None: fit the window
        self.split = 0.5  # fraction of the picture's width
        self.splits = True
        self.holds_before = False
        self.shows_map = False
        self.draws_region = False
        self.chosen = None  # index of the chosen region
        self._held = None  # the handle being dragged
        self._band = None  # the region that is being drawn
        self._add_controllers()
        self.update_property([Gtk.AccessibleProperty.LABEL], [_("Picture, before and after")])

    def _add_controllers(self):
        drag = Gtk.GestureDrag()
        drag.connect("drag-begin", self._begin)
        drag.connect("drag-update", self._update)
        drag.connect("drag-end", self._end)
        self.add_controller(drag)
        motion = Gtk.EventControllerMotion()
        motion.connect("motion", self._hover)
        self.add_controller(motion)
        wheel = Gtk.EventControllerScroll(flags=Gtk.EventControllerScrollFlags.VERTICAL)
        wheel.connect("scroll", self._scroll)
        self.add_controller(wheel)
        keys = Gtk.EventControllerKey()
        keys.connect("key-pressed", self._press)
        self.add_controller(keys)

    # Pictures

    def show_pair(self, before, after, opaque):
        self._sample = before
        self._before, self._after = texture_of(before, opaque), texture_of(after, opaque)
        aspect = pixel_shape(after)
        if (aspect, self.zoom) != (self._aspect, None) and self.zoom:
            self.queue_resize()
        self._aspect = aspect
        if self.shows_map and self._values().get("map-mode") in ("luma", "alpha"):
            self._veil = None
        self.queue_draw()

    def clear(self):
        self._before = self._after = self._veil = self._sample = None
        self.queue_draw()

    @property
    def size(self):
        """The size of the picture in its own pixels."""
        return (self._after.get_width(), self._after.get_height()) if self._after else (0, 0)

    @property
    def after(self):
        return self._after

    def values_changed(self):
        self._veil = None
        self.queue_draw()

    # Geometry

    def place(self):
        """(x, y, width, height) of the picture in the widget."""
        width, height = self.size
        wide = width * self._aspect
        if not width:
            return 0.0, 0.0, 0.0, 0.0
        scale = (self.zoom / self.get_scale_factor() if self.zoom else
                 min(self.get_width() / wide, self.get_height() / height))
        return (max((self.get_width() - wide * scale) / 2, 0.0),
                max((self.get_height() - height * scale) / 2, 0.0), wide * scale, height * scale)

    def to_picture(self, x, y):
        left, top, width, height = self.place()
        columns, rows = self.size
        return (x - left) / width * columns, (y - top) / height * rows

    def to_widget(self, x, y):
        left, top, width, height = self.place()
        columns, rows = self.size
        return left + x / columns * width, top + y / rows * height

    def do_measure(self, orientation, _for_size):
        if not self.zoom or not self._after:
            return 120, 120, -1, -1
        _x, _y, width, height = self.place()
        size = round(width if orientation == Gtk.Orientation.HORIZONTAL else height)
        return size, size, -1, -1

    def set_zoom(self, zoom):
        self.zoom = zoom
        self.queue_resize()
        self.queue_draw()

    def step_zoom(self, way):
        """Zooms to the next of ZOOMS, up or down."""
        width = self.place()[2] * self.get_scale_factor()
        now = self.zoom or (width / (self.size[0] * self._aspect) if self.size[0] else 1.0)
        further = [zoom for zoom in ZOOMS if (zoom > now * 1.01 if way > 0 else zoom < now / 1.01)]
        if further:
            self.set_zoom(further[0] if way > 0 else further[-1])

    def _scroll(self, wheel, _dx, dy):
        """Zooms with Ctrl, else pans."""
        zooms = bool(wheel.get_current_event_state() & Gdk.ModifierType.CONTROL_MASK)
        if zooms and dy:
            self.step_zoom(-dy)
        return zooms

    # Painting

    def do_snapshot(self, snapshot):
        if not self._after:
            return
        left, top, width, height = self.place()
        whole = rectangle(left, top, width, height)
        if self.holds_before:
            snapshot.append_texture(self._before, whole)
            self._write(snapshot, _("before"), left + 8, top + 8)
            return
        snapshot.append_texture(self._after, whole)
        if self.splits:
            self._paint_split(snapshot, left, top, width, height)
        if self.shows_map:
            self._paint_veil(snapshot, whole)
        self._paint_map(snapshot)
        self._paint_regions(snapshot)

    def _paint_split(self, snapshot, left, top, width, height):
        at = left + width * self.split
        snapshot.push_clip(rectangle(left, top, at - left, height))
        snapshot.append_texture(self._before, rectangle(left, top, width, height))
        self._write(snapshot, _("before"), left + 8, top + 8)
        snapshot.pop()
        snapshot.push_clip(rectangle(at, top, left + width - at, height))
        self._write(snapshot, _("after"), left + width - 60, top + 8)
        snapshot.pop()
        snapshot.append_color(color(SHADE), rectangle(at - 2, top, 4, height))
        snapshot.append_color(color(LINE), rectangle(at - 1, top, 2, height))

    def _write(self, snapshot, text, x, y):
        layout = self.create_pango_layout(text)
        width, height = layout.get_pixel_size()
        snapshot.append_color(color(SHADE), rectangle(x - 4, y - 2, width + 8, height + 4))
        snapshot.save()
        snapshot.translate(Graphene.Point().init(x, y))
        snapshot.append_layout(layout, color(LINE))
        snapshot.restore()

    def _paint_veil(self, snapshot, whole):
        if not self._veil:
            self._veil = self._make_veil()
        if self._veil:
            snapshot.append_texture(self._veil, whole)

    def _make_veil(self):
        values, (width, height) = self._values(), self.size
        mode, shape = values.get("map-mode"), shapes.map_of(values)
        made = None
        if shape:
            made = maps.drawn(shape, width, height)
        elif mode in ("luma", "alpha"):
            buffer = self._sample.get_buffer()
            stride = GstVideo.VideoInfo.new_from_caps(self._sample.get_caps()).stride[0]
            made = maps.of_frame(mode, buffer.extract_dup(0, buffer.get_size()), stride, width,
                                 height)
        elif mode == "file" and values.get("map-location"):
            made = maps.of_file(values["map-location"], width, height)
        if not made:
            return None
        columns, rows, amounts = made
        data = maps.tint(amounts, values.get("map-invert"))
        return Gdk.MemoryTexture.new(columns, rows, Gdk.MemoryFormat.R8G8B8A8,
                                     GLib.Bytes.new(data), 4 * columns)

    def _outline(self, snapshot, x, y, width, height, how, ellipse=False, thick=2.0):
        """Adds the path of a rectangle or ellipse, in widget coordinates."""
        radius = Graphene.Size().init(width / 2, height / 2) if ellipse else Graphene.Size()
        shape = Gsk.RoundedRect()
        shape.init(rectangle(x, y, width, height), radius, radius, radius, radius)
        snapshot.append_border(shape, [thick] * 4, [color(how)] * 4)

    def _knob(self, snapshot, x, y, how):
        self._outline(snapshot, x - 6, y - 6, 12, 12, "#000000", True, 6.0)
        self._outline(snapshot, x - 5, y - 5, 10, 10, how, True, 5.0)

    def _paint_map(self, snapshot):
        shape, (width, height) = shapes.map_of(self._values()), self.size
        if not shape:
            return
        handles = {name: self.to_widget(*point)
                   for name, point in shape.handles(width, height).items()}
        cx, cy = handles["centre"]
        scale_x, scale_y = self.place()[2] / width, self.place()[3] / height
        if shape.mode == "radial":
            for distance in (shape.inner, shape.outer):
                rx, ry = distance * width * scale_x, distance * width * scale_y
                if rx > 1:
                    self._outline(snapshot, cx - rx, cy - ry, 2 * rx, 2 * ry, PLAIN, True)
        else:
            self._paint_lines(snapshot, shape, cx, cy, width * scale_x)
        for name, (x, y) in handles.items():
            self._knob(snapshot, x, y, CHOSEN if name == "centre" else PLAIN)

    def _paint_lines(self, snapshot, shape, cx, cy, width):
        left, top, wide, high = self.place()
        snapshot.push_clip(rectangle(left, top, wide, high))
        snapshot.save()
        snapshot.translate(Graphene.Point().init(cx, cy))
        snapshot.rotate(shape.angle)
        for distance, how in ((0.0, CHOSEN), (shape.inner, PLAIN), (shape.outer, PLAIN)):
            for way in (-1, 1) if distance else (1,):
                snapshot.append_color(color(how), rectangle(-2 * width, way * distance * width - 1,
                                                            4 * width, 2))
        snapshot.restore()
        snapshot.pop()

    def _paint_regions(self, snapshot):
        values = self._values()
        if "regions" not in values:
            return
        regions = shapes.parse_regions(values["regions"])
        for index, region in enumerate(regions + ([self._band] if self._band else [])):
            x, y = self.to_widget(region.x, region.y)
            right, bottom = self.to_widget(region.x + region.width, region.y + region.height)
            how = CHOSEN if index == self.chosen else PLAIN
            self._outline(snapshot, x, y, right - x, bottom - y, how,
                          values.get("roi-shape") == "ellipse")
            if index == self.chosen:
                for corner in region.corners:
                    self._knob(snapshot, *self.to_widget(*corner), how)

    # Dragging

    def _near(self, point, x, y):
        px, py = self.to_widget(*point)
        return abs(px - x) <= REACH and abs(py - y) <= REACH

    def _what_is_at(self, x, y):
        """(kind, detail, and what it was) of what a drag from there moves."""
        values, at = self._values(), self.to_picture(x, y)
        if self.draws_region and "regions" in values:
            return "draw", at, None
        regions = shapes.parse_regions(values.get("regions", ""))
        if self.chosen is not None and self.chosen < len(regions):
            for corner, point in enumerate(regions[self.chosen].corners):
                if self._near(point, x, y):
                    return "corner", (self.chosen, corner), regions
        shape = shapes.map_of(values)
        if shape:
            # The centre last, so that handles on top of it can be dragged away.
            handles = sorted(shape.handles(*self.size).items(),
                             key=lambda item: item[0] == "centre")
            for name, point in handles:
                if self._near(point, x, y):
                    return "map", name, shape
        left, _top, width, _height = self.place()
        if self.splits and abs(left + width * self.split - x) <= REACH:
            return "split", None, None
        for index in reversed(range(len(regions))):
            if regions[index].holds(*at):
                return "region", index, regions
        return "split" if self.splits else None, None, None

    def _begin(self, _drag, x, y):
        self.grab_focus()
        if not self._after:
            return
        self._held = self._what_is_at(x, y)
        kind, detail, _was = self._held
        if kind != "split":
            self.chosen = (detail[0] if kind == "corner" else detail if kind == "region" else None)
        self._move(x, y, 0.0, 0.0)

    def _update(self, drag, dx, dy):
        known, x, y = drag.get_start_point()
        if known and self._held:
            self._move(x + dx, y + dy, dx, dy)

    def _move(self, x, y, dx, dy):
        kind, detail, was = self._held
        at = self.to_picture(x, y)
        if kind == "split":
            left, _top, width, _height = self.place()
            self.split = min(max((x - left) / width, 0.0), 1.0)
        elif kind == "draw":
            self._band = shapes.spanned(detail, at)
        elif kind == "map":
            for name, value in was.dragged(detail, at, *self.size).items():
                if dx or dy:
                    self._change(name, value)
        elif kind in ("corner", "region") and (dx or dy):
            index = detail[0] if kind == "corner" else detail
            scale = self.size[0] / self.place()[2], self.size[1] / self.place()[3]
            regions = list(was)
            regions[index] = (shapes.resized(was[index], detail[1], at) if kind == "corner" else
                              shapes.moved(was[index], dx * scale[0], dy * scale[1]))
            self._change("regions", shapes.format_regions(regions))
        self.queue_draw()

    def _end(self, _drag, _dx, _dy):
        if self._held and self._held[0] == "draw" and self._band:
            regions = shapes.parse_regions(self._values()["regions"])
            self._add(regions, self._band)
        self._held = self._band = None
        self.queue_draw()

    def _add(self, regions, region):
        self.chosen = len(regions)
        self.draws_region = False
        if self._values().get("roi-mode") == "none":
            self._change("roi-mode", "inside")
        self._change("regions", shapes.format_regions([*regions, region]))

    def add_region(self):
        """Adds a region in the middle, for use without a mouse."""
        width, height = self.size
        if width and "regions" in self._values():
            self._add(shapes.parse_regions(self._values()["regions"]),
                      shapes.Region(width * 3 // 8, height * 3 // 8, width // 4, height // 4))

    def remove_region(self):
        regions = shapes.parse_regions(self._values().get("regions", ""))
        if self.chosen is not None and self.chosen < len(regions):
            del regions[self.chosen]
            self.chosen = None
            self._change("regions", shapes.format_regions(regions))

    def _hover(self, _motion, x, y):
        kind = self._what_is_at(x, y)[0] if self._after else None
        left, _top, width, _height = self.place()
        if kind == "split" and abs(left + width * self.split - x) > REACH:
            kind = None
        self.set_cursor_from_name({"split": "col-resize", "draw": "crosshair", "map": "grab",
                                   "corner": "nwse-resize", "region": "move"}.get(kind))

    # Keys

    def _press(self, _keys, key, _code, state):
        arrows = {Gdk.KEY_Left: (-1, 0), Gdk.KEY_Right: (1, 0), Gdk.KEY_Up: (0, -1),
                  Gdk.KEY_Down: (0, 1)}
        if key in (Gdk.KEY_Delete, Gdk.KEY_BackSpace):
            self.remove_region()
        elif key in arrows:
            far = 10 if state & Gdk.ModifierType.SHIFT_MASK else 1
            self._nudge(*arrows[key], far)
        elif key == Gdk.KEY_Tab and self._values().get("regions"):
            return self._choose_next()
        else:
            return False
        return True

    def _choose_next(self):
        """Chooses the next region; after the last one focus moves to the next widget."""
        count = len(shapes.parse_regions(self._values()["regions"]))
        self.chosen = 0 if self.chosen is None else self.chosen + 1
        if self.chosen >= count:
            self.chosen = None
        self.queue_draw()
        return self.chosen is not None

    def _nudge(self, dx, dy, far):
        """The chosen region, else the line."""
        regions = shapes.parse_regions(self._values().get("regions", ""))
        if self.chosen is not None and self.chosen < len(regions):
            regions[self.chosen] = shapes.moved(regions[self.chosen], dx * far, dy * far)
            self._change("regions", shapes.format_regions(regions))
        else:
            self.split = min(max(self.split + 0.01 * dx * far, 0.0), 1.0)
        self.queue_draw()
