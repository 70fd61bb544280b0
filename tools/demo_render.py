#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the pictures and clips of tools/demo, with the plugin in GST_PLUGIN_PATH."""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import PIL.Image
import PIL.ImageOps

from photographs import photograph

WIDTH, HEIGHT, FRAMES_PER_SECOND = 1280, 720, 25
SECONDS = 8
GAP = 8  # pixels between before and after
CLIP = ("astronaut.png", "coffee.png", "chelsea.png", "rocket.jpg")


@dataclasses.dataclass(frozen=True)
class Show:
    element: str
    settings: str
    picture: str  # file name of the still
    says: str
    hdr: bool = False


SHOWS = (
    Show("cudallf", "sigma=0.2 alpha=0.3 noise-floor=0.03", "chelsea.png",
         "more detail without halos"),
    Show("cudagaussblur", "sigma=6", "rocket.jpg", "a Gaussian blur"),
    Show("cudablockavg", "block-width=16 block-height=16", "astronaut.png", "a mosaic"),
    Show("cudasepconv", "row-kernel=<-1,0,1> column-kernel=<1,2,1> bias=0.5 scale=0.75",
         "coffee.png", "a relief, as one example of a separable kernel"),
    Show("cudatonemap", "", "coffee.png", "HDR, under a lamp, as SDR", hdr=True),
)

# Encoders in order of preference, and a note for those that are not H.264.
ENCODERS = (
    ("x264enc", "x264enc speed-preset=veryfast pass=qual quantizer=23 bitrate=20000", ""),
    ("openh264enc", "openh264enc bitrate=12000000", ""),
    ("avenc_mpeg4", "avenc_mpeg4 bitrate=16000000",
     "there is no H.264 encoder here: MPEG-4 part 2"),
)


def exists(element):
    return subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def choose_encoder():
    for element, description, note in ENCODERS:
        if exists(element):
            if note:
                print(f"Note: {note}")
            return description
    sys.exit("No video encoder found: install gstreamer1.0-plugins-ugly (x264enc)")


def active_backend(output):
    """The last value of a property in the output of `gst-launch-1.0 -v`, before it stopped."""
    values = re.findall(r"active-backend = \"?(\w+)", output)
    return next((value for value in reversed(values) if value != "none"), "none")


def fail(words, output):
    sys.exit(f"This pipeline failed:\n{' '.join(words)}\n{output}")


# The still


def side_by_side(before, after):
    gap = np.full((before.shape[0], GAP, 3), 255, np.uint8)
    return np.concatenate([before, gap, after], 1)


def make_still(show, before, directory):
    """Filters the photograph `before`, as SDR or HDR; returns both pictures and the backend."""
    with tempfile.TemporaryDirectory() as scratch:
        source, result = f"{scratch}/before", f"{scratch}/after.png"
        if show.hdr:
            before = before[:before.shape[0] & ~1, :before.shape[1] & ~1]
            planes = luma_and_chroma(before, HDR)
            pathlib.Path(source).write_bytes(b"".join(
                np.rint(plane).astype("<u2").tobytes() for plane in planes))
            start = raw_source(HDR, before.shape[1], before.shape[0])
            before = np.rint(255 * hdr_signal(before)).astype(np.uint8)
        else:
            PIL.Image.fromarray(before).save(source, "PNG")
            start = "pngdec ! videoconvert ! video/x-raw,format=RGB"
        words = ["gst-launch-1.0", "-v", "filesrc", f"location={source}", "!", *start.split(), "!",
                 show.element, *show.settings.split(), "!", "videoconvert", "!", "pngenc", "!",
                 "filesink", f"location={result}"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            fail(words, done.stdout)
        after = np.asarray(PIL.Image.open(result).convert("RGB"))
    PIL.Image.fromarray(side_by_side(before, after)).save(directory / f"{show.element}.png")
    return before, after, active_backend(done.stdout)


# Raw video


@dataclasses.dataclass(frozen=True)
class Form:
    """A 4:2:0 format, limited range."""
    format: str
    colorimetry: str
    unit: int  # codes per 8-bit code
    red: float  # weight of red in luma
    blue: float


SDR = Form("I420", "bt709", 1, 0.2126, 0.0722)
HDR = Form("I420_10LE", "bt2100-pq", 4, 0.2627, 0.0593)
TO_2020 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])


