#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudagaussblur's blur maps through real pipelines against a gather in numpy, on photographs."""
import math
import os
import subprocess
import tempfile
import time

import numpy as np
import PIL.Image

import frames
import harness

WIDTH, HEIGHT = 97, 61
PADS = {"replicate": "edge", "reflect": "symmetric", "reflect-101": "reflect", "wrap": "wrap"}


def gaussian(sigma):
    radius = math.ceil(4 * sigma)
    if radius == 0:
        return np.ones(1)
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return taps / taps.sum()


def gather(plane, sigmas, subsampling, border):
    """Each sample with the Gaussian of its own sigma, in luma pixels; no rounding."""
    margin = math.ceil(4 * sigmas.max()) + 1
    padded = np.pad(plane.astype(float), margin, mode=PADS[border])
    result = np.empty(plane.shape)
    for y, x in np.ndindex(plane.shape):
        row, column = (gaussian(sigmas[y, x] / (1 << shift)) for shift in subsampling)
        across, down = len(row) // 2, len(column) // 2
        window = padded[y + margin - down:y + margin + down + 1,
                        x + margin - across:x + margin + across + 1]
        result[y, x] = column @ window @ row
    return result


def positions(shape, subsampling):
    """Of samples, in luma pixels."""
    return (((np.arange(shape[1]) + 0.5) * (1 << subsampling[0]))[None, :],
            ((np.arange(shape[0]) + 0.5) * (1 << subsampling[1]))[:, None])


def ramp(distance, inner, outer):
    return np.clip((distance - inner) / (outer - inner), 0, 1)


def radial(shape, subsampling, centre=(0.5, 0.5), inner=0.0, outer=0.333):
    x, y = positions(shape, subsampling)
    return ramp(np.hypot(x - centre[0] * WIDTH, y - centre[1] * HEIGHT) / WIDTH, inner, outer)


def linear(shape, subsampling, degrees=0.0, inner=0.0, outer=0.333):
    x, y = positions(shape, subsampling)
    turn = math.radians(degrees)
    across = (y - HEIGHT / 2) * math.cos(turn) - (x - WIDTH / 2) * math.sin(turn)
    return ramp(np.abs(across) / WIDTH, inner, outer)


def stretched(image, shape, subsampling):
    """An image of values 0..1, bilinear."""
    x, y = positions(shape, subsampling)
    u = np.clip(x * image.shape[1] / WIDTH - 0.5, 0, image.shape[1] - 1)
    v = np.clip(y * image.shape[0] / HEIGHT - 0.5, 0, image.shape[0] - 1)
    left, top = np.floor(u).astype(int), np.floor(v).astype(int)
    right, bottom = (np.minimum(left + 1, image.shape[1] - 1),
                     np.minimum(top + 1, image.shape[0] - 1))
    fu, fv = u - left, v - top
    return ((1 - fv) * ((1 - fu) * image[top, left] + fu * image[top, right]) +
            fv * ((1 - fu) * image[bottom, left] + fu * image[bottom, right]))


def luma(components, shape, subsampling, form):
    if form.is_rgb:
        full = sum(weight * components[role].astype(float) for role, weight in
                   (("R", 0.299), ("G", 0.587), ("B", 0.114))) / form.max_code
    else:
        limited = form.roles != ["Y"]
        codes = components["Y"].astype(float) / (1 << (form.bits - 8))
        full = (codes - 16) / 219 if limited else codes / 255
    rows, columns = 1 << subsampling[1], 1 << subsampling[0]
    mean = np.array([[full[y * rows:(y + 1) * rows, x * columns:(x + 1) * columns].mean()
                      for x in range(shape[1])] for y in range(shape[0])])
    return np.clip(mean, 0, 1)


def isolated(plane, weights, sigmas, subsampling, border):
    """As gather, each sample around counted by its weight."""
    around = gather(weights, sigmas, subsampling, border)
    return np.where(around > 0, gather(plane * weights, sigmas, subsampling, border) /
                    np.where(around > 0, around, 1.0), plane)


