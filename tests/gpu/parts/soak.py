# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many frames and many starts in one process, and frames whose caps, settings and regions change in
two: no memory and no frame may be lost. See soak.c and soak-changes.c."""
import json

from . import chain, common

FRAMES, QUICK_FRAMES = 20000, 2000
CYCLES, QUICK_CYCLES = 50, 20
CHANGING_FRAMES, QUICK_CHANGING_FRAMES = 20000, 7000
# nvidia-smi counts in MiB; the first frames fill pools, and malloc keeps what threads gave back.
DEVICE_MIB = 2
HOST_MIB = 8
# A start and stop of a CUDA context costs the driver some host memory that is not ours to free.
HOST_MIB_BEYOND_DRIVER = 4


def soak(host, program, deadline, *arguments):
    said = common.run_command([str(program), *map(str, arguments)], deadline.left())
    lines = [json.loads(line) for line in said.text.splitlines() if line.startswith("{")]
    if not said.good or len(lines) < 2:
        raise OSError(f"the program fails\n{said.detail()}")
    return lines


def growth(first, last):
    return (last["device_mib"] - first["device_mib"], last["host_mib"] - first["host_mib"])


def run(host, result, deadline):
    host.need_cuda_memory()
    program = host.program("tests/gpu/soak")
    elements = chain.joined(chain.FOUR, "auto")

    frames = QUICK_FRAMES if host.quick else FRAMES
    early, middle, end = soak(host, program, deadline, "--frames", frames, elements)
    for title, first in (("from frame 100 on", early), ("in the second half", middle)):
        device, memory = growth(first, end)
        result.check(device <= DEVICE_MIB and memory <= HOST_MIB,
                     f"{frames} frames, nothing grows {title}",
                     f"device {device:+d} MiB (allowed {DEVICE_MIB}), host {memory:+.1f} MiB "
                     f"(allowed {HOST_MIB})")
        if first is early:
            result.figures.append(f"{frames} frames at {end['fps']:.0f}/s: device {device:+d} MiB, "
                                  f"host {memory:+.1f} MiB")

    cycles = QUICK_CYCLES if host.quick else CYCLES
    device, memory = growth(*soak(host, program, deadline, "--cycles", cycles, elements))
    _, plain = growth(*soak(host, program, deadline, "--cycles", cycles, "identity"))
    result.check(device <= DEVICE_MIB and memory <= plain + HOST_MIB_BEYOND_DRIVER,
                 f"{cycles} starts lose nothing",
                 f"device {device:+d} MiB (allowed {DEVICE_MIB}), host {memory:+.1f} MiB (allowed "
                 f"{plain + HOST_MIB_BEYOND_DRIVER:.1f}: without our elements {plain:+.1f})")
    result.figures.append(f"{cycles} starts: device {device:+d} MiB, host {memory:+.1f} MiB, "
                          f"without ours {plain:+.1f} MiB")
    run_changes(host, result, deadline)


def run_changes(host, result, deadline):
    frames = QUICK_CHANGING_FRAMES if host.quick else CHANGING_FRAMES
    said = common.run_command([str(host.program("tests/gpu/soak-changes")), "--frames", str(frames),
                               "--processes", "2", "--caps-every", "50"], deadline.left())
    result.check(said.good, f"{frames} frames in each of two processes that change all the time",
                 said.detail())
    if said.good:
        lines = [json.loads(line) for line in said.text.splitlines() if line.startswith("{")]
        early, end = ([line for line in lines if line["process"] == 0][i] for i in (0, -1))
        device, memory = growth(early, end)
        result.figures.append(f"{end['frames']} changing frames at {end['fps']:.0f}/s: device "
                              f"{device:+d} MiB, host {memory:+.1f} MiB")
