# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong on a GPU host ends in one clear error, or in the CPU where that was allowed."""
import contextlib
import ctypes
import re
import subprocess
import sys

from . import common, tap

ONE_FRAME = "videotestsrc num-buffers=1 ! video/x-raw,format={},width={},height={} ! "
SMALL = ONE_FRAME.format("NV12", 320, 240)
# In and out of this frame take 768 MB, more than is left when a context has taken its part.
HUGE = ONE_FRAME.format("RGBA", 12000, 8000)
LEFT_FREE = 900 << 20
FILTERING = {"cudasepconv": "cudasepconv preset=box"}  # its defaults are the identity
IN_STRIPS = ("cudagaussblur", "cudasepconv")  # need less memory than a frame


def hold_memory(left_free):
    """Takes all memory of GPU 0 but `left_free` bytes until stdin ends. A process of its own."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name} fails with {status}")

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    pointer = ctypes.c_uint64()
    size = ctypes.c_size_t(max(free.value - left_free, 0))
    call("cuMemAlloc_v2", ctypes.byref(pointer), size)
    print("held", flush=True)
    sys.stdin.read()


@contextlib.contextmanager
def nearly_full_gpu(host):
    with subprocess.Popen([sys.executable, "-m", "parts.errors", str(LEFT_FREE)], cwd=host.tests,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline().strip() != "held":
            process.stdin.close()
            raise common.Skipped("the memory of the GPU could not be filled")
        yield
        process.stdin.close()


def check_error(host, result, title, pipeline, wanted, environment=None):
    """The pipeline ends by itself with exactly one error of ours, which has all of `wanted` in it;
    the source adds that its stream has ended."""
    said = host.launch(pipeline, environment=environment)
    errors = [line for line in said.text.splitlines()
              if line.startswith("ERROR: from element") and "/GstCuda" in line]
    clean = said.status is not None and said.status > 0 and "CRITICAL" not in said.text
    clear = len(errors) == 1 and all(word in said.text.lower() for word in wanted)
    if result.check(clean and clear, title, f"{len(errors)} errors\n{said.detail()}"):
        message = re.search(r"^ERROR: from element \S+ (.*)$", said.text, re.MULTILINE)
        result.note(f"{title}: {message[1] if message else errors[0]}")


def check_without_memory(host, result, element):
    title = f"{element} with the memory of the GPU used up"
    pipeline = f"{HUGE} {FILTERING.get(element, element)} backend=cuda ! fakesink"
    if element in IN_STRIPS and host.launch(pipeline).good:
        result.check(True, f"{title} filters in strips", "")
    else:
        check_error(host, result, title, pipeline, ("memory",))


def check_fallback(host, result, element, environment):
    said = host.launch(f"{SMALL} {element} backend=auto ! fakesink", environment=environment,
                       options=("-v",))
    result.check(said.good and "active-backend = cpu" in said.text,
                 f"{element} backend=auto without a device runs on the CPU", said.detail())


def run(host, result, deadline):
    host.need_gstreamer()
    # GStreamer remembers which elements a plugin has: it must not look for the first time while no
    # device can be seen.
    host.has_element("cudaupload")
    no_device = {"CUDA_VISIBLE_DEVICES": ""}
    for element in common.ELEMENTS:
        check_error(host, result, f"{element} backend=cuda without a device",
                    f"{SMALL} {element} backend=cuda ! fakesink", ("cuda",), no_device)
        check_fallback(host, result, element, no_device)
    host.need_cuda_memory()
    for element in common.ELEMENTS:
        check_error(host, result, f"{element} on a device that is not there",
                    f"{SMALL} {element} backend=cuda cuda-device-id=99 ! fakesink",
                    ("cuda-device-id is 99",))
    with nearly_full_gpu(host):
        for element in common.ELEMENTS:
            check_without_memory(host, result, element)
    said = host.launch(f"{SMALL} cudablockavg backend=cuda ! fakesink")
    result.check(said.good, "works again when memory is free", said.detail())
    tap.run_program(host, result, "tests/gpu/errors", deadline)


if __name__ == "__main__":
    hold_memory(int(sys.argv[1]))
