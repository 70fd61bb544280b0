#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudatonemap through real pipelines against the definition in numpy, on photographs that were made
HDR; and HDR10 from an encoder to an SDR file.

The base of the tones is cudallf's, which has tests of its own; all else is written anew here.
"""
import json
import os
import shutil
import subprocess
import tempfile

import numpy as np

import frames
import harness

STOPS = np.log2(1 + 10000 / 0.1)
LUMINANCE_2020 = np.array([0.2627, 0.6780, 0.0593])
LUMINANCE_709 = np.array([0.2126, 0.7152, 0.0722])
# ITU-R BT.2087, and back.
TO_2020 = np.array([[0.627403896, 0.329283038, 0.043313066],
                    [0.069097289, 0.919540395, 0.011362316],
                    [0.016391439, 0.088013308, 0.895595253]])
TO_709 = np.linalg.inv(TO_2020)


def adapted(chromaticities, white):
    """Light of these primaries as BT.2020's, their white adapted to D65 as Bradford did."""
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367],
                         [0.0389, -0.0685, 1.0296]])

    def xyz(x, y):
        return np.array([x / y, 1, (1 - x - y) / y])

    def from_rgb(points, white):
        columns = np.stack([xyz(*point) for point in points], -1)
        return columns * np.linalg.solve(columns, xyz(*white))

    d65 = (0.3127, 0.3290)
    cones = np.diag((bradford @ xyz(*d65)) / (bradford @ xyz(*white)))
    adapt = np.linalg.inv(bradford) @ cones @ bradford
    wide = from_rgb([(0.708, 0.292), (0.17, 0.797), (0.131, 0.046)], d65)
    return np.linalg.inv(wide) @ adapt @ from_rgb(chromaticities, white)


P3 = [(0.68, 0.32), (0.265, 0.69), (0.15, 0.06)]
# By colorimetry: the transfer function, its light as BT.2020's, weights of luma.
COLOURS = {
    "bt2100-pq": ("pq", np.eye(3), LUMINANCE_2020),
    "bt2100-hlg": ("hlg", np.eye(3), LUMINANCE_2020),
    "2:3:14:11": ("pq", adapted(P3, (0.3127, 0.3290)), LUMINANCE_709),
    "2:6:14:10": ("pq", adapted(P3, (0.314, 0.351)), LUMINANCE_2020),
    "2:6:14:1": ("pq", TO_2020, LUMINANCE_2020),
}

DEFAULTS = {"detail": 1.0, "contrast": 1.0, "sigma": 1.0, "noise-floor": 0.1, "peak": 0.0,
            "target-nits": 100.0, "saturation": 1.0, "dither": True}
SETTINGS = [
    {}, {"dither": False}, {"detail": 1.7, "noise-floor": 0.3}, {"detail": 0.2, "sigma": 4},
    {"contrast": 0.6, "peak": 4000}, {"contrast": 1.4, "saturation": 1.5},
    {"target-nits": 300, "saturation": 0.5}, {"peak": 100},
]
SOURCES = ("P010_10LE", "I420_10LE", "I422_10LE", "P012_LE", "P016_LE", "Y444_10LE",
           "Y444_16LE")
RESULTS = ("NV12", "I420", "P010_10LE", "RGBA", "BGRA")
WIDTH, HEIGHT = 350, 251


# Light

M1, M2 = 2610 / 16384, 2523 / 32
C1, C2, C3 = 3424 / 4096, 2413 / 128, 2392 / 128
A, B, C = 0.17883277, 0.28466892, 0.55991073


def stops(nits):
    """Above black."""
    return np.log2(1 + nits / 0.1)


def from_pq(signal):
    power = np.clip(signal, 0, 1) ** (1 / M2)
    return 10000 * (np.maximum(power - C1, 0) / (C2 - C3 * power)) ** (1 / M1)


def to_pq(nits):
    power = (np.maximum(nits, 0) / 10000) ** M1
    return ((C1 + C2 * power) / (1 + C3 * power)) ** M2


def from_hlg(signal):
    signal = np.clip(signal, 0, 1)
    scene = np.where(signal <= 0.5, signal ** 2 / 3, (np.exp((signal - C) / A) + B) / 12)
    luminance = scene @ LUMINANCE_2020
    return 1000 * luminance[..., None] ** 0.2 * scene


def to_hlg(nits):
    shown = np.clip(nits / 1000, 0, 1)
    luminance = np.maximum(shown @ LUMINANCE_2020, 1e-9)
    scene = shown * luminance[..., None] ** (1 / 1.2 - 1)
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene),
                    A * np.log(np.maximum(12 * scene - B, 1e-9)) + C)


