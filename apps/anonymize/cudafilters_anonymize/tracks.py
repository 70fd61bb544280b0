# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tracks: detections of one face in successive frames. Made forwards and then backwards through the
clip, so that weak detections count both after and before a sure one."""
import collections
import dataclasses
import itertools

from .boxes import DETECTED, Detection, around

# Two boxes are one face if they overlap this much, or are this near relative to their size.
LEAST_OVERLAP = 0.25
MOST_DISTANCE = 0.7
MOST_SIZE_RATIO = 2.0
# Number of sightings that a movement is computed from.
SIGHTINGS_FOR_MOTION = 6


@dataclasses.dataclass
class Frame:
    """What the first pass knows of a frame. pts: its time stamp; cut: another scene begins;
    damaged: as of a Picture; time: from the file's beginning; times in ns."""
    pts: int
    detections: list
    cut: bool
    damaged: bool
    time: int


class Track:
    """One face: sightings are Detections by frame number; numbers are these, in order."""

    def __init__(self, number):
        self.number = number
        self.sightings = {}
        self.numbers = collections.deque()

    @property
    def first(self):
        return self.numbers[0]

    @property
    def last(self):
        return self.numbers[-1]

    def add(self, number, detection):
        """Adds a sighting before all others, or after them."""
        if self.numbers and number < self.first:
            self.numbers.appendleft(number)
        else:
            self.numbers.append(number)
        self.sightings[number] = detection

    def ends(self, step):
        """Frame numbers at its end (step 1) or its beginning (step -1), the outermost first."""
        numbers = reversed(self.numbers) if step > 0 else self.numbers
        return list(itertools.islice(numbers, SIGHTINGS_FOR_MOTION))


def velocity(track, frames, step):
    """Pixels a second at the end (step 1) or the beginning (step -1), by least squares; the less
    the fewer sightings there are, since boxes jitter."""
    numbers = track.ends(step)
    if len(numbers) < 2:
        return 0.0, 0.0
    times = [frames[number].pts / 1e9 for number in numbers]
    centres = [track.sightings[number].box.centre for number in numbers]
    mean = sum(times) / len(times)
    spread = sum((time - mean) ** 2 for time in times)
    if spread <= 0:
        return 0.0, 0.0
    trust = (len(numbers) - 1) / (SIGHTINGS_FOR_MOTION - 1)
    return tuple(sum((time - mean) * centre[axis] for time, centre in zip(times, centres)) *
                 trust / spread for axis in (0, 1))


def expected(track, frames, number, step):
    """The predicted box in frame `number`, after the end or before the beginning of the track."""
    outermost = track.ends(step)[0]
    dx, dy = velocity(track, frames, step)
    seconds = (frames[number].pts - frames[outermost].pts) / 1e9
    return track.sightings[outermost].box.moved(dx * seconds, dy * seconds)


def nearness(box, other):
    """0 if the boxes are not one face, else larger the better they fit."""
    small, large = sorted((box.size, other.size))
    if small <= 0 or large / small > MOST_SIZE_RATIO:
        return 0.0
    overlap = box.iou(other)
    (x, y), (other_x, other_y) = box.centre, other.centre
    distance = ((x - other_x) ** 2 + (y - other_y) ** 2) ** 0.5 / large
    if overlap < LEAST_OVERLAP and distance > MOST_DISTANCE:
        return 0.0
    return overlap + max(1 - distance, 0.01)


class Linker:
    """Makes tracks of all frames' detections. `threshold`: a confidence from which on a detection
    begins a track; `longest_gap`: in ns, how long a track may be out of sight."""

    def __init__(self, frames, threshold, longest_gap):
        self.frames = frames
        self.threshold = threshold
        self.longest_gap = longest_gap
        self.tracks = []
        self.free = [list(frame.detections) for frame in frames]
        self.scenes = list(itertools.accumulate(int(frame.cut) for frame in frames))

    def link(self):
        """Returns (tracks, weak detections without a track in each frame)."""
        active = []
        for number in range(len(self.frames)):
            active = [track for track in active if self.reaches(track.last, number)]
            self.see(number, active, 1)
            for one in list(self.free[number]):
                if one.confidence >= self.threshold and one.source == DETECTED:
                    self.tracks.append(Track(len(self.tracks) + 1))
                    self.take(number, one, self.tracks[-1])
                    active.append(self.tracks[-1])
        active = []
        waiting = sorted(self.tracks, key=lambda track: track.first)
        for number in range(len(self.frames) - 1, -1, -1):
            while waiting and waiting[-1].first > number:
                active.append(waiting.pop())
            active = [track for track in active if self.reaches(track.first, number)]
            self.see(number, active, -1)
        return self.tracks, self.free

    def reaches(self, outermost, number):
        """Could what was seen in one frame still be there in the other?"""
        gap = abs(self.frames[number].pts - self.frames[outermost].pts)
        return gap <= self.longest_gap and self.scenes[outermost] == self.scenes[number]

    def see(self, number, tracks, step):
        """Assigns sure detections first, then weak ones."""
        strong = [one for one in self.free[number] if one.confidence >= self.threshold]
        weak = [one for one in self.free[number] if one.confidence < self.threshold]
        self.match(self.match(tracks, number, strong, step), number, weak, step)

    def match(self, tracks, number, candidates, step):
        """Assigns each candidate to the track that fits best; returns the tracks without one."""
        pairs = []
        for track in tracks:
            places = (expected(track, self.frames, number, step),
                      track.sightings[track.ends(step)[0]].box)
            for one in candidates:
                fit = max(nearness(place, one.box) for place in places)
                if fit > 0:
                    pairs.append((fit, track, one))
        taken_tracks, taken = set(), set()
        for _, track, one in sorted(pairs, key=lambda pair: -pair[0]):
            if track.number not in taken_tracks and id(one) not in taken:
                taken_tracks.add(track.number)
                taken.add(id(one))
                self.take(number, one, track)
        return [track for track in tracks if track.number not in taken_tracks]

    def take(self, number, one, track):
        track.add(number, one)
        self.free[number] = [other for other in self.free[number] if other is not one]


def bridges(track, frames):
    """(frame number, Detection) of each frame between two sightings: on the way, and as large as
    the larger of them."""
    for before, after in itertools.pairwise(track.numbers):
        one, other = track.sightings[before], track.sightings[after]
        start, end = frames[before].pts, frames[after].pts
        for number in range(before + 1, after):
            share = (frames[number].pts - start) / max(end - start, 1)
            centre = tuple(a + share * (b - a) for a, b in zip(one.box.centre, other.box.centre))
            box = around(centre, max(one.box.width, other.box.width),
                         max(one.box.height, other.box.height))
            yield number, Detection(box, min(one.confidence, other.confidence), kind=one.kind)
