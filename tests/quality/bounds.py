# SPDX-License-Identifier: LGPL-2.1-or-later
"""What cudallf promises about pictures, and what is measured of it: a generator of bounds."""
import dataclasses

import numpy as np

import clips
import frames
import harness
import measures
import methods

FLOORS = 0.01, 0.02, 0.04
DEVIATIONS = 0.5, 1.0, 2.0, 4.0  # codes of 8 bits
ABOVE, BELOW = 0.15, 0.25  # what the gain of noise may be beside the dense filter's
NEWLY_CLIPPED = 0.2  # percent
DETAIL, DETAIL_NOISE, DETAIL_OVERSHOOT = 1.29, 1.45, 4.0
QUIET = methods.preset("cudallf", "quiet-detail", "sigma", "noise-floor", "reach")
FLICKER = 0.5  # codes: less than rounding itself may do
FLAT_SIDE = 160
COLOURFUL = "coffee.png"
REDDISH = "retina.jpg"


@dataclasses.dataclass(frozen=True)
class Bound:
    what: str
    measured: str
    allowed: str
    held: bool


def filtered(layout, planes, words, **more):
    """Frames of a layout, given by their components, through cudallf on the CPU."""
    outputs = harness.filter_frames(layout, [layout.pack(plane) for plane in planes],
                                    f"cudallf backend=cpu {words}".split(), **more)
    return [layout.unpack(output) for output in outputs]


def noise_gains(format_name, floor, engine):
    """Of flat grey, for each of DEVIATIONS. Of 16 bits noise is not rounded to be seen."""
    layout = frames.Layout(format_name, FLAT_SIDE, FLAT_SIDE)
    unit = layout.format.max_code / 255
    random = np.random.default_rng(5)
    walls = [np.rint(unit * (clips.GREY + random.normal(0, deviation, (FLAT_SIDE,) * 2)))
             for deviation in DEVIATIONS]
    results = filtered(layout, [{"Y": wall} for wall in walls],
                       f"sigma=0.2 alpha=0.5 noise-floor={floor} engine={engine}")
    return [measures.deviation(result["Y"]) / measures.deviation(wall)
            for wall, result in zip(walls, results)]


def noise_floor():
    for engine, format_name, bits in (("fast", "GRAY16_LE", 16), ("fast", "GRAY8", 8),
                                      ("sampled", "GRAY16_LE", 16)):
        for floor in FLOORS:
            gains = noise_gains(format_name, floor, engine)
            dense = noise_gains(format_name, floor, "exact")
            held = [-BELOW <= gain - right <= ABOVE for gain, right in zip(gains, dense)]
            yield Bound(f"gain of noise of {', '.join(f'{d:g}' for d in DEVIATIONS)} codes, "
                        f"`engine={engine} noise-floor={floor}`, {bits} bits",
                        ", ".join(f"{gain:.2f}" for gain in gains),
                        ", ".join(f"{right - BELOW:.2f}..{right + ABOVE:.2f}" for right in dense),
                        all(held))


def clipping():
    shown = {"sky": [clips.sky()]}
    share = measures.clipped(shown, methods.applied(methods.element("cudallf"), shown))
    yield Bound("a bright sky: pixels newly black or white", f"{share:.2f} %",
                f"below {NEWLY_CLIPPED} %", share < NEWLY_CLIPPED)
    before = clips.codes(clips.cut(COLOURFUL, 100, 60))
    after = methods.applied(methods.element("cudallf"), {"": [before]})[""][0]
    new = ((after == 0) | (after == 255)) & (before != 0) & (before != 255)
    from_next = new & ((before == 1) | (before == 254))
    for what, pixels in (("the next", from_next), ("any other", new & ~from_next)):
        share = 100 * float(pixels.any(-1).mean())
        yield Bound(f"saturated colours: pixels with a component that becomes 0 or 255 from {what} "
                    "code", f"{share:.2f} %", f"below {NEWLY_CLIPPED} %", share < NEWLY_CLIPPED)


def beyond_rgb(planes):
    """Percent of the pixels of I420 by BT.601 that have red, green or blue well beyond 255."""
    luma = (planes["Y"] - 16) / 219
    blue, red = (np.kron(planes[role] - 128, np.ones((2, 2))) / 224 for role in "UV")
    red, blue = luma + 1.402 * red, luma + 1.772 * blue
    green = (luma - 0.299 * red - 0.114 * blue) / 0.587
    return 100 * float((np.maximum.reduce([red, green, blue]) > 1.01).mean())