def raw_source(form, width, height):
    return (f"typefind force-caps=video/x-raw,format={form.format},width={width},height={height},"
            f"framerate={FRAMES_PER_SECOND}/1,colorimetry={form.colorimetry} ! queue ! "
            "rawvideoparse use-sink-caps=true")


def hdr_signal(picture):
    """R'G'B', 0..1, in PQ: the picture at 40 nits at most, with a lamp of 1300 nits."""
    rows, columns = (np.linspace(-1, 1, count) for count in picture.shape[:2])
    lamp = np.exp(-4 * ((rows[:, None] + 0.3) ** 2 + (columns - 0.3) ** 2))
    light = (picture / 255) ** 2.4 @ TO_2020.T * (40 * 2 ** (5 * lamp))[..., None]
    power = (light / 10000) ** 0.1593
    return ((0.8359 + 18.8516 * power) / (1 + 18.6875 * power)) ** 78.8438


def luma_and_chroma(picture, form):
    """Y, U and V planes."""
    signal = hdr_signal(picture) if form is HDR else picture / 255
    red, green, blue = np.moveaxis(signal.astype(np.float32), 2, 0)
    luma = form.red * red + (1 - form.red - form.blue) * green + form.blue * blue

    def halved(plane):
        rows, columns = plane.shape[0] & ~1, plane.shape[1] & ~1
        return plane[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2).mean((1, 3))

    return [form.unit * plane for plane in (
        16 + 219 * luma, 128 + 224 * halved((blue - luma) / (2 - 2 * form.blue)),
        128 + 224 * halved((red - luma) / (2 - 2 * form.red)))]


# The clip


def enlarged(picture):
    """A photograph, a quarter larger than the frame, to pan over."""
    scale = 1.25 * max(WIDTH / picture.shape[1], HEIGHT / picture.shape[0])
    size = [2 * round(length * scale / 2) for length in (picture.shape[1], picture.shape[0])]
    return np.asarray(PIL.Image.fromarray(picture).resize(size, PIL.Image.Resampling.LANCZOS))


class Noise:
    """Sensor noise, as strong in luma as a camera's indoors and new in every frame: one large
    field, of which every frame takes another part."""

    def __init__(self):
        self.random = np.random.default_rng(1)
        self.field = self.random.normal(0, 2.5, (HEIGHT + 512, WIDTH + 512)).astype(np.float32)

    def add(self, plane, form):
        top, left = self.random.integers(0, 512, 2)
        noise = self.field[top:top + plane.shape[0], left:left + plane.shape[1]]
        codes = np.clip(plane + form.unit * noise + 0.5, 0, 256 * form.unit - 1)
        return codes.astype("<u2" if form is HDR else "u1")


