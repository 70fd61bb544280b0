# SPDX-License-Identifier: LGPL-2.1-or-later
"""All four elements in one pipeline in CUDA memory, and its branches, against the CPU.

What may differ: each element adds at most one code value to what its input differs by. The blur,
the convolution (positive taps of sum 1) and the mean do not amplify a difference, so that after
the local Laplacian, which comes first, the four may be 4 code values apart.
"""
import concurrent.futures
import os

from . import common, rawvideo

FRAMES = 100
QUICK_FRAMES = 20
FOUR = ("cudallf alpha=0.5", "cudagaussblur sigma=2.5", "cudasepconv preset=binomial preset-size=7",
        "cudablockavg block-width=4 block-height=4")
BOUND = 4.0
MEAN_BOUND = 0.25  # differences are rare, not only small
LAYOUTS = (("NV12", 640, 360), ("RGBA", 642, 362))


def joined(elements, backend, between=" ! "):
    return between.join(f"{element} backend={backend}" for element in elements)


class Chain:
    """The pipelines of one format."""

    def __init__(self, host, layout, frames):
        self.host, self.layout, self.frames = host, layout, frames
        self.source = self.file("source")
        device = layout.caps("(memory:CUDAMemory)")
        if host.stand_in:
            self.backend, self.up, self.down = host.stand_in, "identity", "identity"
        else:
            self.backend = "auto"
            self.up, self.down = f"cudaupload ! {device}", f"{device} ! cudadownload"
        self.read = rawvideo.read_frames(layout, self.source)

    def file(self, name):
        return str(self.host.folder / f"chain-{self.layout.name}-{name}")

    def write(self, name):
        return f"{self.layout.caps()} ! filesink location={self.file(name)}"

    def on_cpu(self, name):
        return f"{self.read} ! {joined(FOUR, 'cpu')} ! {self.write(name)}"

    def on_device(self, name, between=" ! "):
        return (f"{self.read} ! {self.up} ! {joined(FOUR, self.backend, between)} ! {self.down} ! "
                f"{self.write(name)}")

    def through_tee(self, ours, plain):
        return (f"{self.read} ! {self.up} ! tee name=t "
                f"t. ! queue ! {joined(FOUR, self.backend)} ! {self.down} ! {self.write(ours)} "
                f"t. ! queue ! {self.down} ! {self.write(plain)}")

    def compare(self, result, title, got, want, exact=False):
        try:
            difference = rawvideo.compare_files(self.layout, self.file(got), self.file(want),
                                                self.frames)
        except (OSError, ValueError) as error:
            result.check(False, f"{self.layout.name} {title}", str(error))
            return
        worst, mean = (0.0, 0.0) if exact else (BOUND, MEAN_BOUND)
        result.check(difference.worst <= worst and difference.mean <= mean,
                     f"{self.layout.name} {title}",
                     f"{difference.text()}; allowed is {worst:g}, on average {mean:g}")
        result.note(f"{self.layout.name} {title}: {difference.text()}")
        if not exact and title == "in one thread":
            result.figures.append(f"{self.layout.name} worst {difference.worst:g} of {BOUND:g}, "
                                  f"{difference.share:.2g} % differ")


def run_chain(host, result, layout, frames):
    chain = Chain(host, layout, frames)
    rawvideo.write_pictures(layout, chain.source, frames)
    runs = {
        "on the CPU": chain.on_cpu("cpu"),
        "in one thread": chain.on_device("one"),
        "with queues between": chain.on_device("queues", " ! queue ! "),
        "a tee's two branches": chain.through_tee("tee", "plain"),
        "twice in one process": f"{chain.on_device('twice-a')}   {chain.on_device('twice-b')}",
    }
    for title, pipeline in runs.items():
        said = host.launch(pipeline)
        if not result.check(said.good, f"{layout.name} {title} runs", said.detail()):
            return
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        names = ("process-a", "process-b")
        for said in pool.map(lambda name: host.launch(chain.on_device(name)), names):
            result.check(said.good, f"{layout.name} in two processes runs", said.detail())
    for title, name in (("in one thread", "one"), ("with queues between", "queues"),
                        ("a tee's filtered branch", "tee"), ("twice, first", "twice-a"),
                        ("twice, second", "twice-b"), ("two processes, first", "process-a"),
                        ("two processes, second", "process-b")):
        chain.compare(result, title, name, "cpu")
    chain.compare(result, "a tee's plain branch is the source", "plain", "source", exact=True)
    for name in os.listdir(host.folder):
        if name.startswith(f"chain-{layout.name}-"):
            os.remove(host.folder / name)


def run(host, result, deadline):
    if host.stand_in:
        host.need_gstreamer()
    else:
        host.need_cuda_memory()
    for format_name, width, height in LAYOUTS:
        if deadline.passed():
            result.skip(format_name, "no time left")
            continue
        run_chain(host, result, rawvideo.Layout(format_name, width, height),
                  QUICK_FRAMES if host.quick else FRAMES)