def video_colours():
    photograph = clips.cut(REDDISH, 100, 100, 0.45) / 255
    planes = frames.components_of(photograph, "I420")
    layout = frames.Layout("I420", clips.WIDTH, clips.HEIGHT)
    results = filtered(layout, [planes], "", colorimetry="bt601")
    before, after = beyond_rgb(planes), beyond_rgb(results[0])
    yield Bound("a retina in I420: pixels that RGB cannot show", f"{after:.2f} %",
                f"at most {NEWLY_CLIPPED} % above the input's {before:.2f} %",
                after <= before + NEWLY_CLIPPED)


def outside_nominal(format_name, allowed):
    """The sky as limited-range video with sensor noise: samples of luma outside of `allowed`,
    before and after."""
    layout = frames.Layout(format_name, clips.WIDTH, clips.HEIGHT)
    unit = (layout.format.max_code + 1) // 256
    luma = clips.luma(clips.sky()) * 219 / 255 + 16 + clips.noise(3, 0.5)[..., 0]
    neutral = np.full((clips.HEIGHT // 2, clips.WIDTH // 2), 128 * unit)
    before = np.clip(np.rint(unit * luma), 1 * unit, 254 * unit)
    after = filtered(layout, [{"Y": before, "U": neutral, "V": neutral}], "",
                     colorimetry="bt601")[0]["Y"]
    return [int(((plane < allowed[0]) | (plane > allowed[1])).sum()) for plane in (before, after)]


def video_range():
    for what, format_name, allowed in (
            ("luma above 235", "I420", (0, 235)), ("luma below 16", "I420", (16, 255)),
            ("luma above 940", "I420_10LE", (0, 940)),
            ("luma in reserved codes", "I420_10LE", (4, 1019))):
        before, after = outside_nominal(format_name, allowed)
        yield Bound(f"a bright sky in {format_name.replace('_10LE', ' 10-bit')}: {what}",
                    f"{after} samples", f"at most the input's {before}", after <= before)


def detail_and_noise(shown, words="", noisy="grey"):
    """`shown` are the clips, `words` settings besides alpha; the noise is on grey or on fur."""
    def method(less):
        return methods.element(f"cudallf alpha={1 - less:.4f} {words}")

    only = {"fur": shown["fur"]}
    less = methods.with_gain(
        method, lambda made: measures.texture(only, methods.applied(made, only)), DETAIL, 0.3, 0.7)
    some = {name: shown[name] for name in ("flat", "step", "fur", "fur with noise")}
    results = methods.applied(method(less), some)
    added = measures.flat_noise if noisy == "grey" else measures.textured_noise
    gain, noise, edge = (measure(some, results)
                         for measure in (measures.texture, added, measures.overshoot))
    where = f"detail of {DETAIL} times (`{f'{words} alpha={1 - less:.2f}'.lstrip()}`)"
    yield Bound(f"{where}: the detail", f"{gain:.2f}", f"{DETAIL} +- 0.01",
                abs(gain - DETAIL) <= 0.01)
    yield Bound(f"{where}: gain of noise of {clips.NOISE:g} codes on {noisy}", f"{noise:.2f}",
                f"at most {DETAIL_NOISE}", noise <= DETAIL_NOISE)
    yield Bound(f"{where}: overshoot at a step of 80 codes", f"{edge:.1f} codes",
                f"at most {DETAIL_OVERSHOOT:g}", edge <= DETAIL_OVERSHOOT)


def steadiness(shown):
    source = {"entering": shown["entering"]}
    backwards = {"entering": shown["entering"][::-1]}
    method = methods.element("cudallf")
    results, returned = (methods.applied(method, clip) for clip in (source, backwards))
    differ = sum(bool((a != b).any()) for a, b in zip(results["entering"],
                                                      returned["entering"][::-1]))
    yield Bound("something bright enters, and leaves again: frames that are not the same",
                str(differ), "none", differ == 0)
    wobble = measures.flicker(source, results)
    yield Bound("something bright enters: flicker of distant local means", f"{wobble:.2f} codes",
                f"below {FLICKER}", wobble < FLICKER)


def bounds(shown):
    yield from noise_floor()
    yield from clipping()
    yield from video_colours()
    yield from video_range()
    yield from detail_and_noise(shown)
    yield from detail_and_noise(shown, QUIET, "fur")
    yield from steadiness(shown)
