#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a colourist would see of cudatonemap, on HDR clips made from panoramas, beside what people
use today.

    hdr.py            checks what is promised, on synthetic pictures and one clip, in TAP
    hdr.py --write    writes the table and pictures of docs/reference/quality-hdr.md anew

Needs the plugin (GST_PLUGIN_PATH), Debian's ffmpeg, blender-data and python3-opencv; libplacebo
needs Vulkan, and its contrast recovery an FFmpeg from 6.1 on: HDR_FFMPEG is the command to run.
"""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "pipelines"), str(ROOT / "tools")]

import numpy as np

import harness
import hdr_clips
import hdr_measures as measures
import hdr_methods as methods
import hdr_synthetic as synthetic
import photographs
import tmqi

PAGE = ROOT / "docs" / "reference" / "quality-hdr.md"
IMAGES = ROOT / "docs" / "images"
PICTURED = ("courtyard PQ 4000", "interior PQ 4000", "sunset PQ 4000")

OVERSHOOT = 2        # codes, at an edge between 10 and 1000 nits
FLICKER = 1.5        # codes of a local mean, the worst thousandth; as 4:2:0 itself makes
HUE = 3.5            # degrees in ICtCp, the mean
SATURATED = 1.0, 3.0 # degrees in Oklab: the mean, and all but a twentieth
COLOURED = "coffee.png"

COLUMNS = (
    ("TMQI", lambda scene, frames: measures.qualities(scene, frames)[0], "{:.3f}"),
    ("structure", lambda scene, frames: measures.qualities(scene, frames)[1], "{:.3f}"),
    ("naturalness", lambda scene, frames: measures.qualities(scene, frames)[2], "{:.3f}"),
    ("flicker", measures.flicker, "{:.2f}"),
    ("drift", measures.drift, "{:.2f}"),
    ("hue", measures.hue, "{:.1f}"),
    ("white, %", measures.clipped, "{:.2f}"),
)


# --- the page ---


def rows():
    """(name, method) of the page's table."""
    yield "`cudatonemap`, nothing set", methods.element()
    yield "`sigma=2`", methods.element("cudatonemap sigma=2")
    yield "`detail=1.3 sigma=2`", methods.element("cudatonemap detail=1.3 sigma=2")
    yield "`sigma=0.25`, nearly no local part", methods.element("cudatonemap sigma=0.25")
    yield from methods.peers()


def table(paths, pictures):
    yield f"|  | {' | '.join(head for head, _, _ in COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for name, method in rows():
        shown = {}
        for scene, path in paths.items():
            shown[scene], reason = methods.steady(method, path)
            if reason:
                sys.exit(f"{name}: {reason}; the page has all methods or stays as it is")
        pictures[name] = {scene.name: shown[scene][0] for scene in paths}
        cells = [form.format(np.mean([measure(scene, frames) for scene, frames in shown.items()]))
                 for _, measure, form in COLUMNS]
        yield f"| {name} | {' | '.join(cells)} |"


def draw(pictures):
    import PIL.Image

    found = (next((name for name in pictures if mark in name), None)
             for mark in ("nothing set", "bt.2390", "mobius"))
    names = [name for name in found if name]
    for scene in PICTURED:
        strip = np.hstack([pictures[name][scene] for name in names])
        image = PIL.Image.fromarray(np.rint(255 * strip).astype(np.uint8))
        image = image.resize((480 * len(names), 270), PIL.Image.Resampling.LANCZOS)
        image.save(IMAGES / f"hdr-{scene.split()[0]}.jpg", quality=85)


def write_table(name, scenes):
    """Returns the first frames, by method and scene."""
    begin, end = f"<!-- hdr.py: {name} -->", f"<!-- end of {name} -->"
    pictures, lines = {}, []
    with tempfile.TemporaryDirectory() as directory:
        paths = {scene: str(pathlib.Path(directory, f"{number}.mkv"))
                 for number, scene in enumerate(scenes)}
        for scene, path in paths.items():
            hdr_clips.write(scene, path)
        for line in table(paths, pictures):
            print(line, flush=True)
            lines.append(line)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    PAGE.write_text("\n".join([before + begin, "", *lines, "", end + rest.split(end)[1]]),
                    encoding="utf-8")
    return pictures


def write():
    write_table("unseen", hdr_clips.UNSEEN)
    draw(write_table("table", hdr_clips.SCENES))


# --- the checks ---