def graded(photograph):
    """Linear light of BT.2020 in nits: white at 203, highlights up to some 2000."""
    light = photograph ** 2.4
    bright = np.clip((light.mean(-1, keepdims=True) - 0.4) / 0.6, 0, 1)
    return 203 * light * (1 + 9 * bright) @ TO_2020.T


# Codes of a frame

def ranges(form, full):
    """Offset and scale of luma, centre and scale of chroma."""
    unit = 2.0 ** (form.bits - 8)
    if full:
        return 0.0, 2.0 ** form.bits - 1, 128 * unit, 2.0 ** form.bits - 1
    return 16 * unit, 219 * unit, 128 * unit, 224 * unit


def block_mean(plane, form):
    for axis, halved in enumerate(reversed(form.subsampling("U"))):
        if halved:
            plane = np.moveaxis(plane, axis, 0)
            padded = np.pad(plane, ((0, len(plane) % 2), (0, 0)), "edge")
            plane = np.moveaxis((padded[::2] + padded[1::2]) / 2, 0, axis)
    return plane


def planes_of(signal, weights, form, full):
    """Ideal codes by role, of R'G'B'."""
    offset, scale, centre, chroma_scale = ranges(form, full)
    luma = signal @ weights
    blue = (signal[..., 2] - luma) / (2 * (1 - weights[2]))
    red = (signal[..., 0] - luma) / (2 * (1 - weights[0]))
    return {"Y": offset + scale * luma, "U": centre + chroma_scale * block_mean(blue, form),
            "V": centre + chroma_scale * block_mean(red, form)}


def signal_of(codes, weights, form, full):
    """R'G'B'; each pixel has the chroma of its block."""
    offset, scale, centre, chroma_scale = ranges(form, full)
    luma = (codes["Y"] - offset) / scale
    chroma = []
    for role in "UV":
        plane = (codes[role] - centre) / chroma_scale
        halved_columns, halved_rows = form.subsampling(role)
        plane = plane.repeat(1 + halved_rows, 0).repeat(1 + halved_columns, 1)
        chroma.append(plane[:luma.shape[0], :luma.shape[1]])
    red, blue = luma + 2 * (1 - weights[0]) * chroma[1], luma + 2 * (1 - weights[2]) * chroma[0]
    green = (luma - weights[0] * red - weights[2] * blue) / weights[1]
    return np.clip(np.stack([red, green, blue], -1), 0, 1)


