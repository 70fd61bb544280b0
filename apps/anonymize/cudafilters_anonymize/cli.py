# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of cudafilters-anonymize."""
import argparse
import os
import signal
import sys

from . import containers, mask, media, plan, report
from .errors import FAILED, INTERRUPTED, USAGE, Interrupted, Problem
from .job import Job

EPILOG = """\
Exit status: 0 done; 1 failed; 2 the command line or a file of detections is wrong; 130 interrupted.
OUT is complete or not there. See cudafilters-anonymize(1).
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message):
        files = [word for word in sys.argv[1:] if word.startswith("-") and os.path.exists(word)]
        more = f"the file of that name is ./{files[0]}" if files else "--help tells more"
        self.exit(USAGE, f"{self.prog}: {message}; {more}\n")


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
    result = Parser(
        prog="cudafilters-anonymize", epilog=EPILOG, allow_abbrev=False,
        usage="cudafilters-anonymize IN OUT [OPTION...]\n"
              "       cudafilters-anonymize IN --detect-only --sidecar FILE [OPTION...]",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
            prog, max_help_position=26, width=90),
        description="Covers the faces in a video file. Audio, subtitles and timing stay.")
    result.add_argument("input", metavar="IN", help="a video file")
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
    group.add_argument("--mask", choices=mask.MASKS, default=default.kind, metavar="KIND",
                       help=f"{', '.join(mask.MASKS)} ({default.kind})")
    group.add_argument("--shape", choices=mask.SHAPES, default=default.shape, metavar="SHAPE",
                       help=f"{', '.join(mask.SHAPES)} ({default.shape})")
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
    group.add_argument("--backend", choices=("auto", "cuda", "cpu", "reference"), metavar="NAME",
                       default=default.backend, help="of the elements: auto, cuda, cpu (auto)")


def add_detection_options(group):
    default = plan.Settings(0)
    group.add_argument("--detector", choices=("auto", "haar", "model"), default="auto",
                       metavar="NAME", help="haar, model, or auto: a model where one is found "
                       "(auto)")
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
    group.add_argument("--check", action="store_true",
                       help="look at the result too, and cover frames with a face in it whole")
    group.add_argument("--caution", type=number(0, 60), default=default.caution / 1e9,
                       metavar="SECONDS", help="how long frames are unsure after a face was lost "
                       f"({default.caution / 1e9:g})")


def on_signal(*_):
    # A second one ends the program at once.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_DFL)
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
    media.decode_on_the_cpu()
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