def check_tmqi(tap):
    """The measure itself, by what its paper says of it."""
    random = np.random.default_rng(1)
    plane = random.normal(tmqi.BRIGHTNESS, 17.57, (330, 330))
    natural = tmqi.naturalness(plane)
    tap.check(natural > 0.99, "TMQI: the brightness and contrast that are most likely have N = 1",
              f"{natural}")
    less = [tmqi.naturalness(plane + 30), tmqi.naturalness(0.5 * (plane - 116) + 116)]
    tap.check(max(less) < 0.65, "TMQI: brighter and flatter pictures are less natural", f"{less}")
    photograph = photographs.photograph("camera.png")[..., 1].astype(float)
    same = tmqi.structure(photograph, photograph)
    worse = tmqi.structure(photograph, 128 + 0.02 * photograph)
    reversed_ = tmqi.structure(photograph, 255 - photograph)
    tap.check(same > worse > reversed_, "TMQI: structure is lost by flattening, more by reversing",
              f"{same}, {worse}, {reversed_}")


def check_transfer(tap):
    """The clips' own arithmetic, against an independent one."""
    try:
        import colour.models as oracle
    except ImportError:
        tap.skip("PQ and HLG of the clips", "the Python module colour (colour-science) is missing")
        return
    nits = np.geomspace(1e-4, 10000, 500)
    error = np.abs(hdr_clips.pq(nits) - oracle.eotf_inverse_ST2084(nits)).max()
    tap.check(error < 1e-6, "PQ of the clips is colour-science's", f"{error}")
    light = np.repeat(np.geomspace(1e-3, 1000, 500)[:, None], 3, 1)
    error = np.abs(hdr_clips.hlg(light)
                   - oracle.eotf_inverse_BT2100_HLG(light, L_B=0, L_W=1000)).max()
    tap.check(error < 1e-6, "HLG of the clips is colour-science's", f"{error}")


def check_edges(tap):
    for peak in (1000, 4000):
        blurs = (0, 1, 4)
        results = synthetic.tonemapped([synthetic.edge(10, 1000, blur) for blur in blurs],
                                       f"peak={peak}")
        codes = [int(synthetic.overshoot(result)) for result in results]
        tap.check(max(codes) < OVERSHOOT, f"an edge between 10 and 1000 nits, peak {peak}: no halo",
                  f"overshoot of {codes} codes where the edge is blurred by {blurs} pixels")


def check_greys(tap):
    levels = np.geomspace(0.05, 4000, 64)
    results = synthetic.tonemapped([synthetic.grey(np.full((32, 64), level)) for level in levels],
                                   "peak=4000")
    codes = np.array([result[16, 32] for result in results])
    tap.check(all((result == result[:1, :1]).all() and len(set(result[0, 0])) == 1
                  for result in results), "grey stays grey, flat stays flat")
    tap.check((np.diff(codes[:, 1]) >= 0).all() and codes[-1, 1] == 255,
              "brighter stays brighter, and the peak is white", f"{codes[:, 1]}")


def check_hues(tap):
    nits = synthetic.saturated()
    turned = synthetic.turned(nits, synthetic.tonemapped([nits], "peak=1000")[0])
    found = turned.mean(), np.percentile(turned, 95)
    tap.check(all(a < b for a, b in zip(found, SATURATED)),
              "saturated colours keep their hue as they turn pale",
              f"they turn by {found[0]:.2f} degrees in Oklab, a twentieth by {found[1]:.2f}")


def check_sdr(tap):
    picture = photographs.photograph(COLOURED).astype(float)
    result = synthetic.tonemapped([synthetic.sdr_as_hdr(picture)], "peak=203")[0]
    worst = int(np.abs(result - picture).max())
    tap.check(worst <= 1, "SDR that was graded as HDR comes back within 1 code", f"{worst} codes")


def check_clip(tap):
    """One clip, beside every peer that is here."""
    reason = hdr_clips.missing()
    if reason or not methods.has("zscale"):
        tap.skip("an HDR10 clip", reason or "ffmpeg has no filter zscale")
        return
    scene = hdr_clips.SCENES[1]
    with tempfile.TemporaryDirectory() as directory:
        path = str(pathlib.Path(directory, "clip.mkv"))
        hdr_clips.write(scene, path)
        frames = methods.element()(path)
        ours = measures.qualities(scene, frames)[0]
        flicker, hue = measures.flicker(scene, frames), measures.hue(scene, frames)
        for name, method in methods.peers():
            others, reason = methods.steady(method, path)
            if reason:
                tap.skip(f"TMQI beside {name}", reason)
                continue
            theirs = measures.qualities(scene, others)[0]
            tap.check(ours >= theirs, f"TMQI on {scene.name} is at least that of {name}",
                      f"{ours:.4f} and {theirs:.4f}")
    tap.check(flicker < FLICKER, "local means do not flicker in a pan", f"{flicker} codes")
    tap.check(hue < HUE, "hues stay what they are", f"they turn by {hue} degrees")


def check(tap):
    check_tmqi(tap)
    check_transfer(tap)
    check_edges(tap)
    check_greys(tap)
    check_hues(tap)
    check_sdr(tap)
    check_clip(tap)


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        harness.main(check)