def threshold(shape, dither):
    """What is added before a code is cut off."""
    if not dither:
        return 0.5
    matrix = np.array([[0]])
    for _ in range(3):
        matrix = np.block([[4 * matrix, 4 * matrix + 2], [4 * matrix + 3, 4 * matrix + 1]])
    rows, columns = shape
    return (np.tile(matrix, (-(-rows // 8), -(-columns // 8)))[:rows, :columns] + 0.5) / 64


# The definition

def bases_of(planes, sigma, backend):
    height, width = planes[0].shape
    layout = frames.Layout("GRAY16_LE", width, height)
    outputs = harness.filter_frames(
        layout, [layout.pack({"Y": plane}) for plane in planes],
        ["cudallf", f"backend={backend}", f"sigma={sigma / STOPS:.12f}", "alpha=2",
         "noise-floor=0", "protect=false", "reach=0.02"])
    return [layout.unpack(output)["Y"].astype(float) for output in outputs]


def curve(v, settings, peak):
    """Of stops above black: the gain over display white, in stops; the slope; the room below what
    the peak becomes, in stops; and what that is over white."""
    white = 2.03 * settings["target-nits"]
    peak = max(peak, white)
    kept = min(peak, white * 2 ** 0.5)
    pivot, c = stops(40.0), settings["contrast"]
    span, room = stops(peak) - pivot, stops(kept) - pivot
    bend = (c * span / room - 1) / span
    x = np.minimum(v, pivot) / pivot
    u = np.clip(v - pivot, 0, span)
    slope = np.where(v < pivot, c / (c + (1 - c) * x) ** 2, c / (1 + bend * u) ** 2)
    mapped = pivot * x / (c + (1 - c) * x) + c * u / (1 + bend * u)
    mapped += np.maximum(v - pivot - span, 0) * slope
    gain = np.log2(np.where(v > 1e-6, np.expm1(mapped * np.log(2))
                            / np.maximum(np.expm1(v * np.log(2)), 1e-12), 1 / c) / white)
    left = np.log2(kept / white) - np.log2(np.maximum(0.1 * np.expm1(v * np.log(2)), 1e-12)) - gain
    return gain, slope, np.clip(left, 0, 16 + np.log2(kept / white)), kept / white


def tone_mapped(light, plane, base, settings, peak):
    """R'G'B' of BT.709."""
    v, b = plane / 65535 * STOPS, base / 65535 * STOPS
    gain, slope, room, most = curve(v, settings, peak)
    local, floor = v - b, settings["noise-floor"]
    if settings["detail"] > 1 and floor:
        t = np.clip(np.abs(local) / floor - 1, 0, 1)
        local = local * t * t * (3 - 2 * t)
    added = curve(b, settings, peak)[0] - gain + (settings["detail"] - 1) * local
    raised = np.maximum(added, 0)
    added = np.minimum(added, 0) + raised * room / np.maximum(np.hypot(raised, room), 1e-12)
    gain = 2 ** (gain + added)
    colour = (light * gain[..., None]) @ TO_709.T
    luminance = colour @ LUMINANCE_709
    norm = luminance + 0.5 * (colour.max(-1) - luminance)
    m, t = (most - 0.6) / 0.4, np.maximum(norm - 0.6, 0) / 0.4
    rolled = np.minimum(norm, 0.6) + 0.4 * t * m / (m + t * (m - 1))
    scale = np.where(norm > 0, rolled / np.maximum(norm, 1e-12), 1)
    power = slope ** (0.8552 / 2)
    saturation = settings["saturation"] * 3.3892 * power / (1 + 2.3892 * power)
    away = (saturation * scale)[..., None] * (colour - luminance[..., None])
    grey = scale * luminance
    over = np.maximum(-away.min(-1) / np.maximum(grey, 1e-9), 1)
    colour = np.maximum(grey[..., None] + away / over[..., None], 0)
    largest = np.maximum(colour.max(-1), 1)
    beyond, dark = largest - 1, np.maximum(1 - colour.min(-1), 0) ** 16
    pale = (4 * beyond ** 2 * grey
            / np.maximum(grey * dark + 4 * beyond * (largest - grey), 1e-9))
    pale, largest = np.minimum(pale, 1)[..., None], largest[..., None]
    colour = colour / largest
    red, green, blue = np.split(colour, 3, -1)
    red_leads = np.maximum(red - np.maximum(green / 2, blue), 0) ** 4
    blue_leads = np.maximum(blue - np.maximum(green / 2, red), 0) ** 4
    bent = pale * (1 - pale)
    share = np.concatenate([pale - 0.8 * bent * blue_leads, pale, pale - 0.4 * bent * red_leads],
                           -1)
    return (colour + share * (1 - colour)) ** (1 / 2.4)


def ideal_codes(signal, form):
    if form.is_rgb:
        codes = {role: 255 * signal[..., "RGB".index(role)] for role in "RGB"}
        return {**codes, "A": np.full(signal.shape[:2], 255.0)}
    return planes_of(signal, LUMINANCE_709, form, False)


def wanted(codes, source, result, colorimetry, settings, backend):
    """Codes by role of each frame."""
    full = {**DEFAULTS, **settings}
    transfer, matrix, weights = COLOURS[colorimetry]
    decode = from_pq if transfer == "pq" else from_hlg
    lights = [decode(signal_of(frame, weights, source.format, False)) @ matrix.T
              for frame in codes]
    planes = [np.floor(65535 * np.clip(np.log2(1 + light @ LUMINANCE_2020 / 0.1) / STOPS, 0, 1)
                       + 0.5) for light in lights]
    # The reference of cudallf is another filter, the exact one.
    bases = bases_of(planes, full["sigma"], "cuda" if backend == "cuda" else "cpu")
    frames_wanted = []
    for light, plane, base in zip(lights, planes, bases):
        ideal = ideal_codes(tone_mapped(light, plane, base, full, full["peak"] or 1000.0),
                            result.format)
        frames_wanted.append({
            role: np.clip(np.floor(values + threshold(values.shape, full["dither"])), 0,
                          result.format.max_code) for role, values in ideal.items()})
    return frames_wanted


def compare(tap, lights, source_name, result_name, colorimetry, settings):
    source = frames.Layout(source_name, WIDTH, HEIGHT)
    result = frames.Layout(result_name, WIDTH, HEIGHT)
    transfer, matrix, weights = COLOURS[colorimetry]
    encode = to_pq if transfer == "pq" else to_hlg
    codes = [{role: np.clip(np.floor(plane + 0.5), 0, source.format.max_code) for role, plane in
              planes_of(encode(light @ np.linalg.inv(matrix).T), weights, source.format,
                        False).items()}
             for light in lights]
    words = [f"{name}={str(value).lower()}" for name, value in settings.items()]
    for backend in harness.backends():
        outputs = harness.filter_frames(
            source, [source.pack(frame) for frame in codes],
            ["cudatonemap", f"backend={backend}", *words, "!", f"video/x-raw,format={result_name}"],
            colorimetry, result)
        worst = differing = samples = 0
        for output, expected in zip(outputs, wanted(codes, source, result, colorimetry,
                                                    settings, backend)):
            got = result.unpack(output)
            errors = [np.abs(got[role] - plane) for role, plane in expected.items()]
            worst = max(worst, *(error.max() for error in errors))
            differing += sum(np.count_nonzero(error) for error in errors)
            samples += sum(error.size for error in errors)
        # Another dither would be another code of many samples.
        tap.check(worst <= 1 and differing <= samples / 20,
                  f"{colorimetry} {source_name} to {result_name} {' '.join(words)} {backend}",
                  f"off by {worst:.0f} codes, {differing} of {samples} differ")


def passes_sdr(tap, photograph):
    """Every byte, in any format."""
    for name, colorimetry in (("P010_10LE", "bt2020-10"), ("NV12", "bt709"), ("RGB", "sRGB")):
        layout = frames.Layout(name, WIDTH, HEIGHT)
        frame = layout.pack(frames.components_of(photograph, name))
        output, = harness.filter_frames(layout, [frame], ["cudatonemap", "detail=2"], colorimetry)
        tap.check(output == bytes(frame), f"SDR passes: {name} {colorimetry}")


# HDR10 from an encoder, to an SDR file

def missing():
    for factory in ("x265enc", "h265parse", "avdec_h265", "x264enc", "matroskamux"):
        if subprocess.run(["gst-inspect-1.0", "--exists", factory], check=False).returncode:
            return f"no {factory}"
    return None if shutil.which("ffprobe") else "no ffprobe"


def probe(path):
    """What ffprobe says of the video and its first frame."""
    said = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_streams",
                           "-show_frames", "-read_intervals", "%+#1", "-of", "json", path],
                          check=True, capture_output=True, text=True).stdout
    found = json.loads(said)
    return found["streams"][0], found["frames"][0]


def converts_a_file(tap):
    reason = missing()
    if reason:
        tap.skip("an HDR10 file", reason)
        return
    with tempfile.TemporaryDirectory() as directory:
        hdr, sdr = (os.path.join(directory, name) for name in ("hdr.mkv", "sdr.mkv"))
        harness.launch(
            "videotestsrc num-buffers=5 pattern=smpte75 !",
            ["video/x-raw,format=I420_10LE,width=320,height=180,framerate=25/1,"
             "colorimetry=bt2100-pq,content-light-level=(string)800:200,mastering-display-info="
             "(string)35400:14600:8500:39850:6550:2300:15635:16450:10000000:1"],
            "! x265enc ! h265parse ! matroskamux ! filesink", [f"location={hdr}"])
        harness.launch("filesrc", [f"location={hdr}"], "! matroskademux ! h265parse ! avdec_h265 ! "
                       "cudatonemap ! x264enc ! h264parse ! matroskamux ! filesink",
                       [f"location={sdr}"])
        before, _ = probe(hdr)
        stream, frame = probe(sdr)
    tap.check(before.get("color_transfer") == "smpte2084", "the file is HDR10", str(before))
    colours = [stream.get(key) for key in ("color_space", "color_transfer", "color_primaries")]
    tap.check(colours == ["bt709"] * 3 and stream["pix_fmt"] == "yuv420p", "the result is BT.709",
              f"{stream['pix_fmt']} {colours}")
    described = [data.get("side_data_type", "") for data in
                 stream.get("side_data_list", []) + frame.get("side_data_list", [])]
    left = [name for name in described if "Mastering" in name or "Content light" in name]
    tap.check(not left, "nothing of HDR is left", str(left))


def run(tap):
    photographs = [frames.cropped(frames.photograph(name), WIDTH, HEIGHT)
                   for name in frames.PHOTOGRAPHS[:2]]
    lights = [graded(photograph) for photograph in photographs]
    for colorimetry in ("bt2100-pq", "bt2100-hlg"):
        for settings in SETTINGS:
            compare(tap, lights, "P010_10LE", "NV12", colorimetry, settings)
    for index, source in enumerate(SOURCES):
        for step in (0, 2):
            compare(tap, lights[:1], source, RESULTS[(index + step) % 5],
                    ("bt2100-pq", "bt2100-hlg")[(index + step // 2) % 2], {})
    for colorimetry in list(COLOURS)[2:]:
        compare(tap, lights, "Y444_16LE", "RGBA", colorimetry, {"dither": False})
    passes_sdr(tap, photographs[0])
    converts_a_file(tap)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
