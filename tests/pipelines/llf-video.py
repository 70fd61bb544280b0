#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudallf on moving pictures and across formats: what would show as pulsing, flicker or a change of
colour.

Means and gains are measured in 16-bit gray, where rounding hides nothing.
"""
import numpy as np

import frames
import harness

WIDTH, HEIGHT = 128, 96
CODE = 1 / 255

# sigma, alpha, beta
SETTINGS = ((0.2, 0.5, 1.0), (0.2, 2.0, 1.0), (0.1, 0.8, 0.4))


def words(settings):
    return [f"{name}={value}" for name, value in zip(("sigma", "alpha", "beta"), settings)]


def filtered(images, elements):
    layout = frames.Layout("GRAY16_LE", images[0].shape[1], images[0].shape[0])
    data = [layout.pack({"Y": frames.rounded(image * 65535, 65535)}) for image in images]
    outputs = harness.filter_frames(layout, data, elements)
    return [layout.unpack(output)["Y"] / 65535 for output in outputs]


def texture():
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.sin(2 * np.pi * x / 8) * np.sin(2 * np.pi * y / 8)


def ripple(outputs):
    """By how much the strongest texture of a clip exceeds the weakest."""
    contrast = [output[16:-16, 16:-16].std() for output in outputs]
    return max(contrast) / min(contrast) - 1


def check_fade(tap):
    """A fade from 0.25 to 0.75 keeps the contrast of a texture, since the series of `fast` does not
    depend on brightness. Sampled intensities do: that the measure finds their ripple shows that it
    can fail."""
    clip = [mean + 0.03 * texture() for mean in np.linspace(0.25, 0.75, 41)]
    for backend in harness.backends()[1:]:
        for settings in SETTINGS:
            value = ripple(filtered(clip, ["cudallf", f"backend={backend}", *words(settings)]))
            tap.check(value <= 0.01, f"a fade keeps texture: {' '.join(words(settings))} {backend}",
                      f"contrast changes by {value:.2%}")
        value = ripple(filtered(clip, ["cudallf", f"backend={backend}", "engine=sampled",
                                       "intensity-levels=8", *words(SETTINGS[0])]))
        tap.check(value >= 0.05, f"the measure sees the ripple of 8 samples: {backend}",
                  f"contrast changes by {value:.2%}")


def check_bright_object(tap):
    """White enters at one corner of a still photograph, and the farther quadrant stays. Where tones
    are compressed it belongs to the effect that much light anywhere darkens everything a little, so
    there only detail is asked for."""
    photograph = frames.shrunk(frames.photograph("coffee.png"), 384, 256)
    image = frames.components_of(photograph, "GRAY16_LE")["Y"] / 65535
    clip = [image.copy() for _ in range(4)]
    for number, frame in enumerate(clip):
        frame[:3 * number, :3 * number] = 1
    for backend in harness.backends()[1:]:
        for settings in SETTINGS[:2]:
            for engine in ("fast", "sampled"):
                outputs = filtered(clip, ["cudallf", f"backend={backend}", f"engine={engine}",
                                          *words(settings)])
                change = max(np.abs(output - outputs[0])[128:, 192:].max() for output in outputs)
                tap.check(change < 0.1 * CODE,
                          f"a bright object changes nothing far away: {engine} "
                          f"{' '.join(words(settings))} {backend}",
                          f"{change / CODE:.3f} code values")


def nv12_of(picture):
    """Limited range BT.601, chroma the mean of its four pixels; code values before rounding."""
    luma = picture @ (0.299, 0.587, 0.114)
    mean = picture.reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean((1, 3))
    mean_luma = mean @ (0.299, 0.587, 0.114)
    return {"Y": 16 + 219 * luma, "U": 128 + 224 * (mean[..., 2] - mean_luma) / 1.772,
            "V": 128 + 224 * (mean[..., 0] - mean_luma) / 1.402}


def check_formats_agree(tap):
    """One picture as RGBA and, converted with nothing but rounding, as NV12: patches of colour,
    since in smooth shapes the filter raises what rounding did, 3.2 times at a difference of 0.02.
    No component of the result reaches 0 or 1, where RGB would be cut and YUV would not."""
    random = np.random.default_rng(4)
    patches = random.choice(np.arange(0.3, 0.65, 0.05), (HEIGHT // 16, WIDTH // 16, 1))
    tints = random.uniform(-0.06, 0.06, (HEIGHT // 16, WIDTH // 16, 3))
    picture = np.kron(patches + tints, np.ones((16, 16, 1)))
    nv12, rgba = frames.Layout("NV12", WIDTH, HEIGHT), frames.Layout("RGBA", WIDTH, HEIGHT)
    rgb_codes = {role: frames.rounded(picture[..., c] * 255, 255) for c, role in enumerate("RGB")}
    rgb_codes["A"] = np.full((HEIGHT, WIDTH), 255)
    yuv_codes = {role: frames.rounded(codes, 255) for role, codes in nv12_of(picture).items()}
    for backend in harness.backends()[1:]:
        for settings in SETTINGS:
            elements = ["cudallf", f"backend={backend}", *words(settings)]
            yuv = nv12.unpack(harness.filter_frames(nv12, [nv12.pack(yuv_codes)], elements)[0])
            rgb = rgba.unpack(harness.filter_frames(rgba, [rgba.pack(rgb_codes)], elements)[0])
            converted = nv12_of(np.stack([rgb[role] / 255 for role in "RGB"], -1))
            worst = max(np.abs(yuv[role] - converted[role]).max() for role in "YUV")
            tap.check(worst <= 2, f"NV12 and RGBA agree: {' '.join(words(settings))} {backend}",
                      f"off by {worst:.2f} code values")


def run(tap):
    check_fade(tap)
    check_bright_object(tap)
    check_formats_agree(tap)
    harness.skip_missing_backends(tap)


if __name__ == "__main__":
    harness.main(run)