def exact(layout, components, map_of, sigma, sigma_min, border, isolate):
    form = layout.format
    result = {}
    for role, plane in components.items():
        subsampling = form.subsampling(role)
        m = np.broadcast_to(map_of(plane.shape, subsampling), plane.shape)
        sigmas = sigma_min + m * (sigma - sigma_min)
        if isolate:
            alpha = components["A"].astype(float) if "A" in form.roles and role != "A" else 1.0
            result[role] = isolated(plane.astype(float), m * alpha, sigmas, subsampling, border)
        elif role != "A" and "A" in form.roles:
            alpha = components["A"].astype(float)
            weight = gather(alpha, sigmas, subsampling, border)
            result[role] = (gather(plane * alpha, sigmas, subsampling, border) /
                            np.where(weight > 0, weight, 1.0))
        else:
            result[role] = gather(plane, sigmas, subsampling, border)
    return result


def difference(layout, output, wanted):
    worst, squares, count = 0.0, 0.0, 0
    for role, plane in wanted.items():
        error = np.abs(output[role] - plane)
        if role != "A" and "A" in wanted:
            error = error * output["A"] / layout.format.max_code
        worst = max(worst, error.max())
        squares += (error ** 2).sum()
        count += error.size
    return worst, math.sqrt(squares / count)


def compare(tap, name, format_name, image, properties, map_of, sigma, sigma_min=0.0,
            border="replicate", alpha=None, isolate=False):
    """`map_of(components, shape, subsampling, form)` are the values m of a plane."""
    layout = frames.Layout(format_name, WIDTH, HEIGHT)
    form = layout.format
    components = frames.components_of(image, format_name, alpha)
    wanted = exact(layout, components,
                   lambda shape, subsampling: map_of(components, shape, subsampling, form),
                   sigma, sigma_min, border, isolate)
    words = [f"map-isolate={isolate}", f"sigma={sigma}", f"sigma-min={sigma_min}",
             f"border={border}", *properties]
    unit = form.max_code / 255
    for backend in harness.backends():
        output, = harness.filter_frames(layout, [layout.pack(components)],
                                        ["cudagaussblur", f"backend={backend}", *words])
        worst, rms = difference(layout, layout.unpack(output), wanted)
        # Rounding costs half a code value, a rounded alpha as much again; the map has 24 bits.
        reference = (1.0 if "A" in form.roles else 0.5) + 0.01 * unit
        bound = reference if backend == "reference" else 0.5 + 2 * unit
        tap.check(worst <= bound, f"{name}: {format_name} {' '.join(words)} {backend}",
                  f"off by {worst:.3f} code values, allowed are {bound}")
        if backend != "reference":
            tap.check(rms < 0.5 * unit + 0.29, f"{name}: {format_name} {backend}: rms",
                      f"{rms:.3f} with rounding")


def analytic_maps(tap, image):
    for format_name in ("GRAY8", "NV12", "RGB", "P010_10LE"):
        compare(tap, "radial", format_name, image, ["map-mode=radial"],
                lambda c, shape, sub, f: radial(shape, sub), 3.0)
        compare(tap, "inverted", format_name, image,
                ["map-mode=radial", "map-invert=true", "map-x=0.3", "map-y=0.7",
                 "map-inner=0.1", "map-outer=0.4"],
                lambda c, shape, sub, f: 1 - radial(shape, sub, (0.3, 0.7), 0.1, 0.4), 2.5, 0.6,
                "reflect")
        compare(tap, "tilt-shift", format_name, image,
                ["map-mode=linear", "map-angle=25", "map-inner=0.05", "map-outer=0.25"],
                lambda c, shape, sub, f: linear(shape, sub, 25, 0.05, 0.25), 4.0, 0.0, "wrap")
        compare(tap, "luma", format_name, image, ["map-mode=luma"], luma, 2.0, 0.0, "reflect-101")