def clip_frames(photographs, count, form):
    """Raw frames: a pan over each photograph in turn, to and fro."""
    noise = Noise()
    per_picture = -(-count // len(photographs))
    planes = None
    for index in range(count):
        picture, step = divmod(index, per_picture)
        if step == 0:
            planes = luma_and_chroma(enlarged(photographs[picture]), form)
        part = step / per_picture
        part = 1 - part if picture % 2 else part
        top = int(part * (planes[0].shape[0] - HEIGHT)) // 2
        left = int(part * (planes[0].shape[1] - WIDTH)) // 2
        luma = planes[0][2 * top:2 * top + HEIGHT, 2 * left:2 * left + WIDTH]
        chroma = [plane[top:top + HEIGHT // 2, left:left + WIDTH // 2] for plane in planes[1:]]
        yield b"".join(noise.add(plane, form).tobytes() for plane in (luma, *chroma))


def show_progress(name, done, count):
    if sys.stdout.isatty():
        print(f"\r  {name}.mp4: frame {done} of {count}", end="\n" if done == count else "",
              flush=True)
    elif done % (count // 4) == 0:
        print(f"  {name}.mp4: frame {done} of {count}", flush=True)


def make_clip(show, photographs, directory, encoder, seconds):
    """A clip of these photographs; returns the backend."""
    form = HDR if show.hdr else SDR
    words = ["gst-launch-1.0", "-v", *(
        f"fdsrc ! {raw_source(form, WIDTH, HEIGHT)} ! tee name=clip "
        f"clip. ! queue ! pair. clip. ! queue ! {show.element} {show.settings} ! queue ! pair. "
        f"compositor name=pair background=white sink_1::xpos={WIDTH + GAP} ! "
        f"video/x-raw,format=I420,width={2 * WIDTH + GAP},height={HEIGHT} ! queue ! "
        f"{encoder} ! mp4mux ! filesink").split(), f"location={directory / show.element}.mp4"]
    count = int(seconds * FRAMES_PER_SECOND)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            for done, frame in enumerate(clip_frames(photographs, count, form), 1):
                process.stdin.write(frame)
                show_progress(show.element, done, count)
            process.stdin.close()
        except BrokenPipeError:
            pass  # gst-launch has ended; its error is printed below
        process.wait()
        log.seek(0)
        output = log.read()
    if process.returncode != 0:
        fail(words, output)
    return active_backend(output)


# Main


def make_overview(stills, directory):
    """Four stills on one page, cropped alike."""
    width, height = 340, 255

    def crop(picture):
        scale = max(width / picture.shape[1], height / picture.shape[0])
        size = [max(round(picture.shape[1] * scale), width),
                max(round(picture.shape[0] * scale), height)]
        small = PIL.Image.fromarray(picture).resize(size, PIL.Image.Resampling.LANCZOS)
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        return np.asarray(small.crop((left, top, left + width, top + height)))

    pairs = [np.concatenate([crop(before), crop(after)], 1) for before, after in stills]
    gap = np.full((height, GAP, 3), 255, np.uint8)
    rows = [np.concatenate([pairs[0], gap, pairs[1]], 1),
            np.concatenate([pairs[2], gap, pairs[3]], 1)]
    between = np.full((GAP, rows[0].shape[1], 3), 255, np.uint8)
    page = np.concatenate([rows[0], between, rows[1]])
    PIL.Image.fromarray(page).save(directory / "overview.jpg", quality=88)


def own_photograph(path):
    """Rotates a photograph by its EXIF orientation."""
    try:
        with PIL.Image.open(path) as picture:
            return np.asarray(PIL.ImageOps.exif_transpose(picture).convert("RGB"))
    except (OSError, PIL.Image.DecompressionBombError) as error:
        sys.exit(f"{path} is no photograph that can be read here (JPEG, PNG, WebP, TIFF): {error}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--photograph", help="in place of those of python3-skimage")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the length of the clips")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    directory = arguments.directory
    own = own_photograph(arguments.photograph) if arguments.photograph else None
    pictures = [photograph(name) for name in CLIP] if own is None else [own]
    for show in SHOWS:
        if not exists(show.element):
            sys.exit(f"GStreamer does not find {show.element}; GST_PLUGIN_PATH should name the "
                     "directory of libgstcudafilters.so")
    directory.mkdir(parents=True, exist_ok=True)
    encoder = choose_encoder()

    stills, lines = [], []
    for number, show in enumerate(SHOWS, 1):
        words = f"{show.element} {show.settings}".strip()
        print(f"[{number}/{len(SHOWS)}] {words}: {show.says}", flush=True)
        before, after, still_backend = make_still(
            show, photograph(show.picture) if own is None else own, directory)
        stills.append((before, after))
        clip_backend = make_clip(show, pictures, directory, encoder, arguments.seconds)
        lines.append(f"  {show.element}.png (backend {still_backend}), "
                     f"{show.element}.mp4 (backend {clip_backend})")
    make_overview(stills[:4], directory)
    print(f"\nIn {directory}, before on the left and after on the right:")
    print("\n".join(lines))
    print("  overview.jpg")


if __name__ == "__main__":
    main()
