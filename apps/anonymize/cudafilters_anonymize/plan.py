# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan: which boxes are covered in each frame, and which frames are unsure.

A track is covered where it was seen, where it was out of sight for a while, some time before it was
first seen and after it was last seen. There it goes on as it moved, over the edge of the picture
too, and what it has left stays covered as well. What is known of a scene says nothing of the next.
"""
import dataclasses

from . import tracks
from .boxes import DETECTED, Box, around

# Sources of regions, besides those of detections.
BRIDGED, BEFORE, AFTER = "bridged", "before", "after"

# Reasons why a frame is unsure.
LOST = "a face was lost in mid-picture"
APPEARED = "a face appeared in mid-picture"
OUT_OF_SIGHT = "a face was out of sight"
DOUBTFUL = "something might be a face"
DAMAGED = "pictures are damaged here"
SKIPPED = "pictures are missing here"

# A face this near to the edge, as a fraction of its size, may have left the picture.
NEAR_EDGE = 0.35
# Detections jitter, so centres of masks are averaged over this time to each side. Faces that are
# half hidden or cut by the edge are detected too small, so the largest size in this time is used.
CENTRES_NS = 90_000_000
SIZES_NS = 500_000_000
# A distance between frames of this many times the usual one is a hole: where frames come steadily,
# with this share of the distances about the usual one, and else, where a camera leaves some out.
STEADY = 0.95
STEADY_HOLE = 1.6
HOLE = 3.5
HOLE_NS = 200_000_000


@dataclasses.dataclass(frozen=True)
class Settings:
    """Times in ns. threshold: from which confidence on a detection begins a track; before, after:
    how long what was not yet or no longer seen is covered; longest_gap: how long a track may be
    out of sight; caution: how long a frame is unsure once a face has been lost in mid-picture;
    doubt: from which confidence on a detection that began no track makes a frame unsure."""
    threshold: float
    before: int = 400_000_000
    after: int = 400_000_000
    longest_gap: int = 1_000_000_000
    caution: int = 1_000_000_000
    doubt: float = 0.4


@dataclasses.dataclass(frozen=True)
class Region:
    """A box to cover, its track, and its source: one of a Detection or of this file."""
    box: Box
    track: int
    source: str
    confidence: float
    kind: str

    @property
    def held(self):
        return self.source != DETECTED


class Plan:
    """regions and reasons: of each frame, in the order of frames."""

    def __init__(self, frames, width, height, settings):
        self.frames = frames
        self.size = width, height
        self.settings = settings
        self.regions = [[] for _ in frames]
        self.reasons = [set() for _ in frames]
        linked, left = tracks.Linker(frames, settings.threshold, settings.longest_gap).link()
        self.tracks = linked
        for track in linked:
            self.cover(track)
            self.doubt(track)
        for number, weak in enumerate(left):
            if any(one.confidence >= settings.doubt for one in weak):
                self.reasons[number].add(DOUBTFUL)
        self.doubt_holes()

    def cover(self, track):
        boxes = {number: (one, one.source) for number, one in track.sightings.items()}
        for number, one in tracks.bridges(track, self.frames):
            boxes[number] = one, BRIDGED
        for number, (one, source) in boxes.items():
            self.add(number, track, self.steadied(number, boxes), source, one)
        self.extend(track, self.steadied(track.last, boxes), 1, self.settings.after, AFTER)
        self.extend(track, self.steadied(track.first, boxes), -1, self.settings.before, BEFORE)

    def steadied(self, number, boxes):
        """The box of this frame, and one around the mean of its neighbours' centres: covers what
        was seen, and moves and shrinks less than detections do."""
        own = boxes[number][0].box
        centres = [box.centre for box in self.near(number, boxes, CENTRES_NS)]
        x, y = (sum(centre[axis] for centre in centres) / len(centres) for axis in (0, 1))
        sizes = self.near(number, boxes, SIZES_NS)
        return own.union(around((x, y), max(box.width for box in sizes),
                                max(box.height for box in sizes)))

    def near(self, number, boxes, time):
        """The boxes of the track in this frame and in frames at most `time` away."""
        found = [boxes[number][0].box]
        for step in (-1, 1):
            other = number + step
            while (other in boxes and
                   abs(self.frames[other].pts - self.frames[number].pts) <= time):
                found.append(boxes[other][0].box)
                other += step
        return found

    def add(self, number, track, box, source, detection):
        self.regions[number].append(
            Region(box, track.number, source, detection.confidence, detection.kind))

    def extend(self, track, box, step, time, source):
        """Beyond its end (step 1) or its beginning, where `box` covered it: for `time`, and on
        until it has left the picture where it was leaving it."""
        outermost = track.last if step > 0 else track.first
        seen = track.sightings[outermost]
        (x, y), path = seen.box.centre, box
        for number, passed in self.beyond(outermost, step,
                                          max(time, self.settings.longest_gap)):
            to_x, to_y = tracks.expected(track, self.frames, number, step).centre
            place = box.moved(to_x - x, to_y - y)
            path = path.union(place) if passed <= time else place
            if passed > time and not self.is_leaving(box, place):
                return
            if path.within(*self.size) <= 0:
                return
            self.add(number, track, path, source, seen)

    def beyond(self, outermost, step, time):
        """(frame number, ns passed) of the frames after or before it, for so long, in its scene."""
        number = outermost + step
        while 0 <= number < len(self.frames):
            if self.frames[number if step > 0 else number + 1].cut:
                return
            passed = abs(self.frames[number].pts - self.frames[outermost].pts)
            if passed > time:
                return
            yield number, passed
            number += step

    def is_leaving(self, seen, place):
        """Whether the box is near the edge, moving out, and not yet out of the picture."""
        return (self.is_near_edge(seen) and
                0 < place.within(*self.size) < min(seen.within(*self.size), 1.0))

    def is_near_edge(self, box):
        return box.grown(NEAR_EDGE).within(*self.size) < 1 - 1e-6

    def doubt(self, track):
        for number, _ in tracks.bridges(track, self.frames):
            self.reasons[number].add(OUT_OF_SIGHT)
        for step, reason in ((1, LOST), (-1, APPEARED)):
            outermost = track.last if step > 0 else track.first
            if self.is_near_edge(track.sightings[outermost].box):
                continue
            for number, _ in self.beyond(outermost, step, self.settings.caution):
                self.reasons[number].add(reason)

    def doubt_holes(self):
        times = [frame.pts for frame in self.frames]
        steps = [after - before for before, after in zip(times, times[1:])]
        usual = sorted(steps)[len(steps) // 2] if steps else 0
        near = sum(1 for step in steps if abs(step - usual) < (STEADY_HOLE - 1) * usual)
        longest = (STEADY_HOLE * usual if near >= STEADY * len(steps) else
                   max(HOLE * usual, HOLE_NS))
        for number, frame in enumerate(self.frames):
            if frame.damaged:
                self.reasons[number].add(DAMAGED)
            if number and steps[number - 1] > longest:
                self.reasons[number].add(SKIPPED)
                self.reasons[number - 1].add(SKIPPED)
