# SPDX-License-Identifier: LGPL-2.1-or-later
"""What our elements cost the device: copies, kernels and host synchronisations of a process.

Two runs of different length tell what a frame costs from what starting costs; the same runs without
our elements tell what the rest of the pipeline costs.
"""
import os
import pathlib
import re
import shutil

from . import chain, common

SHORT, LONG = 100, 200
CAPS = "format=NV12,width=1280,height=720,framerate=25/1"
DEVICE = f"{common.ON_DEVICE},{CAPS}"


def cuda_folders():
    """Where a CUDA toolkit may be, the likeliest first."""
    found = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    if nvcc := shutil.which("nvcc"):
        found.append(pathlib.Path(nvcc).resolve().parents[1])
    found += ["/usr/local/cuda", *sorted(pathlib.Path("/usr/local").glob("cuda-*"), reverse=True)]
    return [pathlib.Path(folder) for folder in found if folder]


def find_file(folders, places, name):
    for folder in folders:
        for place in places:
            if (folder / place / name).exists():
                return folder / place
    raise common.Skipped(f"{name} is not in a CUDA toolkit here")


def build_audit(host):
    """The injection library, and the folder of CUPTI."""
    folders = cuda_folders()
    places = ("extras/CUPTI/include", "include", "targets/x86_64-linux/include")
    header = find_file(folders, places, "cupti.h")
    cuda = find_file(folders, ("include", "targets/x86_64-linux/include"), "cuda.h")
    cupti = find_file(folders, ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib"),
                      "libcupti.so")
    if not shutil.which("gcc"):
        raise common.Skipped("there is no gcc to compile audit.c with")
    library = host.folder / "libaudit.so"
    said = common.run_command(
        ["gcc", "-std=c11", "-O2", "-shared", "-fPIC", str(host.tests / "audit.c"), "-o",
         str(library), f"-I{header}", f"-I{cuda}", f"-L{cupti}", "-lcupti"], 60)
    if said.status != 0:
        raise common.Skipped(f"audit.c does not compile here: {said.text.strip()[-300:]}")
    return library, cupti


def count(host, library, cupti, middle, frames):
    search = ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH", ""), str(cupti)]))
    said = host.launch(
        f"videotestsrc num-buffers={frames} ! video/x-raw,{CAPS} ! cudaupload ! {DEVICE} ! {middle}"
        f"cudadownload ! video/x-raw,{CAPS} ! fakesink",
        environment={"CUDA_INJECTION64_PATH": str(library), "LD_LIBRARY_PATH": search})
    found = re.search(r"^audit: (.*)$", said.text, re.MULTILINE)
    if not said.good or not found:
        raise OSError(f"the audited pipeline fails\n{said.detail()}")
    return {name: int(value) for name, value in (pair.split("=") for pair in found[1].split())}


def run(host, result, deadline):
    host.need_cuda_memory()
    library, cupti = build_audit(host)
    elements = {"nothing": "", "the four": chain.joined(chain.FOUR, "auto")}
    if not host.quick:
        elements |= {element.split()[0]: element for element in chain.FOUR}
    steady, started = {}, {}
    for name, element in elements.items():
        middle = f"{element} ! {DEVICE} ! " if element else ""
        short, long = (count(host, library, cupti, middle, frames) for frames in (SHORT, LONG))
        steady[name] = {what: (long[what] - short[what]) / (LONG - SHORT) for what in short}
        started[name] = {what: short[what] - steady[name][what] * SHORT for what in short}
        result.note(f"{name}, a frame: " + ", ".join(f"{w} {v:g}" for w, v in steady[name].items())
                    + "; once: " + ", ".join(f"{w} {v:g}" for w, v in started[name].items()))

    plain = steady["nothing"]
    result.check(plain["htod"] >= 1 and plain["dtoh"] >= 1, "frames go up and down",
                 f"a frame costs {plain}: the pipeline proves nothing")
    allowed = 0.0 if host.gstreamer >= (1, 24) else 1.0
    for name in list(elements)[1:]:
        for what in ("htod", "dtoh", "dtod"):
            result.check(steady[name][what] == plain[what], f"{name}: no more {what} copies",
                         f"{steady[name][what]:g} a frame, {plain[what]:g} without")
        added = steady[name]["syncs"] - plain["syncs"]
        result.check(added <= allowed, f"{name}: at most {allowed:g} host synchronisation a frame",
                     f"{added:g} more than without")
        result.check(steady[name]["kernels"] > 0, f"{name}: runs kernels")
        result.check(steady[name]["allocations"] <= plain["allocations"],
                     f"{name}: allocates nothing in the steady state",
                     f"{steady[name]['allocations']:g} allocations a frame")
        result.figures.append(f"{name} +{added:g} syncs, {steady[name]['kernels']:g} kernels")
