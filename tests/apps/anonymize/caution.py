#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-anonymize where a detector fails: what is covered before, between and after
detections, which frames are unsure, and that --fail-closed covers those whole."""
import json
import pathlib
import sys
import tempfile

import numpy as np

import clips
import files

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "apps/anonymize"))
import harness

FRAMES = 50
STEP_NS = 1_000_000_000 // clips.RATE
LOST = "a face was lost in mid-picture"
APPEARED = "a face appeared in mid-picture"
OUT_OF_SIGHT = "a face was out of sight"
DOUBTFUL = "something might be a face"


def row(frame, x, y=100, size=60, confidence=1.0):
    return {"frame": frame, "x": x, "y": y, "width": size, "height": size,
            "confidence": confidence}


class Case:
    """A clip that lies still, and what the program makes of some detections in it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.source = self.folder / "still.mp4"
        clips.write(clips.of_astronaut(FRAMES, lambda _: ((160, 128), 0, 0.9)), self.source,
                    "-c:v", "libx264", "-crf", "12")
        self.output = self.folder / "out.mp4"

    def run(self, rows, *arguments, only=True):
        """The sidecar's frames."""
        boxes = self.folder / "boxes.json"
        boxes.write_text(json.dumps(rows))
        side = self.folder / "side.json"
        process = files.anonymize("--quiet", "--overwrite", "--detections", boxes, "--sidecar",
                                  side, *arguments, *(["--detect-only"] if only else []),
                                  self.source, *([] if only else [self.output]))
        if process.returncode:
            raise harness.PipelineError(process.stderr)
        return json.loads(side.read_text())["frames"]


def numbers(frames, reason):
    return [frame["frame"] for frame in frames if reason in frame.get("unsure", ())]


def covers(frame, x, y):
    return any(one["x"] <= x <= one["x"] + one["width"] and
               one["y"] <= y <= one["y"] + one["height"] for one in frame["regions"])


def check_ends(tap, case):
    frames = case.run([row(number, 100) for number in range(15, 25)], "--before", "0.2", "--after",
                      "0.4", "--caution", "0.48")
    covered = [frame["frame"] for frame in frames if covers(frame, 130, 130)]
    tap.check(covered == list(range(10, 35)), "covered from 0.2 s before to 0.4 s after",
              str(covered))
    tap.check(numbers(frames, LOST) == list(range(25, 37)), "unsure after it was lost",
              str(numbers(frames, LOST)))
    tap.check(numbers(frames, APPEARED) == list(range(3, 15)), "and before it appeared",
              str(numbers(frames, APPEARED)))
    whole = case.run([row(number, 100) for number in range(FRAMES)])
    tap.check(not any("unsure" in frame for frame in whole), "one that is always seen is sure")


def check_gaps(tap, case):
    rows = [row(number, 20 + 4 * number) for number in range(FRAMES) if not 18 <= number < 30]
    frames = case.run(rows)
    off = [number for number in range(18, 30)
           if not covers(frames[number], 50 + 4 * number, 130)]
    tap.check(not off, "a gap is bridged on the way", f"not in frames {off}")
    tap.check(numbers(frames, OUT_OF_SIGHT) == list(range(18, 30)), "and is unsure",
              str(numbers(frames, OUT_OF_SIGHT)))
    tap.check(len({one["track"] for frame in frames for one in frame["regions"]}) == 1,
              "both sides are one face")
    frames = case.run(rows, "--gap", "0.2")
    tap.check(not numbers(frames, OUT_OF_SIGHT) and numbers(frames, LOST),
              "a longer gap than --gap is two faces")


def check_edge(tap, case):
    """Detectors lose a face as soon as the edge cuts it."""
    rows = [row(number, 60 - 6 * number) for number in range(11)]
    frames = case.run(rows, "--after", "0.1")
    missing = [number for number in range(11, 20) if not covers(frames[number], max(
        60 - 6 * number + 59, 0), 130)]
    tap.check(not missing, "covered until it has left", f"not in frames {missing}")
    tap.check(not any(frame["regions"] for frame in frames[25:]), "and no longer")
    tap.check(not numbers(frames, LOST), "one that left is not lost", str(numbers(frames, LOST)))


def check_weak(tap, case):
    strong = [row(number, 100, confidence=0.9) for number in range(20, 30)]
    weak = [row(number, 100, confidence=0.45) for number in (*range(12, 20), *range(30, 40))]
    frames = case.run(strong + weak, "--threshold", "0.7", "--before", "0", "--after", "0")
    covered = [frame["frame"] for frame in frames if frame["regions"]]
    tap.check(covered == list(range(12, 40)), "weak detections prolong a face, both ways",
              str(covered))
    frames = case.run(weak, "--threshold", "0.7")
    tap.check(not any(frame["regions"] for frame in frames) and
              numbers(frames, DOUBTFUL) == sorted(one["frame"] for one in weak),
              "alone they begin none, but are unsure")


