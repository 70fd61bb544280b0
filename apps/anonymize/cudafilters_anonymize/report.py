# SPDX-License-Identifier: LGPL-2.1-or-later
"""Output: for people on standard error, for programs as JSON on standard output."""
import json
import sys
import time

from .plan import DAMAGED, SKIPPED

PLAIN_INTERVAL = 10
SHOWN_SPANS = 8


class Report:
    """json: one object a line on standard output; quiet: nothing but warnings and errors."""

    def __init__(self, as_json, quiet):
        self.as_json = as_json
        self.quiet = quiet
        self.terminal = sys.stderr.isatty() and not as_json
        self.started = self.last_progress = time.monotonic()
        self.line_open = False

    def say(self, text, **members):
        """Prints a line for people, or with --json an object, if the members have an `event`."""
        if self.as_json:
            if members:
                print(json.dumps(members), flush=True)
        elif not self.quiet:
            self.close_line()
            print(text, file=sys.stderr, flush=True)

    def warn(self, text):
        self.close_line()
        if self.as_json:
            print(json.dumps({"event": "warning", "message": text}), flush=True)
        else:
            print(f"warning: {text}", file=sys.stderr, flush=True)

    def fail(self, text):
        self.close_line()
        if self.as_json:
            print(json.dumps({"event": "error", "message": text}), flush=True)
        print(f"cudafilters-anonymize: {text}", file=sys.stderr, flush=True)

    def begin(self):
        self.started = self.last_progress = time.monotonic()

    def progress(self, what, frames, fraction):
        """fraction: 0..1, or None where it is not known."""
        now = time.monotonic()
        interval = 0.2 if self.terminal else PLAIN_INTERVAL
        if now - self.last_progress < interval or (self.quiet and not self.as_json):
            return
        self.last_progress = now
        passed = now - self.started
        rate = frames / max(passed, 1e-3)
        left = passed * (1 - fraction) / fraction if fraction else None
        if self.as_json:
            print(json.dumps({"event": "progress", "step": what, "frames": frames,
                              "fraction": fraction and round(fraction, 4),
                              "fps": round(rate, 2),
                              "seconds_left": left and round(left, 1)}), flush=True)
            return
        text = f"{what}: " + (f"{fraction:4.0%}, " if fraction is not None else "")
        text += f"frame {frames}, {rate:.1f} fps" + (f", {clock(left)} left" if left else "")
        if self.terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self.line_open = True
        else:
            print(text, file=sys.stderr, flush=True)

    def close_line(self):
        if self.line_open:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.line_open = False


def clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def summary(plan, whole):
    """Counts of frames; whole(number): whether the whole frame is covered."""
    numbers = range(len(plan.frames))
    wholes = {number for number in numbers if whole(number)}
    return {
        "frames": len(plan.frames),
        "faces": len(plan.tracks),
        "covered": sum(1 for number in numbers if plan.regions[number] or number in wholes),
        "held": sum(1 for number in numbers if any(one.held for one in plan.regions[number])),
        "cautious": sum(1 for number in numbers if plan.reasons[number]),
        "whole": len(wholes),
    }


def number(count, name):
    return f"{count} {name}{'' if count == 1 else 's'}"


def as_sentences(counts, fail_closed):
    lines = [f"{number(counts['frames'], 'frame')}, {number(counts['faces'], 'face')}: "
             f"{number(counts['covered'], 'frame')} covered, {counts['held']} of them held (by "
             f"detections of other frames), {counts['cautious']} cautious (a face may be missed)"]
    if counts.get("seen_again"):
        lines.append(f"{counts['seen_again']} frames in which a face was still found are covered "
                     "whole")
    if counts["cautious"]:
        lines.append("the cautious frames are covered whole" if fail_closed else
                     "look at the cautious frames, or cover them whole with --fail-closed:")
    return lines


def spans(plan, wanted=None):
    """Runs of frames that are unsure, for one of the `wanted` reasons if there are such, with their
    reasons: (first time, last time, reasons)."""
    found = []
    for number, reasons in enumerate(plan.reasons):
        if not (reasons & wanted if wanted else reasons):
            continue
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
            found[-1][2] |= reasons
        else:
            found.append([number, number, set(reasons)])
    return [(plan.frames[first].time / 1e9, plan.frames[last].time / 1e9, sorted(reasons))
            for first, last, reasons in found]


def hole_warning(plan):
    """Where pictures are damaged or missing, or None."""
    runs = spans(plan, {DAMAGED, SKIPPED})
    places = ", ".join(f"{first:.2f} to {last:.2f} s" for first, last, _ in runs[:SHOWN_SPANS])
    more = f" and {len(runs) - SHOWN_SPANS} more places" if len(runs) > SHOWN_SPANS else ""
    return f"pictures are damaged or missing at {places}{more}: look there" if runs else None


def span_lines(plan):
    runs = spans(plan)
    lines = [f"  {first:.2f} to {last:.2f} s: {'; '.join(reasons)}"
             for first, last, reasons in runs[:SHOWN_SPANS]]
    if len(runs) > SHOWN_SPANS:
        lines.append(f"  and {len(runs) - SHOWN_SPANS} more, which the sidecar has")
    return lines
