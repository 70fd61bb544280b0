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
    """Reports errors in one sentence, without the usage."""

    def error(self, message):
        files = [word for word in sys.argv[1:] if word.startswith("-") and os.path.exists(word)]
        more = f"the file of that name is ./{files[0]}" if files else "--help lists the options"
        self.exit(USAGE, f"{self.prog}: {message}; {more}\n")


def number(least, most, kind=float):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed, but {least} to {most}")
        return value
    return read


def color(text):
    digits = text.removeprefix("#")
    try:
        value = int(digits, 16)
    except ValueError:
        value = -1
    if len(digits) != 6 or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no colour, such as 000000 or ff8000")
    return 0xFF000000 | value


def parser(version):
    result = Parser(
        prog="cudafilters-anonymize", epilog=EPILOG, allow_abbrev=False,
        usage="cudafilters-anonymize IN OUT [OPTION...]\n"
              "       cudafilters-anonymize IN --detect-only --sidecar FILE [OPTION...]",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
            prog, max_help_position=26, width=90),
        description="Covers the faces in a video file. Audio, subtitles and timing stay as they "
                    "are.")
    result.add_argument("input", metavar="IN", help="a video file")
    result.add_argument("output", metavar="OUT", nargs="?",
                        help=f"the new file; its name ends in {', '.join(containers.MUXERS)}")
    add_mask_options(result.add_argument_group("mask"))
    add_detection_options(result.add_argument_group("faces to cover"))
    files = result.add_argument_group("files")
    files.add_argument("--sidecar", metavar="FILE",
                       help="file for detections, regions and doubts, in JSON (OUT.json)")
    files.add_argument("--no-sidecar", action="store_true", help="write no sidecar")
    files.add_argument("--detect-only", action="store_true",
                       help="write only the sidecar, and no OUT")
    files.add_argument("--quality", type=number(0, 51, int), default=20, metavar="N",
                       help="quality of the video, from 0, the best, to 51 (20)")
    files.add_argument("--encoder", metavar="ELEMENTS",
                       help="elements that encode, such as \"x265enc ! h265parse\"")
    files.add_argument("--video-only", action="store_true", help="leave audio and subtitles out")
    files.add_argument("--overwrite", action="store_true", help="replace files that exist")
    files.add_argument("--json", action="store_true", help="progress and report as JSON lines")
    files.add_argument("--quiet", action="store_true", help="print only warnings and errors")
    files.add_argument("--version", action="version", version=f"%(prog)s {version}")
    return result


def add_mask_options(group):
    default = mask.Mask()
    group.add_argument("--mask", choices=mask.MASKS, default=default.kind, metavar="KIND",
                       help=f"{', '.join(mask.MASKS)} ({default.kind})")
    group.add_argument("--shape", choices=mask.SHAPES, default=default.shape, metavar="SHAPE",
                       help=f"{', '.join(mask.SHAPES)} ({default.shape})")
    group.add_argument("--expand", type=number(0, 2), default=default.expand, metavar="F",
                       help=f"margin on each side, as a fraction of a face ({default.expand})")
    group.add_argument("--feather", type=number(0, 256), default=default.feather, metavar="PIXELS",
                       help="width of the soft edge around the mask (0)")
    group.add_argument("--blocks-across", type=number(1, 256, int), metavar="N",
                       default=default.blocks_across,
                       help=f"of mosaic: blocks across a face ({default.blocks_across})")
    group.add_argument("--sigma-relative", type=number(0.01, 1), metavar="F",
                       default=default.sigma_relative,
                       help=f"of blur: sigma as a fraction of a face ({default.sigma_relative})")
    group.add_argument("--fill-color", type=color, default=default.fill_color, metavar="RRGGBB",
                       help="of fill (000000)")
    group.add_argument("--backend", choices=("auto", "cuda", "cpu", "reference"), metavar="NAME",
                       default=default.backend,
                       help="where frames are filtered: auto, cuda, cpu (auto)")


def add_detection_options(group):
    default = plan.Settings(0)
    group.add_argument("--detector", choices=("auto", "haar", "model"), default="auto",
                       metavar="NAME", help="haar, model, or auto: a model where one is found "
                       "(auto)")
    group.add_argument("--model", metavar="FILE", help="the .onnx file of YuNet or CenterFace")
    group.add_argument("--threshold", type=number(0, 1), metavar="F",
                       help="confidence from which a detection counts as a face")
    group.add_argument("--min-face", type=number(0, 1), default=0.05, metavar="F",
                       help="smallest face, as a fraction of the shorter side (0.05)")
    group.add_argument("--detect-size", type=number(64, 8192, int), metavar="PIXELS",
                       help="longer side of the pictures given to the detector (640)")
    group.add_argument("--every", type=number(1, 100, int), default=1, metavar="N",
                       help="detect in every Nth frame, and follow faces in between (1)")
    group.add_argument("--detections", metavar="FILE",
                       help="use the boxes of this JSON or CSV file or sidecar instead")
    for name, value, text in (("before", default.before, "cover a face so long before it is found"),
                              ("after", default.after, "and so long after it is lost"),
                              ("gap", default.longest_gap, "longest gap in detections to fill")):
        group.add_argument(f"--{name}", type=number(0, 60), default=value / 1e9,
                           metavar="SECONDS", help=f"{text} ({value / 1e9:g})")
    group.add_argument("--fail-closed", action="store_true",
                       help="cover the whole frame where faces may be missed")
    group.add_argument("--check", action="store_true",
                       help="detect in the result too, and cover whole frames with a face")
    group.add_argument("--caution", type=number(0, 60), default=default.caution / 1e9,
                       metavar="SECONDS", help="how long a face may be missed after it was lost "
                       f"({default.caution / 1e9:g})")


def on_signals(handler):
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) != signal.SIG_IGN:  # as nohup(1) leaves one
            signal.signal(name, handler)


def on_signal(*_):
    # A second signal ends the program at once.
    on_signals(signal.SIG_DFL)
    raise Interrupted


def main(version, arguments=None):
    """Runs the program; returns the exit status."""
    command = parser(version)
    options = command.parse_args(arguments)
    if not options.output and not (options.detect_only and options.sidecar):
        command.error("OUT is missing; --detect-only --sidecar FILE does without")
    on_signals(on_signal)
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
