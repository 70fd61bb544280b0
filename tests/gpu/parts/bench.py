# SPDX-License-Identifier: LGPL-2.1-or-later
"""The benchmark's CUDA rows, as a table. A frame's copy on the device is measured beside each."""
import json

from . import common

FORMATS = (("NV12", "3840x2160"), ("RGBA", "3840x2160"))


def gaussian(taps):
    return "cudasepconv", ("preset=gaussian", f"preset-size={taps}")


def work():
    """(element, properties, format, size) of every row."""
    effects = [("cudablockavg", (f"block-width={w}", f"block-height={h}"))
               for w, h in ((16, 16), (32, 32), (64, 64), (37, 19))]
    effects += [gaussian(taps) for taps in (9, 17, 33, 129)]
    effects += [("cudagaussblur", (f"sigma={sigma}",)) for sigma in (2, 5, 10, 30, 100, 250)]
    effects += [("cudagaussblur", ("map-mode=radial", f"sigma={sigma}")) for sigma in (8, 32)]
    effects += [("cudallf", ("harmonics=8",))]
    rows = [(*effect, *place) for effect in effects for place in FORMATS]
    return rows + [("cudallf", ("harmonics=8",), "NV12", "1920x1080"),
                   ("cudallf", ("engine=exact", "levels=3"), "NV12", "3840x2160"),
                   ("cudallf", ("engine=exact", "levels=3", "color-mode=rgb"), "RGBA", "3840x2160"),
                   ("cudagaussblur", ("map-mode=radial", "sigma=10"), "GRAY8", "1440x2160")]


def run(host, result, deadline):
    host.need_gpu()
    program = host.program("tests/bench/cudafilters-bench")
    rows = work()[::4] if host.quick else work()
    result.note(f"{'work':<52} {'median us':>10} {'copy us':>8} {'ratio':>6}  algorithm")
    for element, properties, video_format, size in rows:
        title = f"{element} {' '.join(properties)} {video_format} {size}"
        if deadline.passed():
            result.skip(title, "no time left")
            continue
        arguments = [word for text in properties for word in ("--property", text)]
        said = common.run_command(
            [str(program), "--element", element, "--backend", "cuda", "--format", video_format,
             "--size", size, "--json", *arguments], 60)
        if not result.check(said.status == 0, title, said.detail()):
            continue
        row = json.loads(said.text.strip().splitlines()[-1])
        result.note(f"{title:<52} {1000 * row['median_ms']:10.1f} {1000 * row['copy_ms']:8.1f} "
                    f"{row['ratio']:6.2f}  {row['algorithm']}")
    result.figures.append("the table is above")
