#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Version and date of the release stand in meson.build, and whatever names them agrees."""
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pipelines"))
import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SEMANTIC = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?"
# A version of this project, not of another.
NAMED = re.compile(r"(?:gst[-_]cuda[-_]filters|cudafilters[\w-]*)[-_ ]\"?v?(\d+\.\d+\.\d+)")
PAGES = ("*.md", "docs/**/*.md", "packaging/**/*", "apps/**/*", "examples/**/*", "tools/**/*")


def about(what):
    return subprocess.run([SOURCE / "packaging/about", what], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def run(tap):
    version, date = about("version"), about("date")
    text = (SOURCE / "meson.build").read_text()
    declared = re.search(r"project\('gst-cuda-filters', 'c',\s+version: '([^']+)'", text)
    tap.check(declared and declared[1] == version and re.fullmatch(SEMANTIC, version),
              "meson.build: a semantic version", version)
    tap.check(re.fullmatch(r"\d{4}-\d\d-\d\d", date), "meson.build: the date of the release",
              date)

    newest = re.search(r"^## (.*)$", (SOURCE / "CHANGELOG.md").read_text(), re.MULTILINE)
    tap.check(newest and newest[1] == f"{version} ({date})",
              "CHANGELOG.md begins with this release", newest and newest[1])

    project = (SOURCE / "packaging/wheel/pyproject.toml").read_text()
    tap.check('dynamic = ["version"]' in project, "the wheel gets its version from meson.build")
    tap.check(not (SOURCE / "packaging/debian/changelog").exists(),
              "debian/changelog is made from meson.build")

    files = sorted({file for pattern in PAGES for file in SOURCE.glob(pattern) if file.is_file()})
    others = [f"{file.relative_to(SOURCE)}: {found[0]}" for file in files
              for found in NAMED.finditer(file.read_text(errors="replace"))
              if found[1] != version]
    tap.check(not others, "no page or program names another version", "\n".join(others))


if __name__ == "__main__":
    harness.main(run)
