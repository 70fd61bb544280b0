# SPDX-License-Identifier: LGPL-2.1-or-later
"""A run of the program, step by step."""
import fcntl
import os
import time
import types

from . import containers, detector, filtering, mask, media, plan, records, report, scan
from .errors import USAGE, Problem
from .pictures import Pictures

# With --check: how often a result in which a face is found is made again.
MOST_ROUNDS = 3
# A detection that overlaps a region this much is the covered face.
SAME_FACE = 0.25
# Difference between the duration of a file and its last picture that needs no warning, in ns.
LONGEST_TAIL = 1e9


class Job:
    """options: of the command line; told: a Report; version: of this program."""

    def __init__(self, options, told, version):
        self.version = version
        self.options = options
        self.told = told
        self.mask = mask.Mask(options.mask, options.shape, options.expand, options.feather,
                              options.blocks_across, options.sigma_relative, options.fill_color,
                              options.backend)
        self.output, self.video_only = options.output, options.video_only
        self.sidecar = None if options.no_sidecar else options.sidecar or f"{options.output}.json"
        self.parts = []
        self.locks = []  # held by the files that are open
        self.source_codec = None
        self.size = 0, 0  # of the upright picture
        self.plan = None
        self.by_pts = {}
        self.seen_again = set()
        self.given = records.Detections(options.detections) if options.detections else None
        self.detector = None
        if not self.given or options.check:
            self.detector = detector.choose(options.detector, options.model, options.min_face)
        self.threshold = self.choose_threshold()
        self.check_files()

    def choose_threshold(self):
        if self.options.threshold is not None:
            return self.options.threshold
        if self.given:
            return self.given.threshold or 0.0
        return self.detector.threshold

    def check_files(self):
        """Checks, before any work, all that can be checked."""
        options = self.options
        for path in [options.input, *self.results()]:
            if path.encode(errors="ignore") != os.fsencode(path):
                raise Problem(f"{ascii(path)} is no name in UTF-8, and GStreamer's Python takes no "
                              "other; rename the file", USAGE)
        if not os.path.isfile(options.input):
            raise Problem(f"there is no file {options.input}", USAGE)
        if not options.detect_only:
            containers.muxer_name(options.output)
            self.mask.element()
            if options.encoder:
                media.parse(options.encoder)
        for path in self.results():
            if os.path.exists(path) and os.path.samefile(path, options.input):
                raise Problem(f"{path} is the input itself", USAGE)
            if os.path.exists(path) and not options.overwrite:
                raise Problem(f"{path} exists; --overwrite replaces it", USAGE)
            folder = os.path.dirname(path) or "."
            if not os.access(folder, os.W_OK):
                raise Problem(f"{path} cannot be written: {folder} is not a folder that you may "
                              "write to", USAGE)

    def results(self):
        video = [] if self.options.detect_only else [self.output]
        return video + ([self.sidecar] if self.sidecar else [])

    def begin(self):
        """Creates the unfinished files, and locks them until the program ends; one program at a
        time writes a file."""
        for path in self.results():
            part = f"{path}.part"
            try:
                lock = open(part, "ab")
            except OSError as error:
                raise Problem(f"{part} cannot be written: {error.strerror}") from error
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.close()
                raise Problem(f"{path} is being written by another "
                              "cudafilters-anonymize") from error
            except OSError:
                pass  # a file system without locks
            self.locks.append(lock)
            self.parts.append(part)

    def run(self):
        begun = time.monotonic()
        self.begin()
        frames, pictures = self.look()
        self.size = pictures.width, pictures.height
        if self.given:
            self.given.check_size(self.size)
            self.given.put_into(frames)
            for doubt in self.given.doubts(self.size):
                self.told.warn(doubt)
        options = self.options
        settings = plan.Settings(self.threshold, *(round(seconds * 1e9) for seconds in (
            options.before, options.after, options.gap, options.caution)))
        self.plan = plan.Plan(frames, *self.size, settings)
        holes = report.hole_warning(self.plan)
        if holes:
            self.told.warn(f"{options.input}: {holes}")
        if not options.detect_only:
            self.filter_and_check(pictures.is_turned)
        counts = report.summary(self.plan, self.is_whole)
        if options.check:
            counts["seen_again"] = len(self.seen_again)
        if self.sidecar:
            self.write_sidecar(pictures, counts)
        for part in list(self.parts):
            filtering.put_in_place(part, part.removesuffix(".part"))
            self.parts.remove(part)
        self.tell(counts, time.monotonic() - begun)

    def detect_size(self):
        return self.options.detect_size or (self.detector or detector.haar.Haar).detect_size

    def look(self):
        pictures = Pictures(self.options.input, self.detect_size())
        name = self.options.detections if self.given else self.detector.name
        self.told.say(f"{self.options.input}: looking for faces with {name}")
        if self.detector and self.detector.name == "haar" and self.options.detector == "auto":
            self.told.warn("no model was found, so faces are looked for with OpenCV's Haar "
                           "cascades, which miss turned and small faces; --model names a better "
                           "detector")
        self.told.begin()
        duration = None

        def progress(count, moment):
            nonlocal duration
            if count == 1:
                duration = pictures.duration()
                self.check_streams(pictures)
            self.told.progress("looking", count,
                               min(moment / duration, 1.0) if duration else None)

        settings = types.SimpleNamespace(every=self.options.every, threshold=self.threshold,
                                         follow=self.options.gap)
        asked = None if self.given else self.detector
        frames = scan.scan(pictures, asked, settings, progress)
        end = frames[-1].time
        if duration and end + LONGEST_TAIL < duration:
            self.told.warn(f"the last picture is at {end / 1e9:.2f} s, and {self.options.input} is "
                           f"{duration / 1e9:.2f} s long: it may be cut off or broken")
        return frames, pictures

    def check_streams(self, pictures):
        self.source_codec = next(caps.get_structure(0).get_name()
                                 for kind, caps in pictures.streams if kind == 0)
        if self.options.detect_only:
            return
        if not self.video_only:
            containers.check(self.output, pictures.streams)
        if not self.options.encoder:
            containers.codec_for(self.output, self.source_codec)
            containers.check_memory(pictures.width, pictures.height, os.sysconf("SC_PHYS_PAGES") *
                                    os.sysconf("SC_PAGE_SIZE"))
            if pictures.has_alpha:
                self.told.warn("its transparency is left out")
        for kind, caps in pictures.streams:
            if kind:
                self.told.warn("only the first video of the file is covered and written; another "
                               "one is left out")
            elif kind is None and not containers.is_copied(caps):
                self.told.warn(f"{caps.get_structure(0).get_name()} is neither audio nor "
                               "subtitles, and is left out")

    def make_encoder(self):
        """The encoder for Filtering: (element, its description)."""
        if self.options.encoder:
            return media.parse(self.options.encoder), self.options.encoder
        codec = containers.codec_for(self.output, self.source_codec)
        return containers.encoder(codec, self.options.quality)

    def is_whole(self, index):
        return (index in self.seen_again or
                self.options.fail_closed and bool(self.plan.reasons[index]))

    def write_sidecar(self, pictures, counts):
        part = f"{self.sidecar}.part"
        options = self.options
        head = {
            "program": f"cudafilters-anonymize {self.version}",
            "input": {"file": os.path.basename(options.input), "width": pictures.width,
                      "height": pictures.height},
            "detector": {"name": "file" if self.given else self.detector.name,
                         "threshold": self.threshold},
            "settings": {name: getattr(options, name) for name in (
                "mask", "shape", "expand", "feather", "before", "after", "gap", "caution",
                "fail_closed")},
            "summary": counts,
        }
        try:
            records.write_sidecar(part, head, self.plan, self.is_whole)
        except OSError as error:
            raise Problem(f"{part} cannot be written: {error.strerror}") from error

    def filter_and_check(self, is_turned):
        part = f"{self.output}.part"
        for _ in range(MOST_ROUNDS):
            self.filter(part, is_turned)
            found = self.find_again(part) if self.options.check else set()
            if not found:
                return
            if found <= self.seen_again:
                break
            self.seen_again |= found
            self.told.say(f"{len(found)} frames in which a face is still found are covered whole")
        raise Problem(f"the detector still finds a face in {len(found)} frames of the result; take "
                      "another --mask, or a stronger one")

    def find_again(self, part):
        """Numbers of the frames of the result in which a covered face is detected."""
        pictures = Pictures(part, self.detect_size())
        total = len(self.plan.frames)
        self.told.say("looking for faces in the result")
        self.told.begin()
        threshold = self.options.threshold
        if threshold is None:
            threshold = self.detector.threshold
        found = set()
        for index, picture in enumerate(pictures):
            if index >= total:
                raise Problem(f"{part} has more than {total} frames")
            faces = [one.box.scaled(picture.scale) for one in self.detector.find(picture.image)
                     if one.confidence >= threshold]
            if any(face.iou(known.box) > SAME_FACE for face in faces
                   for known in self.plan.regions[index]):
                found.add(index)
            self.told.progress("checking", index + 1, min((index + 1) / total, 1.0))
        return found

    def regions(self, pts):
        """For Filtering."""
        if pts not in self.by_pts:
            return None
        boxes = []
        for index in self.by_pts[pts]:
            boxes += [mask.WHOLE] if self.is_whole(index) else []
            boxes += [one.box for one in self.plan.regions[index]]
        return boxes

    def filter(self, part, is_turned):
        self.by_pts = {}
        for index, frame in enumerate(self.plan.frames):
            self.by_pts.setdefault(frame.pts, []).append(index)
        work = filtering.Filtering(self.options.input, part, self, is_turned, self.regions)
        self.told.say(f"{self.output}: covering with {self.mask.kind}, "
                      f"{work.encoder_description}")
        self.told.begin()
        total = len(self.plan.frames)
        work.run(lambda frames: self.told.progress("covering", frames, min(frames / total, 1.0)))
        if work.whole_unknown or work.frames != total:
            self.told.warn(f"{total} frames were looked at, {work.frames} are written; "
                           f"{work.whole_unknown} that were not looked at are covered whole")

    def tell(self, counts, seconds):
        self.told.say(
            "\n".join([*report.as_sentences(counts, self.options.fail_closed),
                       *([] if self.options.fail_closed else report.span_lines(self.plan))]),
            event="result", output=None if self.options.detect_only else self.output,
            sidecar=self.sidecar, seconds=round(seconds, 2), **counts)

    def clean_up(self):
        for part in self.parts:
            if os.path.exists(part):
                os.remove(part)