def check_fail_closed(tap, case):
    def detail(image):
        luma = image.astype(float).mean(axis=2)
        return np.abs(np.diff(luma, axis=1)).mean()

    rows = [row(number, 100) for number in range(15)]
    original = clips.read(case.source)
    for mask in ("blur", "mosaic"):
        for shape in ("ellipse", "rectangle"):
            frames = case.run(rows, "--fail-closed", "--mask", mask, "--shape", shape, "--expand",
                              "0", "--caution", "0.4", only=False)
            whole = [frame["frame"] for frame in frames if frame.get("whole")]
            images = clips.read(case.output)
            # Corners are what an ellipse does not reach.
            corners = [[detail(image[y, x]) / max(detail(before[y, x]), 0.1)
                        for y in (slice(0, 60), slice(-60, None))
                        for x in (slice(0, 60), slice(-60, None))]
                       for image, before in zip(images, original)]
            open_corners = [number for number in whole if max(corners[number]) > 0.6]
            tap.check(whole == list(range(15, 25)) and not open_corners,
                      f"{mask} {shape}: unsure frames are covered whole",
                      f"whole {whole}, not covered {open_corners}")
            others = [number for number in range(FRAMES) if number not in whole and
                      np.mean(corners[number]) < 0.6]
            tap.check(not others, f"{mask} {shape}: others are not", str(others))
    frames = case.run(rows, "--caution", "0.4", only=False)
    tap.check(not any(frame.get("whole") for frame in frames) and numbers(frames, LOST),
              "without --fail-closed they are named, not covered")


def check_scenes(tap, case):
    from cudafilters_anonymize.scan import Cuts

    scenes = clips.pan(40).images[:10] + clips.crowd(10).images
    dark = [np.full_like(scenes[0], 250) if number in (4, 5) else image
            for number, image in enumerate(scenes)]
    for title, images, wanted in (("another scene is seen", scenes, [10]),
                                  ("a flash is none", dark, [10])):
        cuts = Cuts()
        seen = [number for number, image in enumerate(images) if cuts.see(image)]
        found = [number for number in range(20) if cuts.is_cut(number)]
        tap.check(found == wanted, title, f"{seen}, {found}")


def check_following(tap):
    """A detector that sees a face in one frame alone: optical flow finds it in the others."""
    from cudafilters_anonymize.boxes import Box, Detection
    from cudafilters_anonymize.follow import Follower
    from cudafilters_anonymize.pictures import Picture

    for name, scene in (("pans", clips.pan), ("turns", clips.turn)):
        clip = scene(24)
        follower = Follower(1.0)
        found = {}
        for number, (image, truth) in enumerate(zip(clip.images, clip.truth)):
            x, y, half_width, half_height, _ = truth[0]
            box = Box(x - half_width, y - half_height, 2 * half_width, 2 * half_height)
            seen = [Detection(box, 1.0)] if number == 12 else []
            picture = Picture(number * STEP_NS, number * STEP_NS, False,
                              np.ascontiguousarray(image[:, :, ::-1]), 1.0)
            for earlier, others in follower.see(number, picture, number / clips.RATE, seen, 0.5,
                                                False).items():
                found.setdefault(earlier, []).extend(others)
        far = []
        for number, others in sorted(found.items()):
            x, y, half_width, *_ = clip.truth[number][0]
            centre = others[0].box.centre
            if np.hypot(centre[0] - x, centre[1] - y) > 0.35 * half_width or len(others) != 1:
                far.append(number)
        tap.check(len(found) >= 18 and not far, f"one that {name} is followed both ways",
                  f"in frames {sorted(found)}, wrong in {far}")


def check_networks(tap):
    """The arithmetic around the networks, on maps that are made up."""
    from cudafilters_anonymize import centerface, yunet

    class Network:
        def setInput(self, blob):
            self.shape = blob.shape[2] // 4, blob.shape[3] // 4

        def forward(self, _):
            heat, scale, offset = (np.zeros((1, count, *self.shape), np.float32)
                                   for count in (1, 2, 2))
            heat[0, 0, 10, 20] = 0.9
            heat[0, 0, 11, 20] = 0.5  # of the same face
            scale[0, :, 10:12, 20] = np.log([[15.0], [12.0]])
            offset[0, :, 10, 20] = 0.25, -0.25
            return heat, scale, offset

    detector = centerface.CenterFace.__new__(centerface.CenterFace)
    detector.smallest, detector.network = 0.05, Network()
    found = detector.find(np.zeros((256, 320, 3), np.uint8))
    box = found[0].box if len(found) == 1 else None
    tap.check(box and np.allclose((box.x, box.y, box.width, box.height),
                                  (4 * (20.25 - 6), 4 * (10.75 - 7.5), 48, 60), atol=0.01),
              "CenterFace's maps become a box", str(found))

    class Model:
        def setInputSize(self, size):
            self.size = size

        def detect(self, _):
            rows = np.zeros((2, 15), np.float32)
            rows[0, [0, 1, 2, 3, 14]] = 30, 40, 50, 60, 0.8
            rows[1, [0, 1, 2, 3, 14]] = 0, 0, 5, 5, 0.9  # too small
            return 1, rows

    detector = yunet.YuNet.__new__(yunet.YuNet)
    detector.smallest, detector.model = 0.1, Model()
    found = detector.find(np.zeros((256, 320, 3), np.uint8))
    tap.check(len(found) == 1 and found[0].box.width == 50 and
              abs(found[0].confidence - 0.8) < 1e-6, "YuNet's rows become boxes", str(found))


def run(tap):
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder)
        check_ends(tap, case)
        check_gaps(tap, case)
        check_edge(tap, case)
        check_weak(tap, case)
        check_fail_closed(tap, case)
        check_scenes(tap, case)
    check_following(tap)
    check_networks(tap)


if __name__ == "__main__":
    harness.main(run)
