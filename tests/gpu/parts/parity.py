# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole pipelines: every format in CUDA memory and in system memory, against the CPU."""
import concurrent.futures
import itertools
import os

from . import common, rawvideo

FRAMES = 2
SIZES = ((320, 240), (322, 242), (641, 363))
SYSTEM_SIZE = (321, 243)

SETTINGS = (
    "cudallf alpha=0.4",
    "cudallf alpha=2 beta=0.7 sigma=0.1 levels=4 color-mode=separate",
    "cudallf engine=sampled alpha=0.3",
    "cudagaussblur sigma=1.2 border=reflect-101",
    "cudagaussblur sigma=6 sigma-vertical=2 border=wrap",
    "cudagaussblur sigma=40",
    "cudagaussblur sigma=-1.5",
    "cudablockavg block-width=16 block-height=16",
    "cudablockavg block-width=37 block-height=19",
    "cudablockavg block-width=5 block-height=64 mode=max",
    "cudasepconv preset=gaussian preset-size=9",
    "cudasepconv preset=gaussian preset-size=129 border=reflect",
    "cudasepconv row-kernel=<1,-2,7> column-kernel=<0.5,3> scale=0.05 bias=0.1 border=constant",
    "cudasepconv preset=sobel-x absolute=true planes=luma",
)
QUICK_SETTINGS = SETTINGS[0::3]

# Of HDR, and what it becomes.
TONEMAP_SETTINGS = ("cudatonemap", "cudatonemap detail=1.6 dither=false",
                    "cudatonemap dynamic=true contrast=0.8")
TONEMAP_FORMATS = ("P010_10LE", "I420_10LE", "I422_10LE", "P016_LE", "Y444_16LE")
TONEMAP_RESULTS = ("NV12", "I420", "RGBA", "BGRA", "P010_10LE")
COLORIMETRY = (",colorimetry=bt2100-pq", ",colorimetry=bt2100-hlg")
QUICK_FORMATS = ("I420", "NV12", "P010_10LE", "Y444_16LE", "YUY2", "RGB", "BGRA")


def problem_with(element, difference):
    """What breaks the promise that CPU and CUDA show the same pixels, or ""."""
    eight_bits = difference.max_code == 255
    if element == "cudatonemap":  # single samples where a component of a colour is nearly 0
        allowed = (1e-5 if eight_bits else 5e-4) * difference.samples
        bad = difference.worst > 2.0 or difference.beyond_one > allowed
    elif element == "cudallf" and not eight_bits:
        bad = difference.psnr < 70.0
    else:
        bad = difference.worst > 1.0 or (element == "cudallf" and difference.share > 3.0)
    return difference.text() if bad else ""


class Comparison:
    """One setting at one format and size: two pipelines and their two files."""

    def __init__(self, host, layout, setting, memory, source, number, result=None, more=""):
        """`result` is the layout of what comes out, if another; `more` is in the caps that go in.
        """
        self.layout, self.setting, self.memory = layout, setting, memory
        self.result = result or layout
        self.element = setting.split()[0]
        self.got = f"{source}.{number}.got"
        self.want = f"{source}.{number}.want"
        start, end = rawvideo.read_frames(layout, source, more), self.result.caps()
        if host.stand_in:
            middle = f"{setting} backend={host.stand_in}"
        elif memory == "device":
            device, becomes = (one.caps("(memory:CUDAMemory)") for one in (layout, self.result))
            middle = f"cudaupload ! {device}{more} ! {setting} ! {becomes} ! cudadownload"
        else:
            middle = f"{setting} backend=cuda"
        self.ours = f"{start} ! {middle} ! {end} ! filesink location={self.got}"
        self.theirs = (f"{start} ! {setting} backend=cpu n-threads=2 ! {end} ! "
                       f"filesink location={self.want}")

    def name(self):
        layout = self.layout
        name = layout.name if layout is self.result else f"{layout.name}-{self.result.name}"
        return f"{self.memory} {name} {layout.width}x{layout.height} {self.setting}"

    def must_be_refused(self, host):
        return (self.memory == "device" and not host.stand_in and
                self.layout.planar_of_odd_height() and host.gstreamer < (1, 24, 4))

    def compare(self):
        """Problem (or "") and Difference (or None)."""
        try:
            difference = rawvideo.compare_files(self.result, self.got, self.want, FRAMES)
        except (OSError, ValueError) as error:
            return str(error), None
        return problem_with(self.element, difference), difference

    def remove(self):
        for path in (self.got, self.want):
            if os.path.exists(path):
                os.remove(path)