def isolating_maps(tap, image, directory):
    """A subject with strands, black where it stays sharp, and a soft map."""
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    subject = (np.hypot(x - 50, y - 40) < 18) | ((x % 7 < 2) & (y > 8) & (abs(x - 50) < 20))
    matte = os.path.join(directory, "matte.png")
    PIL.Image.fromarray(np.where(subject, 0, 255).astype(np.uint8)).save(matte)
    values = np.where(subject, 0.0, 1.0)
    transparency = 0.2 + 0.8 * (np.arange(WIDTH) % 11 > 3) * np.ones((HEIGHT, 1))
    for format_name, alpha in (("GRAY8", None), ("NV12", None), ("RGBA", transparency)):
        compare(tap, "isolated", format_name, image,
                ["map-mode=file", f"map-location={matte}"],
                lambda c, shape, sub, f: stretched(values, shape, sub), 6.0, alpha=alpha,
                isolate=True)
        compare(tap, "isolated softly", format_name, image,
                ["map-mode=radial", "map-inner=0.1"],
                lambda c, shape, sub, f: radial(shape, sub, inner=0.1), 5.0, alpha=alpha,
                isolate=True)


def alpha_maps(tap, image):
    alpha = np.linspace(0, 1, WIDTH)[None, :] * np.ones(HEIGHT)[:, None]
    compare(tap, "alpha", "RGBA", image, ["map-mode=alpha"],
            lambda c, shape, sub, f: c["A"] / 255, 2.5, alpha=alpha)
    compare(tap, "radial", "RGBA", image, ["map-mode=radial"],
            lambda c, shape, sub, f: radial(shape, sub), 3.0, alpha=alpha)
    # Formats without alpha are opaque: the map is 1.
    compare(tap, "alpha", "NV12", image, ["map-mode=alpha"],
            lambda c, shape, sub, f: np.ones(shape), 2.0)


def write_pgm(path, values, plain=False):
    header = f"{'P2' if plain else 'P5'}\n# a comment\n{values.shape[1]} {values.shape[0]}\n"
    with open(path, "wb") as file:
        file.write(f"{header}{65535 if values.dtype == np.uint16 else 255}\n".encode())
        if plain:
            file.write(" ".join(str(value) for value in values.flat).encode())
        else:
            file.write(values.astype(">u2" if values.dtype == np.uint16 else "u1").tobytes())


def file_maps(tap, image, directory):
    generator = np.random.default_rng(5)
    coarse = generator.integers(0, 256, (7, 11)).astype(np.uint8)
    fine = generator.integers(0, 65536, (9, 5)).astype(np.uint16)
    files = {"coarse.pgm": coarse, "plain.pgm": coarse, "coarse.png": coarse,
             "fine.pgm": fine, "fine.png": fine}
    for name, values in files.items():
        path = os.path.join(directory, name)
        if name.endswith(".png"):
            PIL.Image.fromarray(values).save(path)
        else:
            write_pgm(path, values, plain=name == "plain.pgm")
        compare(tap, name, "NV12", image, ["map-mode=file", f"map-location={path}"],
                lambda c, shape, sub, f, v=values: stretched(v / np.iinfo(v.dtype).max, shape, sub),
                3.0)


def colour_maps(tap, image, directory):
    """Colours are taken by their BT.709 luma, whatever a paint program stores; alpha is ignored."""
    generator = np.random.default_rng(6)
    colours = generator.integers(0, 256, (7, 11, 4)).astype(np.uint8)
    palette = PIL.Image.fromarray(colours[..., :3]).convert("P", palette=PIL.Image.ADAPTIVE)
    with open(os.path.join(directory, "colours.ppm"), "wb") as file:
        file.write(b"P6 11 7 255\n" + colours[..., :3].tobytes())
    PIL.Image.fromarray(colours[..., :3]).save(os.path.join(directory, "rgb.png"))
    PIL.Image.fromarray(colours).save(os.path.join(directory, "rgba.png"))
    palette.save(os.path.join(directory, "palette.png"))
    shown = {"colours.ppm": colours, "rgb.png": colours, "rgba.png": colours,
             "palette.png": np.asarray(palette.convert("RGB"))}
    for name, pixels in shown.items():
        grays = pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722]) / 255
        compare(tap, name, "GRAY8", image,
                ["map-mode=file", f"map-location={os.path.join(directory, name)}"],
                lambda c, shape, sub, f, v=grays: stretched(v, shape, sub), 3.0)


