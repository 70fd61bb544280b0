# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of detections, of any detector or of an earlier run, and the sidecar that a run leaves.

Coordinates are pixels of the upright picture, as players show it; time is in seconds from the
file's beginning.
"""
import bisect
import csv
import json
import math
import os

from .boxes import DETECTED, FOLLOWED, Box, Detection
from .errors import USAGE, Problem

FORMAT = "cudafilters-anonymize"
VERSION = 1

# Limit on coordinates in pixels, beyond any picture.
FARTHEST = 1e6

# Names of columns and members.
NAMES = {
    "time": ("time", "seconds", "t"), "frame": ("frame", "frame_number"), "pts": ("pts",),
    "x": ("x", "left"), "y": ("y", "top"), "width": ("width", "w"), "height": ("height", "h"),
    "confidence": ("confidence", "score"), "type": ("type", "label", "class"),
    "source": ("source",),
}


class Row:
    """A detection, and its frame: by `time` in seconds, by `frame`, or by `pts` in ns."""

    def __init__(self, where, values):
        self.where = where
        known = {name: values[alias] for name, aliases in NAMES.items() for alias in aliases
                 if values.get(alias) not in (None, "")}
        self.moment = next(((name, self.number(known, name)) for name in ("pts", "frame", "time")
                            if name in known), None)
        if not self.moment:
            raise Problem(f"{where} has neither time nor frame", USAGE)
        box = Box(*(self.pixels(known, name) for name in ("x", "y", "width", "height")))
        if box.width <= 0 or box.height <= 0:
            raise Problem(f"{where} has the size {box.width:g}x{box.height:g}; both have to be "
                          "more than 0", USAGE)
        confidence = self.number(known, "confidence") if "confidence" in known else 1.0
        source = known.get("source", DETECTED)
        self.detection = Detection(box, confidence, source if source == FOLLOWED else DETECTED,
                                   str(known.get("type", "face")))

    def number(self, known, name):
        try:
            value = float(known[name])
        except (KeyError, OverflowError, TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise Problem(f"{self.where} has no number for {name}, but "
                          f"{str(known.get(name, 'nothing'))[:40]!r}", USAGE)
        return value

    def pixels(self, known, name):
        value = self.number(known, name)
        if abs(value) > FARTHEST:
            raise Problem(f"{self.where} has {value:g} for {name}; allowed is -{FARTHEST:g} to "
                          f"{FARTHEST:g}", USAGE)
        return value


class Detections:
    """The detections of a file. threshold and size of the pictures are those of the run that wrote
    it, or None."""

    def __init__(self, path):
        self.path = path
        self.threshold = None
        self.size = None
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"{path} cannot be read: {error}", USAGE) from error
        is_json = text.lstrip()[:1] in ("{", "[")
        try:
            self.rows = list(self.json_rows(text) if is_json else self.csv_rows(text))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError,
                csv.Error) as error:
            raise Problem(f"{path} has members of another kind than detections have: {error}",
                          USAGE) from error

    def csv_rows(self, text):
        reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
        columns = [name.strip().lower() for name in reader.fieldnames or ()]
        missing = [name for name in ("x", "y", "width", "height")
                   if not set(columns) & set(NAMES[name])]
        if missing:
            raise Problem(f"{self.path} has no column {missing[0]}; its first line has to name the "
                          "columns, such as time,x,y,width,height,confidence", USAGE)
        reader.fieldnames = columns
        for row in reader:
            yield Row(f"{self.path}, line {reader.line_num}", row)

    def json_rows(self, text):
        try:
            content = json.loads(text)
        except (RecursionError, ValueError) as error:
            raise Problem(f"{self.path} is not valid JSON: {error}", USAGE) from error
        if isinstance(content, dict) and content.get("format") == FORMAT:
            if content.get("version") != VERSION:
                raise Problem(f"{self.path} is of version {content.get('version')}; this program "
                              f"reads {VERSION}", USAGE)
            self.threshold = float(content["detector"]["threshold"])
            if not 0 <= self.threshold <= 1:
                raise Problem(f"{self.path} has the threshold {self.threshold:g}; allowed is 0 to "
                              "1", USAGE)
            self.size = int(content["input"]["width"]), int(content["input"]["height"])
        rows = content.get("frames", content.get("detections")) if isinstance(
            content, dict) else content
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Problem(f"{self.path} has no list of detections, nor of frames that have them",
                          USAGE)
        for index, row in enumerate(rows):
            where = f"{self.path}, entry {index}"
            if "detections" in row:
                for one in row["detections"]:
                    yield Row(where, {**row, **one})
            else:
                yield Row(where, row)

    def check_size(self, size):
        if self.size and self.size != size:
            raise Problem("{} is about pictures of {}x{}, and these are of {}x{}; is it of another "
                          "video?".format(self.path, *self.size, *size), USAGE)

    def doubts(self, size):
        """Warnings of what is allowed but looks like a mistake."""
        if not self.rows:
            yield f"{self.path} has no detections: nothing is covered"
        outside = [row for row in self.rows if not row.detection.box.within(*size)]
        if outside:
            yield ("{} of {} detections lie outside of the pictures of {}x{}, the first of them in "
                   "{}: are they of larger pictures?".format(len(outside), len(self.rows), *size,
                                                              outside[0].where))

    def put_into(self, frames):
        """Gives each frame its detections."""
        times = [frame.time for frame in frames]
        by_pts = {frame.pts: number for number, frame in enumerate(frames)}
        for row in self.rows:
            frames[self.frame_of(row, times, by_pts)].detections.append(row.detection)

    def frame_of(self, row, times, by_pts):
        kind, value = row.moment
        if kind == "frame":
            if not 0 <= value < len(times):
                raise Problem(f"{row.where} is about frame {value:g}; the video has frames 0 to "
                              f"{len(times) - 1}", USAGE)
            return int(value)
        if kind == "pts":
            if int(value) not in by_pts:
                raise Problem(f"{row.where} is about the time stamp {value:.0f}, which no frame "
                              "has; is it of another video?", USAGE)
            return by_pts[int(value)]
        wanted = value * 1e9
        usual = (times[-1] - times[0]) / max(len(times) - 1, 1)
        if not times[0] - 2 * usual - 1e6 <= wanted <= times[-1] + 2 * usual + 1e6:
            raise Problem(f"{row.where} is about {value:g} s; the video has pictures from "
                          f"{times[0] / 1e9:.3f} to {times[-1] / 1e9:.3f} s", USAGE)
        after = bisect.bisect_left(times, wanted)
        near = [number for number in (after - 1, after) if 0 <= number < len(times)]
        return min(near, key=lambda number: abs(times[number] - wanted))


def box_members(box):
    return {"x": round(box.x, 2), "y": round(box.y, 2), "width": round(box.width, 2),
            "height": round(box.height, 2)}


def frame_members(number, frame, plan, whole):
    members = {"frame": number, "pts": frame.pts, "time": round(frame.time / 1e9, 6)}
    if frame.cut:
        members["cut"] = True
    members["detections"] = [
        {**box_members(one.box), "confidence": one.confidence, "type": one.kind,
         "source": one.source} for one in frame.detections]
    members["regions"] = [
        {**box_members(one.box), "track": one.track, "type": one.kind, "source": one.source,
         "confidence": one.confidence} for one in plan.regions[number]]
    if plan.reasons[number]:
        members["unsure"] = sorted(plan.reasons[number])
    if whole:
        members["whole"] = True
    return members


def write_sidecar(path, head, plan, whole):
    """Writes the sidecar. head: members before `frames`; whole(number): whether the whole frame is
    covered."""
    head = {"format": FORMAT, "version": VERSION, **head}
    tracks = [{"track": track.number, "type": track.sightings[track.first].kind,
               "first": round(plan.frames[track.first].time / 1e9, 6),
               "last": round(plan.frames[track.last].time / 1e9, 6),
               "seen": len(track.sightings)} for track in plan.tracks]
    with open(path, "w", encoding="utf-8") as file:
        text = json.dumps({**head, "tracks": tracks}, indent=1)
        file.write(text.rstrip().removesuffix("}").rstrip() + ",\n \"frames\": [")
        for number, frame in enumerate(plan.frames):
            members = frame_members(number, frame, plan, whole(number))
            file.write((",\n  " if number else "\n  ") + json.dumps(members))
        file.write("\n ]\n}\n")
        file.flush()
        os.fsync(file.fileno())
