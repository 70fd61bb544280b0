# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several GPUs in one machine: the elements work on the one they are told, or on the one their
input lies on, on all of them at once, and say so where the two disagree."""
from . import common, rawvideo

FRAMES = 10
LAYOUT = rawvideo.Layout("NV12", 640, 360)
FILTERS = "cudallf alpha=0.5 {0} ! cudagaussblur sigma=2.5 {0} ! cudablockavg block-width=4 {0}"
BOUND = 3.0  # each of the three adds at most one code value to what its input differs by


class Devices:
    def __init__(self, host):
        self.host = host
        self.source = self.file("source")
        self.read = rawvideo.read_frames(LAYOUT, self.source)
        rawvideo.write_pictures(LAYOUT, self.source, FRAMES)

    def file(self, name):
        return str(self.host.folder / f"devices-{name}")

    def write(self, name):
        return f"{LAYOUT.caps()} ! filesink location={self.file(name)}"

    def in_device_memory(self, device, name):
        caps = LAYOUT.caps("(memory:CUDAMemory)")
        return (f"{self.read} ! cudaupload cuda-device-id={device} ! {caps} ! "
                f"{FILTERS.format('')} ! {caps} ! cudadownload ! {self.write(name)}")

    def in_system_memory(self, device, name):
        filters = FILTERS.format(f"backend=cuda cuda-device-id={device}")
        return f"{self.read} ! {filters} ! {self.write(name)}"

    def check(self, result, title, pipeline, names):
        said = self.host.launch(pipeline)
        if not result.check(said.good, f"{title} runs", said.detail()):
            return
        for name in names:
            difference = rawvideo.compare_files(LAYOUT, self.file(name), self.file("cpu"), FRAMES)
            result.check(difference.worst <= BOUND, f"{title} equals the CPU", difference.text())


def run(host, result, deadline):
    host.need_cuda_memory()
    count = len(common.visible_devices())
    if count < 2:
        raise common.Skipped("there is one GPU only")
    devices = Devices(host)
    on_cpu = f"{devices.read} ! {FILTERS.format('backend=cpu')} ! {devices.write('cpu')}"
    if not result.check(host.launch(on_cpu).good, "on the CPU runs"):
        return
    for device in range(count):
        devices.check(result, f"CUDA memory of GPU {device}",
                      devices.in_device_memory(device, "one"), ["one"])
        devices.check(result, f"system memory on GPU {device}",
                      devices.in_system_memory(device, "one"), ["one"])
    names = [f"at-once-{device}" for device in range(count)]
    devices.check(result, "all GPUs in one process", "   ".join(
        devices.in_device_memory(device, name) for device, name in enumerate(names)), names)
    devices.check(result, "all GPUs with system memory", "   ".join(
        devices.in_system_memory(device, name) for device, name in enumerate(names)), names)

    caps = LAYOUT.caps("(memory:CUDAMemory)")
    said = host.launch(f"{devices.read} ! cudaupload cuda-device-id=1 ! {caps} ! "
                       f"cudablockavg cuda-device-id=0 ! {caps} ! cudadownload ! "
                       f"{devices.write('refused')}")
    errors = common.error_messages(said.text)
    result.note(f"frames of GPU 1, cuda-device-id=0: status {said.status}, {errors}")
    result.check(said.status not in (None, 0) and "CRITICAL" not in said.text and
                 any("cuda-device-id" in error for error in errors),
                 "frames of another GPU than cuda-device-id are refused", said.detail())
    result.figures.append(f"{count} GPUs")
