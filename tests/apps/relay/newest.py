#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The newest frame wins: latency with a slow filter, repeats, sizes that change, properties that
change, signals.

newest.py --minutes 10 watches the slow filter for that long.
"""
import signal
import statistics
import sys
import time

import relay
from relay import Relay, harness

SLOW = "identity sleep-time=100000"
FRAME_MS = 1000 / 30
TIMED_SECONDS = 20  # for a time that is told every second


def median(values):
    return statistics.median(values) if values else float("nan")


def check_slow_filter(tap, minutes):
    """The issue's bounds: a median under 150 ms that does not grow."""
    program = Relay("test:", "test:", filter=SLOW)
    time.sleep(minutes * 60)
    status = program.stop()
    stats = [one for one in program.stats() if one["latency_ms"]["p50"] is not None]
    middles = [one["latency_ms"]["p50"] for one in stats]
    quarter = max(len(middles) // 4, 2)
    first, last = median(middles[:quarter]), median(middles[-quarter:])
    detail = f"{program}\nmedians of the first and last quarter: {first:.1f}, {last:.1f} ms"
    tap.check(status == 0 and program.end()["reason"] == "stopped", "a slow filter: SIGINT ends it",
              detail)
    tap.check(0 < median(middles) < 150, "a slow filter: median latency under 150 ms", detail)
    tap.check(last < first + FRAME_MS, "a slow filter: latency does not grow", detail)
    end = program.end()
    tap.check(8 < end["out_fps"] < 10.5 and 27 < end["in_fps"] < 32,
              "a slow filter: 10 frames a second out of 30", detail)
    tap.check(end["frames_in"] - end["frames_out"] - end["frames_dropped"] in (0, 1, 2),
              "a slow filter: every frame is sent or counted as dropped", detail)
    print(f"# slow filter, {minutes:g} minutes: latency p50 {end['latency_ms']['p50']} p95 "
          f"{end['latency_ms']['p95']} max {end['latency_ms']['max']} ms; first and last quarter "
          f"{first:.1f}, {last:.1f} ms")


def check_repeat(tap):
    program = Relay("test:", "test:", "--repeat", filter=SLOW)
    time.sleep(5)
    status = program.stop(signal.SIGTERM)
    settled = program.stats()[1:]
    rate = median([one["out_fps"] for one in settled])
    tap.check(status == 0, "--repeat: SIGTERM ends it", str(program))
    tap.check(27 <= rate <= 32, f"--repeat: the output keeps the rate of the source", str(program))
    tap.check(median([one["latency_ms"]["p50"] for one in settled]) < 150,
              "--repeat: latency under 150 ms", str(program))


def check_every_frame(tap):
    program = Relay("test:?frames=30", "test:", "--drop", "none",
                    filter="identity sleep-time=50000")
    status = program.wait()
    end = program.end()
    tap.check(status == 0 and end and end["frames_out"] == 30 and end["frames_dropped"] == 0,
              "--drop none: all 30 frames of a faster source, then the end", str(program))


def check_sizes(tap):
    program = Relay("test:?sizes=1x1,17x300,1920x1080&every=15", "test:", "--stats", "0.25",
                    filter="cudallf ! cudagaussblur ! cudablockavg ! cudasepconv preset=sharpen")
    seen = [program.wait_for("stats", which=lambda one, size=size: (one["width"], one["height"]) ==
                             size) for size in ((1, 1), (17, 300), (1920, 1080))]
    tap.check(program.stop() == 0 and all(seen),
              "1x1, 17x300 and 1920x1080 in turn go through four elements", str(program))


def check_reference(tap):
    """The definition, which is slow, as the filter."""
    program = Relay("test:?width=640&height=360", "test:",
                    filter="cudallf backend=reference engine=fast")
    for _ in range(4):
        program.wait_for("stats", which=lambda one: one["filter_ms"] is not None)
    status = program.stop()
    stats = [one for one in program.stats() if one["filter_ms"] is not None]
    time_ms = median([one["filter_ms"] for one in stats])
    latency = program.end()["latency_ms"]["p50"]
    tap.check(status == 0 and {one["backend"] for one in stats} == {"reference"} and
              latency < 2 * time_ms + 2 * FRAME_MS,
              "backend=reference: latency is that of the filter, not of a queue",
              f"filter {time_ms} ms\n{program}")


def check_many_frames(tap):
    """While a filter works on one frame, as many come as it works slowly."""
    program = Relay("test:?width=16&height=16&fps=1000", "test:",
                    filter="identity sleep-time=1000000")
    timed = [program.wait_for("stats", TIMED_SECONDS, lambda one: one["filter_ms"] and
                              one["latency_ms"]["p50"]) for _ in range(2)]
    status = program.stop()
    tap.check(status == 0 and all(timed), "a filter that is a thousand times too slow is timed",
              str(program))


def check_fast_filter(tap):
    """The issue's bound: cudallf on the CPU at 640x360 adds less than a frame."""
    program = Relay("test:?width=640&height=360", "test:", filter="cudallf backend=cpu")
    time.sleep(4)
    status = program.stop()
    end = program.end()
    tap.check(status == 0 and end["latency_ms"]["p50"] < FRAME_MS,
              "cudallf on the CPU at 640x360 adds less than a frame", str(program))
    print(f"# cudallf, cpu, 640x360: latency p50 {end['latency_ms']['p50']} ms")


def check_properties(tap):
    program = Relay("test:", "test:", filter="cudallf alpha=0.4 ! cudagaussblur name=soft")
    program.wait_for("connected")
    program.say("alpha 0.7")
    first = program.wait_for("property")
    program.say("soft.sigma=3.5")
    second = program.wait_for("property")
    program.say("alpha 99")
    refused = program.wait_for("warning")
    program.say("nothing 1")
    unknown = program.wait_for("warning")
    program.say("cudallf.alpha")
    kept = program.wait_for("property")
    program.say("backend")
    choice = program.wait_for("property")
    program.say("regions 1,2,30,40;5,6,7,8")
    text = program.wait_for("property")
    status = program.stop()
    tap.check(status == 0 and first and first["value"] == "0.7" and second and
              float(second["value"]) == 3.5, "properties are set by lines on standard input",
              str(program))
    tap.check(refused and "0.05 to 10" in refused["message"] and kept and
              float(kept["value"]) == 0.7, "a value out of range is refused with what is allowed",
              str(program))
    tap.check(choice and choice["value"] == "auto", "a choice is shown as it is written",
              str(program))
    tap.check(text and text["value"] == "1,2,30,40;5,6,7,8", "so is a text", str(program))
    tap.check(unknown and "nothing" in unknown["message"], "a property that there is not is named",
              str(program))


def check_refusal_while_playing(tap):
    """What an element refuses with a warning is told, and the old value shown."""
    program = Relay("test:", "test:", filter="cudagaussblur sigma=2")
    program.wait_for("connected")
    program.say("map-location /nothing/here.png")
    program.say("map-mode file")
    warning = program.wait_for("warning")
    program.wait_for("stats")
    more = program.wait_for("stats")
    status = program.stop()
    tap.check(status == 0 and warning and more["out_fps"] > 25,
              "what an element refuses is told, and frames flow on", str(program))


def run(tap):
    check_slow_filter(tap, relay.option("minutes", 0.15))
    if "--minutes" in sys.argv:
        return
    check_repeat(tap)
    check_every_frame(tap)
    check_sizes(tap)
    check_reference(tap)
    check_many_frames(tap)
    check_fast_filter(tap)
    check_properties(tap)
    check_refusal_while_playing(tap)


if __name__ == "__main__":
    harness.main(run)
