# SPDX-License-Identifier: LGPL-2.1-or-later
"""System frames through the device: strips equal whole pictures, and the bus is what takes time."""
import json

from . import common, tap

UHD = ("RGBA", "3840x2160", "300")
LIMIT = str(256 << 20)
SEPCONV = "cudasepconv preset=binomial preset-size={} backend=cuda"
# (arguments of bus.c, the bus time that is allowed: "both" ways at once, or of the "slower" one)
WORK = [
    (("element", *UHD, SEPCONV.format(9)), "both", 1.15),
    (("element", *UHD, "cudagaussblur sigma=10 backend=cuda"), "both", 1.15),
    (("element", *UHD, "cudablockavg backend=cuda"), "both", 1.15),
    (("engine", "GRAY8", "32768x32768", "6", LIMIT), "slower", 1.25),
    (("engine", "RGBA", "32768x32768", "3", LIMIT), "slower", 1.25),
]


def run_bus(host, result, arguments, reference, bound):
    title = " ".join(arguments)
    said = common.run_command([str(host.program("tests/gpu/bus")), *arguments], 120)
    if not result.check(said.status == 0, title, said.detail()):
        return
    row = json.loads(said.text.strip().splitlines()[-1])
    bus = row["both_ms"] if reference == "both" else max(row["in_ms"], row["out_ms"])
    ratio = row["frame_ms"] / bus
    result.note(f"{title}: {row['frame_ms']:.3f} ms a frame; in {row['in_ms']:.3f}, "
                f"out {row['out_ms']:.3f}, both at once {row['both_ms']:.3f}; ratio {ratio:.3f}")
    result.check(ratio <= bound, f"{title} within {bound} of the bus", f"{ratio:.3f}")
    result.figures.append(f"{arguments[0]} {arguments[1]} {arguments[2]} {ratio:.2f}")


def run(host, result, deadline):
    host.need_cuda_memory()
    tap.run_program(host, result, "tests/gpu/strips", deadline)
    for work in WORK:
        if deadline.passed():
            result.skip(" ".join(work[0]), "no time left")
        else:
            run_bus(host, result, *work)
