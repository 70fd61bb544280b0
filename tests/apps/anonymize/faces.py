#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-anonymize on photographs of real faces that move, turn, leave and approach: what the
detector finds in the original it finds nowhere in the result, and what is a face is covered.

`faces.py --table` prints the table of docs/guides/anonymizing.md, on longer clips; with
`--model FILE` by that model.
"""
import argparse
import pathlib
import sys
import tempfile

import cv2
import numpy as np

import clips
import files

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "apps/anonymize"))
import harness

SCENES = {"pans": clips.pan, "turns": clips.turn, "leaves": clips.leave,
          "approaches": clips.approach, "two small ones": clips.crowd}
FRAMES = 12
TABLE_FRAMES = 40
# So much of a face that is in the picture has to be covered, in every frame.
LEAST_COVERED = 0.97
# What may be left of their detail, by its correlation with the original's.
MOST_DETAIL = 0.4


def covered_by(regions, expand, shape=(clips.HEIGHT, clips.WIDTH)):
    """Which pixels lie in the expanded ellipses of a frame's regions."""
    y, x = np.mgrid[:shape[0], :shape[1]] + 0.5
    mask = np.zeros(shape, bool)
    for region in regions:
        half_width, half_height = (region[side] * (0.5 + expand) for side in ("width", "height"))
        middle_x = region["x"] + region["width"] / 2
        middle_y = region["y"] + region["height"] / 2
        mask |= ((x - middle_x) / half_width) ** 2 + ((y - middle_y) / half_height) ** 2 <= 1
    return mask


def shares(clip, told):
    """For each frame which share of the true faces is covered; None where there is none."""
    found = []
    for truth, frame in zip(clip.truth, told["frames"]):
        face = clips.face_mask(truth)
        covered = covered_by(frame["regions"], told["settings"]["expand"])
        found.append((face & covered).sum() / face.sum() if face.sum() > 50 else None)
    return found


def fine(image, mask):
    luma = image.astype(np.float32).mean(axis=2)
    return (luma - cv2.GaussianBlur(luma, (0, 0), 2))[mask]


def detail_left(image, original, truth):
    """How much the fine detail in the faces is that of the original: 1 is all, 0 none."""
    mask = clips.face_mask(truth)
    if mask.sum() < 100:
        return 0.0
    return np.corrcoef(fine(image, mask), fine(original, mask))[0, 1]


def find_all(detector, images):
    return [[one for one in detector.find(np.ascontiguousarray(image[:, :, ::-1]))
             if one.confidence >= detector.threshold] for image in images]


def found_again(before, after):
    """Frames in which a face of the original is found in the result, at the same place."""
    return [number for number, (faces, others) in enumerate(zip(before, after))
            if any(face.box.iou(other.box) > 0.3 for face in faces for other in others)]


def check_result(tap, name, clip, source_faces, detector, path):
    images = clips.read(path)
    tap.check(len(images) == len(clip.images), f"{name}: as many frames",
              f"{len(images)}, not {len(clip.images)}")
    again = found_again(source_faces, find_all(detector, images))
    tap.check(not again, f"{name}: no face of the original is found again", f"frames {again}")
    left = [detail_left(*three) for three in zip(images, clip.images, clip.truth)]
    tap.check(max(left) < MOST_DETAIL, f"{name}: faces have lost their detail",
              f"{max(left):.2f} is left in frame {np.argmax(left)}")


def run(tap):
    from cudafilters_anonymize import haar

    detector = haar.Haar(0.1)
    clip = clips.joined(*(scene(FRAMES) for scene in SCENES.values()))
    with tempfile.TemporaryDirectory() as folder:
        source, output = f"{folder}/in.mp4", f"{folder}/out.mp4"
        clips.write(clip, source, "-c:v", "libx264", "-crf", "12")
        process = files.anonymize("--json", "--detector", "haar", "--min-face", "0.1", source,
                                  output)
        told = files.result(process)
        if not tap.check(process.returncode == 0 and told is not None, "the faces are covered",
                         process.stdout + process.stderr):
            return
        faces = find_all(detector, clips.read(source))
        tap.check(sum(map(bool, faces)) > len(faces) / 2, "there are faces to be found",
                  f"in {sum(map(bool, faces))} of {len(faces)} frames")
        check_result(tap, "blur", clip, faces, detector, output)

        side = files.sidecar(output)
        found = shares(clip, side)
        bad = [f"{number}: {share:.3f}" for number, share in enumerate(found)
               if share is not None and share < LEAST_COVERED]
        tap.check(not bad, f"{LEAST_COVERED:.0%} of every face is covered", "\n".join(bad))
        frames = side["frames"]
        held = sum(any(one["source"] != "detected" for one in frame["regions"])
                   for frame in frames)
        tap.check((told["frames"], told["covered"], told["held"], told["cautious"]) == (
            len(frames), sum(bool(frame["regions"]) for frame in frames), held,
            sum("unsure" in frame for frame in frames)), "the report counts the sidecar's frames",
            str(told))

        again = f"{folder}/again.mp4"
        files.anonymize("--quiet", "--detections", f"{output}.json", source, again)
        tap.check(files.sidecar(again)["frames"] == frames, "the sidecar makes the same plan again")
        tap.check(np.array_equal(clips.read(again), clips.read(output)), "and the same pictures")
        mosaic = f"{folder}/mosaic.mp4"
        files.anonymize("--quiet", "--detections", f"{output}.json", "--mask", "mosaic", source,
                        mosaic)
        check_result(tap, "mosaic", clip, faces, detector, mosaic)


def table(model):
    from cudafilters_anonymize import detector as detectors

    arguments = ["--model", model] if model else ["--detector", "haar"]
    detector = detectors.choose("model" if model else "haar", model, 0.1)
    print("| a face | frames with a face | detected | covered | least share | mean share | "
          "found again |\n|---|---|---|---|---|---|---|")
    for name, scene in SCENES.items():
        clip = scene(TABLE_FRAMES)
        with tempfile.TemporaryDirectory() as folder:
            source, output = f"{folder}/in.mp4", f"{folder}/out.mp4"
            clips.write(clip, source, "-c:v", "libx264", "-crf", "12")
            files.anonymize("--quiet", *arguments, "--min-face", "0.1", source, output)
            faces = find_all(detector, clips.read(source))
            again = found_again(faces, find_all(detector, clips.read(output)))
            found = [(share, sum(one.source == "detected" for one in seen))
                     for share, seen in zip(shares(clip, files.sidecar(output)), faces)
                     if share is not None]
            parts = [share for share, _ in found]
            print(f"| {name} | {len(found)} | {sum(count > 0 for _, count in found)} | "
                  f"{sum(share > LEAST_COVERED for share in parts)} | {min(parts):.1%} | "
                  f"{np.mean(parts):.1%} | {len(again)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--model")
    options = parser.parse_args()
    if options.table:
        table(options.model)
    else:
        harness.main(run)
