#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudallf through real pipelines against Algorithm 1 of Paris, Hasinoff and Kautz 2011, written
here in numpy with MATLAB's pyramid, on photographs.

The pyramid is linear, so coefficient p of Laplacian level l is a weighted sum over all pixels q of
the remapped image; dense() takes the weights from sparse matrices, one row a coefficient. That
literal() and dense() are the same filter is the first check.
"""
import functools

import numpy as np
import scipy.sparse

import frames
import harness

KERNEL = (0.05, 0.25, 0.4, 0.25, 0.05)

# sigma, alpha, beta: the rows of the accuracy study that the engines have to pass.
DETAIL_ROWS = ((0.4, 0.5, 1.0), (0.2, 0.25, 1.0), (0.1, 0.25, 1.0), (0.35, 0.4, 5.0),
               (0.2, 0.5, 0.5))
SMOOTH_ROWS = ((0.2, 2.0, 1.0), (0.1, 1.0, 0.4))

WIDTH, HEIGHT = 97, 70


# The pyramid


def folded(index, size):
    """Half-sample symmetric: -1 reads 0, `size` reads size - 1."""
    index %= 2 * size
    return index if index < size else 2 * size - 1 - index


@functools.lru_cache(None)
def reduce_axis(size):
    matrix = scipy.sparse.lil_matrix(((size + 1) // 2, size))
    for coarse in range(matrix.shape[0]):
        for tap in range(5):
            matrix[coarse, folded(2 * coarse + tap - 2, size)] += KERNEL[tap]
    return matrix.tocsr()


@functools.lru_cache(None)
def expand_axis(size):
    """To `size` samples: zeros between the coarse ones, then the kernel with gain 2."""
    coarse_size = (size + 1) // 2
    matrix = scipy.sparse.lil_matrix((size, coarse_size))
    for fine in range(size):
        for tap in range(5):
            if (fine + tap) % 2 == 0:
                matrix[fine, folded((fine + tap - 2) // 2, coarse_size)] += 2 * KERNEL[tap]
    return matrix.tocsr()


@functools.lru_cache(None)
def operators(height, width, levels):
    """For each level but the last the rows of its Gaussian and Laplacian images, the expansion of
    the next level; of the last the Gaussian only. Images are flattened."""
    depth = int(np.floor(np.log2(min(width, height))))
    depth = min(depth, levels) if levels else depth
    gaussian = scipy.sparse.identity(width * height, format="csr")
    result = []
    for _ in range(depth):
        reduce = scipy.sparse.kron(reduce_axis(height), reduce_axis(width), "csr")
        expand = scipy.sparse.kron(expand_axis(height), expand_axis(width), "csr")
        smaller = reduce @ gaussian
        result.append((gaussian, (gaussian - expand @ smaller).tocsr(), expand))
        gaussian, height, width = smaller, (height + 1) // 2, (width + 1) // 2
    return result, gaussian


# The filter


def remap(d, sigma, alpha, beta, noise_floor=0.02):
    size = np.abs(d)
    detail = sigma * (size / sigma) ** alpha
    if alpha < 1 and noise_floor > 0:
        t = np.clip((size - noise_floor) / noise_floor, 0, 1)
        weight = t ** 2 * (t - 2) ** 2
        detail = weight * detail + (1 - weight) * size
    return np.sign(d) * np.where(size > sigma, beta * (size - sigma) + sigma, detail)


def dense(image, sigma, alpha, beta, levels=0, **more):
    """The exact filter of an image in 0..1."""
    steps, last = operators(*image.shape, levels)
    pixels = image.ravel()
    coefficients = []
    for gaussian, laplacian, _ in steps:
        rows = np.repeat(np.arange(laplacian.shape[0]), np.diff(laplacian.indptr))
        d = pixels[laplacian.indices] - (gaussian @ pixels)[rows]
        terms = laplacian.data * remap(d, sigma, alpha, beta, **more)
        coefficients.append(np.add.reduceat(terms, laplacian.indptr[:-1]))
    return collapsed(steps, coefficients, last @ pixels, image.shape)


def collapsed(steps, coefficients, output, shape):
    for (_, _, expand), coefficient in zip(reversed(steps), reversed(coefficients)):
        output = coefficient + expand @ output
    return output.reshape(shape)


def smoothstep(value, low, high):
    t = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def sizes(shape, level):
    return tuple(-(-size // 2 ** level) for size in shape)


def taps(plane, axis, weights, first, step):
    """Sums along an axis of samples from first + step i on; the border repeats."""
    size = plane.shape[axis]
    index = step * np.arange(-(-size // step))
    return sum(weight * np.take(plane, np.clip(index + first + k, 0, size - 1), axis)
               for k, weight in enumerate(weights))


def block_means(plane):
    """Of blocks of 4x4, from means over 2x2, and a little of the blocks beside them."""
    for axis in (0, 1):
        plane = taps(plane, axis, (1 / 2, 1 / 2), 0, 2)
        plane = taps(plane, axis, (1 / 2, 1 / 2), 0, 2)
        plane = taps(plane, axis, (1 / 16, 7 / 8, 1 / 16), -1, 1)
    return plane


def between_blocks(blocks, shape):
    """Linear between the middles of blocks, at the middle of each cell of 2x2."""
    for axis, size in enumerate(shape):
        place = np.clip((np.arange(size) // 2 + 0.5) / 2 - 0.5, 0, blocks.shape[axis] - 1)
        part = (place % 1).reshape([-1 if axis == a else 1 for a in (0, 1)])
        lower = place.astype(int)
        upper = np.minimum(lower + 1, blocks.shape[axis] - 1)
        blocks = (1 - part) * np.take(blocks, lower, axis) + part * np.take(blocks, upper, axis)
    return blocks


def noise_weights(plane, noise_floor):
    variance = np.maximum(block_means(plane ** 2) - block_means(plane) ** 2, 0)
    closed = 0.33 * noise_floor
    return between_blocks(smoothstep(np.sqrt(variance), closed, 2 * closed), plane.shape)


def sampled(image, count, sigma, alpha, beta, noise_floor=0.02):
    """Aubry et al. 2014 on a fixed grid of intensities: each coefficient is interpolated between
    the pyramids of the images remapped about the two nearest of them. What that adds to the three
    finest levels counts as far as the picture deviates there from its local mean."""
    steps, last = operators(*image.shape, 0)
    pixels = image.ravel()
    grid = np.arange(count) / (count - 1)
    remapped = [g + remap(pixels - g, sigma, alpha, beta, noise_floor) for g in grid]
    coefficients = []
    for level, (gaussian, laplacian, _) in enumerate(steps):
        position = np.clip(gaussian @ pixels, 0, 1) * (count - 1)
        lower = np.minimum(position.astype(int), count - 2)
        planes = np.stack([laplacian @ plane for plane in remapped])
        index = np.arange(len(lower))
        part = position - lower
        made = (1 - part) * planes[lower, index] + part * planes[lower + 1, index]
        if alpha < 1 and level < 3:
            here = (gaussian @ pixels).reshape(sizes(image.shape, level))
            own = laplacian @ pixels
            made = own + noise_weights(here, noise_floor).ravel() * (made - own)
        coefficients.append(made)
    return collapsed(steps, coefficients, last @ pixels, image.shape)


def literal(image, sigma, alpha, beta):
    """Algorithm 1 word for word: a remapped image and its pyramid for every coefficient."""
    def reduce(plane):
        return reduce_axis(plane.shape[0]) @ plane @ reduce_axis(plane.shape[1]).T

    def expand(plane, shape):
        return expand_axis(shape[0]) @ plane @ expand_axis(shape[1]).T

    gaussian = [image]
    for _ in range(int(np.floor(np.log2(min(image.shape))))):
        gaussian.append(reduce(gaussian[-1]))
    output = gaussian[-1]
    for level in range(len(gaussian) - 2, -1, -1):
        laplacian = np.empty_like(gaussian[level])
        for position in np.ndindex(laplacian.shape):
            g = gaussian[level][position]
            plane = g + remap(image - g, sigma, alpha, beta)
            for _ in range(level):
                plane = reduce(plane)
            laplacian[position] = (plane - expand(reduce(plane), plane.shape))[position]
        output = laplacian + expand(output, laplacian.shape)
    return output


# How luma and colour enter and leave


def bent(change, unit, room):
    """Where `unit` times the change would come near to `room` it becomes less."""
    with np.errstate(divide="ignore", invalid="ignore"):
        made = change / (1 + (np.abs(change) * unit / room) ** 4) ** 0.25
    return np.where(room > 0, made, 0)


def protected(before, after, ceiling):
    """Nothing comes more than 0.49 of the way to black or white; colours grow with luma."""
    change = after - before
    room = 0.49 * np.maximum(1 - ceiling, 0)
    up = bent(change, (ceiling + 1 / 255) / (before + 1 / 255), room)
    return before + np.where(change > 0, up, bent(change, 1, 0.49 * before))


def colour_above(away, shape, sub):
    """By how much the largest of red, green and blue exceeds luma, by BT.601."""
    blue, red = (np.kron(away[role], np.ones((1 << sub[1], 1 << sub[0])))[:shape[0], :shape[1]]
                 for role in "UV")
    red, blue = 2 * (1 - 0.299) * red, 2 * (1 - 0.114) * blue
    return np.maximum.reduce([red, blue, -(0.299 * red + 0.114 * blue) / 0.587])


def with_luminance(layout, components, settings):
    """Code values by role, before rounding: luma is filtered and colour follows its gain."""
    form = layout.format
    unit = 1 << (form.bits - 8)
    if form.is_rgb:
        channels = {role: components[role] / form.max_code for role in "RGB"}
        luma = (0.298936021293776 * channels["R"] + 0.587043074451121 * channels["G"] +
                0.114020904255103 * channels["B"])
    elif form.roles == ["Y"]:
        luma = components["Y"] / form.max_code
    else:
        luma = (components["Y"] - 16 * unit) / (219 * unit)
    clamped = np.clip(luma, 0, 1)
    filtered = dense(clamped, **settings)
    result = dict(components)
    if form.is_rgb:
        filtered = protected(clamped, filtered, np.maximum.reduce(list(channels.values())))
        follow = colour_follow(clamped, filtered)
        for role, channel in channels.items():
            result[role] = (channel + filtered - clamped +
                            follow * (channel - clamped)) * form.max_code
        return result
    if form.roles == ["Y"]:
        filtered = protected(clamped, filtered, clamped)
        result["Y"] = components["Y"] + (filtered - clamped) * form.max_code
        return result
    away = {role: (components[role] - 128 * unit) / (224 * unit) for role in "UV"}
    sub = form.subsampling("U")
    filtered = protected(clamped, filtered, clamped + colour_above(away, clamped.shape, sub))
    result["Y"] = components["Y"] + (filtered - clamped) * 219 * unit
    before = frames.subsampled(clamped, *sub)
    follow = colour_follow(before, frames.subsampled(filtered, *sub))
    most = 8 * (before + 1 / 255)
    farther = np.maximum(np.abs(away["U"]), np.abs(away["V"]))
    follow = np.where(follow > 0, bent(follow, np.minimum(farther, most),
                                       0.49 * np.maximum(0.5 - farther, 0)), follow)
    for role in "UV":
        result[role] = components[role] + 224 * unit * follow * np.clip(away[role], -most, most)
    return result


def colour_follow(before, after):
    """The gain of a rise less 1, less in the dark; of a fall that of colours that are scaled."""
    rise = np.clip((after + 1 / 255) / (before + 1 / 255), 1, 16) - 1
    fall = np.maximum((after - before) / np.maximum(before, 1 / 255), -1)
    return np.where(after > before, rise * smoothstep(before, 0, 0.25), fall)


# Checks


def psnr(output, wanted):
    error = np.mean((output - np.clip(wanted, 0, 1)) ** 2)
    return np.inf if error == 0 else -10 * np.log10(error)


def words(settings):
    return [f"{key.replace('_', '-')}={value}" for key, value in settings.items()]


def row_settings(row):
    return dict(zip(("sigma", "alpha", "beta"), row))


def filtered_gray(images, properties, backend="auto"):
    """Sends gray images in 0..1 through the element with 16 bits, which hide nothing above
    107 dB."""
    layout = frames.Layout("GRAY16_LE", images[0].shape[1], images[0].shape[0])
    data = [layout.pack({"Y": frames.rounded(image * 65535, 65535)}) for image in images]
    outputs = harness.filter_frames(layout, data,
                                    ["cudallf", f"backend={backend}", *properties])
    return [layout.unpack(output)["Y"] / 65535 for output in outputs]


def check_oracle(tap):
    image = frames.components_of(frames.shrunk(frames.photograph("coffee.png"), 17, 12),
                                 "GRAY16_LE")["Y"] / 65535
    for row in ((0.2, 0.25, 1.0), (0.35, 0.4, 5.0)):
        settings = row_settings(row)
        error = np.abs(literal(image, **settings) - dense(image, **settings)).max()
        tap.check(error < 1e-12, f"the oracle is Algorithm 1: {words(settings)}", f"off by {error}")


def check_accuracy(tap, images):
    """PSNR of every engine on every row; the worst photograph counts."""
    for row in DETAIL_ROWS + SMOOTH_ROWS:
        settings = row_settings(row)
        wanted = [dense(image, **settings) for image in images]
        fast_bound = 60 if row in SMOOTH_ROWS else 40
        for backend in harness.backends():
            engines = {"exact": 90}
            if backend != "reference":
                engines.update(fast=fast_bound)
            for engine, bound in engines.items():
                outputs = filtered_gray(
                    images, words(settings) + [f"engine={engine}", "protect=false"], backend)
                worst = min(psnr(output, target) for output, target in zip(outputs, wanted))
                tap.check(worst >= bound,
                          f"{engine} {' '.join(words(settings))}: at least {bound} dB, {backend}",
                          f"{worst:.1f} dB")


def check_sampled(tap, images):
    """Far nearer to its own definition than that is to the exact filter (30 to 50 dB)."""
    for count, row in ((33, (0.4, 0.5, 1.0)), (12, (0.2, 2.0, 1.0))):
        settings = row_settings(row)
        wanted = [sampled(image, count, **settings) for image in images]
        for backend in harness.backends()[1:]:
            outputs = filtered_gray(
                images, words(settings) + ["engine=sampled", f"intensity-levels={count}",
                                           "protect=false"], backend)
            worst = min(psnr(output, target) for output, target in zip(outputs, wanted))
            bound = 70 if backend == "cuda" else 90
            tap.check(worst >= bound,
                      f"sampled {' '.join(words(settings))}: at least {bound} dB from its "
                      f"definition, {backend}", f"{worst:.1f} dB")


def check_colour(tap, pictures):
    """Every kind of format against the oracle, in code values."""
    settings = {"sigma": 0.2, "alpha": 0.4, "beta": 0.8}
    for format_name in ("GRAY8", "I420", "NV12", "Y42B", "YUY2", "P010_10LE", "RGB", "BGRA",
                        "AYUV"):
        layout = frames.Layout(format_name, WIDTH, HEIGHT)
        alpha = np.linspace(0, 1, WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
        inputs = [frames.components_of(picture, format_name, alpha) for picture in pictures]
        wanted = [with_luminance(layout, components, settings) for components in inputs]
        data = [layout.pack(components) for components in inputs]
        for backend in harness.backends():
            outputs = harness.filter_frames(
                layout, data, ["cudallf", "engine=exact", f"backend={backend}", *words(settings)])
            worst = 0
            for output, target in zip(outputs, wanted):
                output = layout.unpack(output)
                for role in layout.format.roles:
                    error = output[role] - np.clip(target[role], 0, layout.format.max_code)
                    worst = max(worst, np.abs(error).max())
            bound = 0.5 + 1e-6 if backend == "reference" else 1.5
            tap.check(worst <= bound, f"exact: {format_name} {' '.join(words(settings))} {backend}",
                      f"off by {worst:.3f} code values, allowed are {bound}")


def check_identity(tap, pictures):
    """alpha = beta = 1 returns the input bit for bit; so does every property that then remains."""
    for format_name in frames.FORMATS:
        layout = frames.Layout(format_name, WIDTH, HEIGHT)
        data = [layout.pack(frames.components_of(picture, format_name)) for picture in pictures]
        for engine in ("fast", "exact", "sampled"):
            outputs = harness.filter_frames(
                layout, data, f"cudallf alpha=1 beta=1 sigma=0.1 engine={engine}")
            good = all(layout.same(output, frame) for output, frame in zip(outputs, data))
            tap.check(good, f"identity: {format_name} engine={engine}")


def check_strength(tap, pictures):
    """0 is the input, every bit; one half is half of the way."""
    layout = frames.Layout("NV12", WIDTH, HEIGHT)
    data = [layout.pack(frames.components_of(picture, "NV12")) for picture in pictures]
    outputs = {}
    for strength in (0, 0.5, 1):
        outputs[strength] = harness.filter_frames(layout, data, f"cudallf strength={strength}")
    tap.check(all(layout.same(output, frame) for output, frame in zip(outputs[0], data)),
              "strength=0 is the input")
    worst = 0
    for half, whole, frame in zip(outputs[0.5], outputs[1], data):
        half, whole, frame = (layout.unpack(one) for one in (half, whole, frame))
        for role in "YUV":
            middle = (whole[role].astype(float) + frame[role]) / 2
            worst = max(worst, np.abs(half[role] - middle).max())
    tap.check(worst <= 1, "strength=0.5 is half of it", f"off by {worst} code values")


def check_reach(tap, images):
    """A reach of all of the shorter side is full depth; one of four pixels changes no local means
    of 32 pixels, which full depth moves."""
    image = images[0]
    full, whole, short = (filtered_gray([image], [f"reach={reach}"])[0]
                          for reach in (0, 1, 4 / HEIGHT))
    tap.check(np.array_equal(full, whole), "reach=1 is full depth")
    moved = [np.abs(means(output - image)).max() * 255 for output in (full, short)]
    tap.check(moved[1] < 1 < moved[0], "a short reach leaves large areas as bright as they are",
              f"moves means by {moved[1]:.2f} codes, full depth by {moved[0]:.2f}")


def means(image):
    rows, columns = image.shape[0] // 32, image.shape[1] // 32
    return image[:32 * rows, :32 * columns].reshape(rows, 32, columns, 32).mean((1, 3))


def check_noise(tap):
    """Sensor noise on flat grey, 8 bits, stays what it is; larger noise is raised as by the dense
    filter."""
    random = np.random.default_rng(5)
    layout = frames.Layout("GRAY8", 160, 160)
    for codes, low, high in ((1, 0.95, 1.1), (2, 0.95, 1.35), (4, 1.45, 1.95)):
        noise = frames.rounded(128 + random.normal(0, codes, (160, 160)), 255)
        for backend in harness.backends()[1:]:
            for engine in ("fast", "sampled"):
                output, = harness.filter_frames(layout, [layout.pack({"Y": noise})],
                                                f"cudallf engine={engine} backend={backend}")
                gain = layout.unpack(output)["Y"].std() / noise.std()
                tap.check(low <= gain <= high, f"noise of {codes} codes: {engine}, {backend}",
                          f"{gain:.2f} times, allowed are {low} to {high}")


def check_ends(tap, pictures):
    """Photographs stretched so that much lies next to black and white: nothing new clips, and luma
    stays in its nominal range."""
    for format_name, low, high in (("GRAY8", 0, 255), ("I420", 16, 235), ("P010_10LE", 64, 940)):
        layout = frames.Layout(format_name, WIDTH, HEIGHT)
        inputs = [frames.components_of(np.clip(1.2 * picture - 0.1 * picture.max(), 0,
                                               picture.max()).astype(picture.dtype), format_name)
                  for picture in pictures]
        data = [layout.pack(components) for components in inputs]
        for backend in harness.backends()[1:]:
            clipped = 0
            outputs = harness.filter_frames(layout, data, f"cudallf backend={backend} alpha=0.3")
            for output, frame in zip(outputs, data):
                after, before = layout.unpack(output)["Y"], layout.unpack(frame)["Y"]
                clipped += np.sum((after >= high) & (before < high))
                clipped += np.sum((after <= low) & (before > low))
            tap.check(clipped == 0, f"nothing new clips: {format_name}, {backend}",
                      f"{clipped} samples")


def check_still(tap, pictures):
    """Nothing flickers: the same picture gives the same samples whatever came before it."""
    layout = frames.Layout("NV12", WIDTH, HEIGHT)
    data = [layout.pack(frames.components_of(picture, "NV12")) for picture in pictures]
    for backend in harness.backends()[1:]:
        outputs = harness.filter_frames(layout, data + data[::-1],
                                        f"cudallf alpha=0.3 backend={backend}")
        good = all(layout.same(output, again) for output, again in zip(outputs, outputs[::-1]))
        tap.check(good, f"the same picture, the same samples: {backend}")


def check_formats_agree(tap, pictures):
    """One picture as NV12 and as RGBA: the same luma, but for what 8-bit YUV rounds away before
    the filter and again after it."""
    nv12, rgba = frames.Layout("NV12", WIDTH, HEIGHT), frames.Layout("RGBA", WIDTH, HEIGHT)
    for settings in ({"sigma": 0.2, "alpha": 0.5}, {"sigma": 0.2, "alpha": 2}, {"beta": 0.5}):
        for backend in harness.backends()[1:]:
            outputs = {}
            for layout in (nv12, rgba):
                data = [layout.pack(frames.components_of(picture, layout.format.name))
                        for picture in pictures]
                outputs[layout] = harness.filter_frames(
                    layout, data, ["cudallf", f"backend={backend}", *words(settings)])
            worst = np.inf
            for yuv, rgb in zip(outputs[nv12], outputs[rgba]):
                yuv, rgb = nv12.unpack(yuv), rgba.unpack(rgb)
                luma = (yuv["Y"] - 16) / 219
                picture = np.stack([rgb[role] / 255 for role in "RGB"], -1)
                worst = min(worst, psnr(luma, picture @ (0.299, 0.587, 0.114)))
            tap.check(worst >= 40, f"NV12 and RGBA agree: {' '.join(words(settings))} {backend}",
                      f"{worst:.1f} dB")


def run(tap):
    pictures = [frames.shrunk(frames.photograph(name), WIDTH, HEIGHT)
                for name in frames.PHOTOGRAPHS]
    images = [frames.components_of(picture, "GRAY16_LE")["Y"] / 65535 for picture in pictures]

    check_oracle(tap)
    check_accuracy(tap, images)
    check_sampled(tap, images)
    check_colour(tap, pictures[:3])
    check_identity(tap, pictures[:2])
    check_strength(tap, pictures)
    check_reach(tap, images)
    check_noise(tap)
    check_ends(tap, pictures)
    check_still(tap, pictures)
    check_formats_agree(tap, pictures)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