def refusals(tap, directory):
    whole = os.path.join(directory, "whole.png")
    PIL.Image.new("RGB", (4, 4)).save(whole)
    broken = os.path.join(directory, "broken.png")
    with open(whole, "rb") as source, open(broken, "wb") as target:
        target.write(source.read()[:40])
    short = os.path.join(directory, "short.pgm")
    with open(short, "wb") as file:
        file.write(b"P5 4 4 255\n123")
    text = os.path.join(directory, "text.pgm")
    with open(text, "w", encoding="ascii") as file:
        file.write("this is no map")
    large = os.path.join(directory, "large.pgm")
    with open(large, "w", encoding="ascii") as file:
        file.write("P5 20000 20000 255\n")
    fifo = os.path.join(directory, "fifo")
    os.mkfifo(fifo)
    cases = {broken: "no readable PNG", short: "ends too early",
             text: "is neither a PNG nor a PGM or PPM", large: "20000x20000",
             fifo: "regular file", directory: "regular file", "/dev/zero": "regular file",
             os.path.join(directory, "none.pgm"): "cannot be opened", "": "map-location"}
    for path, reason in cases.items():
        words = [f"map-location={path}"] if path else []
        try:
            harness.launch("videotestsrc num-buffers=1 ! cudagaussblur backend=cpu map-mode=file",
                           words, "! fakesink", timeout=harness.REFUSAL_SECONDS)
            tap.check(False, f"refused: {path}", "it played")
        except harness.PipelineError as error:
            tap.check(error.refused and reason in str(error),
                      f"refused: {os.path.basename(path)}: {reason}", str(error))


def live_file(tap, directory):
    """A map that is replaced while the pipeline plays takes effect."""
    path, new = os.path.join(directory, "live.pgm"), os.path.join(directory, "new.pgm")
    write_pgm(path, np.zeros((2, 2), np.uint8))
    write_pgm(new, np.full((2, 2), 255, np.uint8))
    pattern = os.path.join(directory, "frame-%03d.raw")
    process = subprocess.Popen(
        ["gst-launch-1.0", "-q", *("videotestsrc is-live=true num-buffers=25 ! "
         "video/x-raw,format=GRAY8,width=64,height=48,framerate=10/1 ! "
         f"cudagaussblur backend=cpu sigma=5 map-mode=file map-location={path} ! "
         f"multifilesink location={pattern}").split()])
    while not os.path.exists(pattern % 4) and process.poll() is None:
        time.sleep(0.02)
    os.replace(new, path)
    process.wait(timeout=harness.TIMEOUT_SECONDS)
    read = [open(pattern % i, "rb").read() for i in (0, 24)]
    rough = [np.abs(np.diff(np.frombuffer(data, np.uint8).reshape(48, 64).astype(int))).max()
             for data in read]
    tap.check(rough[0] > 2 * rough[1], "a replaced file takes effect while playing",
              f"largest steps: {rough[0]} before, {rough[1]} after")


def run(tap):
    image = frames.shrunk(frames.photograph(frames.PHOTOGRAPHS[0]), WIDTH, HEIGHT)
    analytic_maps(tap, image)
    alpha_maps(tap, image)
    with tempfile.TemporaryDirectory() as directory:
        file_maps(tap, image, directory)
        isolating_maps(tap, image, directory)
        colour_maps(tap, image, directory)
        refusals(tap, directory)
        live_file(tap, directory)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
