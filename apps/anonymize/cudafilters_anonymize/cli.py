# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of cudafilters-anonymize."""
import argparse
import os
import signal
import time

from . import containers, detector, filtering, mask, media, plan, records, report, scan
from .errors import FAILED, INTERRUPTED, USAGE, Interrupted, Problem
from .pictures import Pictures

EPILOG = """\
Exit status: 0 done; 1 failed; 2 the command line or a file of detections is wrong; 130 interrupted.
OUT is complete or not there. See cudafilters-anonymize(1).
"""


def number(least, most, kind=float):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed: {least} to {most} is")
        return value
    return read


def color(text):
    digits = text.removeprefix("#")
    try:
        value = int(digits, 16)
    except ValueError:
        value = -1
    if len(digits) != 6 or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no color: such as 000000 or ff8000")
    return 0xFF000000 | value


def parser(version):
    result = argparse.ArgumentParser(
        prog="cudafilters-anonymize", epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Covers the faces in a video file. Audio, subtitles and timing stay.")
    result.add_argument("input", metavar="IN")
    result.add_argument("output", metavar="OUT", nargs="?",
                        help=f"the name ends in {', '.join(containers.MUXERS)}")
    add_mask_options(result.add_argument_group("what covers"))
    add_detection_options(result.add_argument_group("what is covered"))
    files = result.add_argument_group("files")
    files.add_argument("--sidecar", metavar="FILE", help="detections, regions and doubts as JSON "
                       "(default: OUT.json)")
    files.add_argument("--no-sidecar", action="store_true", help="write no sidecar")
    files.add_argument("--detect-only", action="store_true",
                       help="write the sidecar alone; no OUT")
    files.add_argument("--quality", type=number(0, 51, int), default=20, metavar="N",
                       help="of the video, 0 best to 51 (20)")
    files.add_argument("--encoder", metavar="ELEMENTS", help="such as \"x265enc ! h265parse\"")
    files.add_argument("--video-only", action="store_true", help="leave audio and subtitles out")
    files.add_argument("--overwrite", action="store_true", help="replace files that exist")
    files.add_argument("--json", action="store_true", help="progress and report as JSON lines")
    files.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    files.add_argument("--version", action="version", version=f"%(prog)s {version}")
    return result


def add_mask_options(group):
    default = mask.Mask()
    group.add_argument("--mask", choices=mask.MASKS, default=default.kind,
                       help=f"({default.kind})")
    group.add_argument("--shape", choices=mask.SHAPES, default=default.shape,
                       help=f"({default.shape})")
    group.add_argument("--expand", type=number(0, 2), default=default.expand, metavar="F",
                       help=f"fraction added on each side ({default.expand})")
    group.add_argument("--feather", type=number(0, 256), default=default.feather, metavar="PIXELS",
                       help="soft edge, outwards (0)")
    group.add_argument("--blocks-across", type=number(1, 256, int), metavar="N",
                       default=default.blocks_across,
                       help=f"mosaic: blocks in a face ({default.blocks_across})")
    group.add_argument("--sigma-relative", type=number(0.01, 1), metavar="F",
                       default=default.sigma_relative,
                       help=f"blur: sigma as a fraction of a face ({default.sigma_relative})")
    group.add_argument("--fill-color", type=color, default=default.fill_color, metavar="RRGGBB",
                       help="fill (000000)")
    group.add_argument("--backend", choices=("auto", "cuda", "cpu", "reference"),
                       default=default.backend, help="of the elements (auto)")


def add_detection_options(group):
    default = plan.Settings(0)
    group.add_argument("--detector", choices=("auto", "haar", "model"), default="auto",
                       help="auto: a model where one is found, else haar")
    group.add_argument("--model", metavar="FILE", help="YuNet's or CenterFace's .onnx")
    group.add_argument("--threshold", type=number(0, 1), metavar="F",
                       help="confidence from which on a detection is a face")
    group.add_argument("--min-face", type=number(0, 1), default=0.05, metavar="F",
                       help="smallest face, as a fraction of the shorter side (0.05)")
    group.add_argument("--detect-size", type=number(64, 8192, int), metavar="PIXELS",
                       help="longer side of the pictures that the detector sees (640)")
    group.add_argument("--every", type=number(1, 100, int), default=1, metavar="N",
                       help="ask the detector every N frames, and follow between (1)")
    group.add_argument("--detections", metavar="FILE",
                       help="JSON or CSV of a detector's boxes, or an earlier sidecar, instead")
    for name, value, text in (("before", default.before, "cover so long before a face is found"),
                              ("after", default.after, "and after it is lost"),
                              ("gap", default.longest_gap, "bridge and follow at most so long")):
        group.add_argument(f"--{name}", type=number(0, 60), default=value / 1e9,
                           metavar="SECONDS", help=f"{text} ({value / 1e9:g})")
    group.add_argument("--fail-closed", action="store_true",
                       help="cover the whole of frames that are unsure")
    group.add_argument("--caution", type=number(0, 60), default=default.caution / 1e9,
                       metavar="SECONDS", help="how long frames are unsure after a face was lost "
                       f"in mid-picture ({default.caution / 1e9:g})")


class Job:
    """One run: what was asked, and the steps to it."""

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
        self.source_codec = None
        self.given = records.Detections(options.detections) if options.detections else None
        self.detector = None if self.given else detector.choose(options.detector, options.model,
                                                                options.min_face)
        self.threshold = self.choose_threshold()
        self.check_files()

    def choose_threshold(self):
        if self.options.threshold is not None:
            return self.options.threshold
        if self.given:
            return self.given.threshold or 0.0
        return self.detector.threshold

    def check_files(self):
        """Before any work: everything that can be known to fail."""
        options = self.options
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
                raise Problem(f"{path} cannot be written: {folder} is no folder that you may write "
                              "to", USAGE)

    def results(self):
        video = [] if self.options.detect_only else [self.output]
        return video + ([self.sidecar] if self.sidecar else [])

    def run(self):
        begun = time.monotonic()
        frames, pictures = self.look()
        if self.given:
            self.given.put_into(frames)
        options = self.options
        settings = plan.Settings(self.threshold, *(round(seconds * 1e9) for seconds in (
            options.before, options.after, options.gap, options.caution)))
        self.plan = plan.Plan(frames, pictures.width, pictures.height, settings)
        counts = report.summary(self.plan, self.is_whole)
        if self.sidecar:
            self.write_sidecar(pictures, counts)
        if not options.detect_only:
            self.filter(pictures)
        for part in list(self.parts):
            filtering.put_in_place(part, part.removesuffix(".part"))
            self.parts.remove(part)
        self.tell(counts, time.monotonic() - begun)

    def look(self):
        detect_size = self.options.detect_size or (self.detector or detector.haar.Haar).detect_size
        pictures = Pictures(self.options.input, detect_size)
        name = self.detector.name if self.detector else self.options.detections
        self.told.say(f"{self.options.input}: looking, by {name}")
        if self.detector and self.detector.name == "haar":
            self.told.warn("no model was found, so faces are looked for with OpenCV's Haar "
                           "cascades, which miss turned and small ones; --model takes a better "
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

        settings = argparse.Namespace(every=self.options.every, threshold=self.threshold,
                                      follow=self.options.gap)
        return scan.scan(pictures, self.detector, settings, progress), pictures

    def check_streams(self, pictures):
        self.source_codec = next(caps.get_structure(0).get_name()
                                 for kind, caps in pictures.streams if kind == 0)
        if self.options.detect_only:
            return
        if not self.video_only:
            containers.check(self.output, pictures.streams)
        if not self.options.encoder:
            containers.codec_for(self.output, self.source_codec)
        for kind, _ in pictures.streams:
            if kind:
                self.told.warn("only the first video of the file is covered and written; another "
                               "one is left out")

    def make_encoder(self):
        """For Filtering: (element, its description)."""
        if self.options.encoder:
            return media.parse(self.options.encoder), self.options.encoder
        codec = containers.codec_for(self.output, self.source_codec)
        return containers.encoder(codec, self.options.quality)

    def is_whole(self, index):
        return self.options.fail_closed and bool(self.plan.reasons[index])

    def write_sidecar(self, pictures, counts):
        part = f"{self.sidecar}.part"
        self.parts.append(part)
        options = self.options
        head = {
            "program": f"cudafilters-anonymize {self.version}",
            "input": {"file": os.path.basename(options.input), "width": pictures.width,
                      "height": pictures.height},
            "detector": {"name": self.detector.name if self.detector else "file",
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

    def filter(self, pictures):
        by_pts = {}
        for index, frame in enumerate(self.plan.frames):
            by_pts.setdefault(frame.pts, []).append(index)

        def regions(pts):
            if pts not in by_pts:
                return None
            boxes = []
            for index in by_pts[pts]:
                boxes += [mask.WHOLE] if self.is_whole(index) else []
                boxes += [one.box for one in self.plan.regions[index]]
            return boxes

        part = f"{self.output}.part"
        self.parts.append(part)
        work = filtering.Filtering(self.options.input, part, self, pictures.is_turned, regions)
        self.told.say(f"{self.output}: covering with {self.mask.kind}, "
                      f"{work.encoder_description}")
        self.told.begin()
        total = len(self.plan.frames)
        work.run(lambda frames: self.told.progress("covering", frames, min(frames / total, 1.0)))
        if work.frames != total:
            self.told.warn(f"{total} frames were looked at, {work.frames} written; what was not "
                           "looked at is covered whole")

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


def on_signal(*_):
    # A second one ends the program at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise Interrupted


def main(version, arguments=None):
    """Returns the exit status."""
    command = parser(version)
    options = command.parse_args(arguments)
    if not options.output and not (options.detect_only and options.sidecar):
        command.error("OUT is missing; --detect-only --sidecar FILE does without")
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, on_signal)
    told = report.Report(options.json, options.quiet)
    job = None
    try:
        job = Job(options, told, version)
        job.run()
        return 0
    except Problem as problem:
        told.fail(str(problem))
        return problem.status
    except OSError as error:
        told.fail(f"{error.filename or options.output}: {error.strerror}")
        return FAILED
    except Interrupted:
        told.fail("interrupted; nothing is written")
        return INTERRUPTED
    finally:
        if job:
            job.clean_up()
