# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows that tools/bench measures: every element over frame sizes, formats and settings.

A row is what cudafilters-bench is told, and where its result stands: a group (a chart), a series
(a line of it), and a place on its axis.
"""
from dataclasses import dataclass, field

ELEMENTS = {  # series: element, settings
    "cudallf": ("cudallf", ()),
    "cudagaussblur sigma 2": ("cudagaussblur", ("sigma=2",)),
    "cudagaussblur sigma 30": ("cudagaussblur", ("sigma=30",)),
    "cudasepconv 17 taps": ("cudasepconv", ("preset=gaussian", "preset-size=17")),
    "cudablockavg 16x16": ("cudablockavg", ()),
}
SIZES = ("640x360", "1280x720", "1920x1080", "2560x1440", "3840x2160", "7680x4320")
FORMATS = ("GRAY8", "NV12", "I420", "Y42B", "Y444", "UYVY", "RGB", "RGBA", "AYUV", "P010_10LE",
           "I420_10LE", "I422_10LE", "Y444_10LE", "P012_LE", "P016_LE", "Y444_16LE", "GRAY16_LE")
SIGMAS = (0.5, 1, 2, 3, 5, 8, 10, 12, 16, 20, 30, 50, 100, 250)
TAPS = (3, 5, 9, 17, 33, 41, 65, 81, 97, 129, 255)
BLOCKS = (2, 4, 8, 16, 32, 64, 128)
REGIONS = (1, 10, 30, 100, 300)
STREAMS = {"640x360": (1, 2, 4, 8, 16, 32, 64), "1920x1080": (1, 4, 16)}

# A run without --full leaves the others out.
FEW = {"sizes": ("640x360", "1920x1080", "3840x2160"), "formats": ("NV12", "RGBA", "P010_10LE"),
       "sigma": (2, 10, 30), "taps": (9, 33, 129), "blocks": (16, 32), "regions": (1, 100),
       "streams": (1, 4, 16)}


@dataclass
class Row:
    group: str
    series: str
    place: object
    element: str
    format: str
    size: str
    settings: tuple = ()
    options: tuple = ()
    title: str = field(init=False)

    def __post_init__(self):
        self.title = " ".join([self.element, *self.settings, self.format, self.size,
                               *self.options])

    def arguments(self, backend):
        words = ["--element", self.element, "--backend", backend, "--format", self.format,
                 "--size", self.size, "--json", *self.options]
        for setting in self.settings:
            words += ["--property", setting]
        return words


def by_size():
    for video_format in ("NV12", "RGBA"):
        for series, (element, settings) in ELEMENTS.items():
            for size in SIZES:
                yield Row("sizes", f"{series}, {video_format}", size, element, video_format, size,
                          settings)


def by_format(size):
    for series, (element, settings) in ELEMENTS.items():
        for video_format in FORMATS:
            yield Row("formats", series, video_format, element, video_format, size, settings)
        if element != "cudallf":
            yield Row("formats", series, "RGBA, real alpha", element, "RGBA", size, settings,
                      ("--alpha", "random"))


def by_setting(size):
    for name, video_format, options in (
            ("RGBA", "RGBA", ()), ("NV12", "NV12", ()), ("P010_10LE", "P010_10LE", ()),
            ("RGBA, real alpha", "RGBA", ("--alpha", "random"))):
        for sigma in SIGMAS:
            yield Row("sigma", name, sigma, "cudagaussblur", video_format, size,
                      (f"sigma={sigma}",), options)
        for taps in TAPS:
            yield Row("taps", name, taps, "cudasepconv", video_format, size,
                      ("preset=gaussian", f"preset-size={taps}"), options)
        for block in BLOCKS:
            yield Row("blocks", name, block, "cudablockavg", video_format, size,
                      (f"block-width={block}", f"block-height={block}"), options)


def by_map(size):
    for video_format in ("RGBA", "NV12"):
        for mode in ("radial", "linear", "luma"):
            for sigma in (8, 32):
                yield Row("maps", f"{mode}, {video_format}", sigma, "cudagaussblur", video_format,
                          size, (f"map-mode={mode}", f"sigma={sigma}"))


def by_region(size):
    for series, element, settings in (("cudablockavg 16x16", "cudablockavg", ()),
                                      ("cudagaussblur sigma 10", "cudagaussblur", ("sigma=10",))):
        for video_format in ("NV12", "RGBA"):
            for count in REGIONS:
                yield Row("regions", f"{series}, {video_format}", count, element, video_format,
                          size, settings, ("--regions", str(count)))


def by_stream():
    for size, counts in STREAMS.items():
        for series, (element, settings) in ELEMENTS.items():
            for count in counts:
                yield Row("streams", f"{series}, {size}", count, element, "NV12", size, settings,
                          ("--streams", str(count), "--threads", "1"))


def by_energy(size):
    for video_format in ("NV12", "RGBA"):
        for series, (element, settings) in ELEMENTS.items():
            yield Row("energy", video_format, series, element, video_format, size, settings,
                      ("--energy",))


def is_wanted(row, full, gpu):
    if row.group == "streams" and not gpu and row.place > 8:
        return False
    if full:
        return gpu or row.size != "7680x4320"
    few = FEW.get(row.group)
    if row.group in ("sigma", "taps", "blocks"):
        return row.place in few and row.series in ("RGBA", "NV12")
    return few is None or row.place in few


def rows(full, gpu):
    """Those of one format, size and alpha follow each other, so that frames are made once. A GPU
    is measured on larger frames than a CPU."""
    size = "3840x2160" if gpu else "1920x1080"
    found = [row for group in (by_size(), by_format(size), by_setting(size), by_map(size),
                               by_region(size), by_stream(), by_energy(size))
             for row in group if is_wanted(row, full, gpu)]
    return sorted(found, key=lambda row: (row.format, row.size, "--alpha" in row.options))