def check_refusal(host, comparison):
    said = host.launch(comparison.ours)
    errors = common.error_messages(said.text)
    clear = any("odd height" in error and "1.24.4" in error for error in errors)
    if clear and said.status is not None and said.status > 0:
        return [(comparison.name() + " is refused", "", None)]
    return [(comparison.name() + " is refused", said.detail(), None)]


def run_batch(host, batch):
    """All comparisons of one format and size in one process, as it takes longer to start than to
    filter; one by one where that fails, to see which it was. Returns (name, problem, difference).
    """
    refused = [one for one in batch if one.must_be_refused(host)]
    if refused:
        return [line for one in refused[::5] for line in check_refusal(host, one)]
    said = host.launch("   ".join(f"{one.ours}   {one.theirs}" for one in batch), timeout=300)
    outcomes = []
    for one in batch:
        alone = said if said.good else host.launch(f"{one.ours}   {one.theirs}")
        problem, difference = one.compare() if alone.good else (alone.detail(), None)
        outcomes.append((one.name(), problem, difference))
        one.remove()
    if not said.good and not any(problem for _, problem, _ in outcomes):
        outcomes.append((f"{batch[0].layout.name} all in one process", said.detail(), None))
    return outcomes


def batches(host):
    settings = QUICK_SETTINGS if host.quick else SETTINGS
    if host.stand_in == "reference":  # that of cudallf is engine=exact, whatever is set
        settings = [setting for setting in settings if not setting.startswith("cudallf")]
    for memory in ("device", "system"):
        formats = (rawvideo.cuda_formats(host.gstreamer) if memory == "device"
                   else tuple(rawvideo.FORMATS))
        for format_name in QUICK_FORMATS if host.quick else formats:
            for width, height in SIZES if memory == "device" else (SYSTEM_SIZE,):
                layout = rawvideo.Layout(format_name, width, height)
                source = host.folder / f"{memory}-{format_name}-{width}x{height}"
                yield memory, layout, source, settings
        for format_name in TONEMAP_FORMATS[:1] if host.quick else TONEMAP_FORMATS:
            layout = rawvideo.Layout(format_name, 642, 362)
            yield memory, layout, host.folder / f"{memory}-{format_name}-hdr", None


def comparisons(host, memory, layout, source, settings):
    if settings:
        return [Comparison(host, layout, setting, memory, source, number)
                for number, setting in enumerate(settings)]
    return [Comparison(host, layout, setting, memory, source, number,
                       rawvideo.Layout(name, layout.width, layout.height), COLORIMETRY[number % 2])
            for number, (setting, name) in enumerate(
                itertools.product(TONEMAP_SETTINGS, TONEMAP_RESULTS))]


def upload_problem(host, memory, layout):
    """Why GStreamer's own cudaupload cannot bring such frames up, whatever comes after it, or "":
    NV21 of odd width failed with 1.26.2, and all versions count the bytes of packed rows as two
    for each pixel."""
    if memory != "device" or host.stand_in or layout.width % 2 == 0:
        return ""
    if layout.name in ("UYVY", "YUY2"):
        return "cudaupload leaves out the last chroma sample"
    if layout.name != "NV21":
        return ""
    said = host.launch(f"videotestsrc num-buffers=1 ! {layout.caps()} ! cudaupload ! "
                       f"{layout.caps('(memory:CUDAMemory)')} ! fakesink")
    return "" if said.good else "cudaupload alone fails on it"


def run_one(host, deadline, task):
    memory, layout, source, settings = task
    if deadline.passed():
        return None
    rawvideo.write_pictures(layout, source, FRAMES)
    outcomes = run_batch(host, comparisons(host, memory, layout, source, settings))
    os.remove(source)
    return outcomes


def run(host, result, deadline):
    if host.stand_in:
        host.need_gstreamer()
    else:
        host.need_cuda_memory()
    worst, share, late = {}, {}, 0
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count())) as pool:
        tasks = []
        for task in batches(host):
            problem = upload_problem(host, task[0], task[1])
            if problem:
                result.skip(f"{task[0]} {task[1].name} {task[1].width}x{task[1].height}", problem)
            else:
                tasks.append(task)
        for task, outcomes in zip(tasks, pool.map(lambda t: run_one(host, deadline, t), tasks)):
            if outcomes is None:
                late += 1
                result.skip(f"{task[0]} {task[1].name} {task[1].width}x{task[1].height}",
                            "no time left")
                continue
            for name, problem, difference in outcomes:
                result.check(not problem, name, problem)
                if difference and difference.max_code == 255:
                    element = name.split()[3]
                    worst[element] = max(worst.get(element, 0.0), difference.worst)
                    share[element] = max(share.get(element, 0.0), difference.share)
    result.figures += [f"{element} 8-bit worst {worst[element]:g} on up to {share[element]:.2g} %"
                       for element in worst]
