#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the plugin is installed, whether programs find it there, and what it says about itself."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["CUDAFILTERS_BUILD"])
PLUGIN = "libgstcudafilters.so"


def run_command(words, **environment):
    return subprocess.run(words, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def inspect(directory, **environment):
    """What gst-inspect-1.0 says where nothing names the folder of the plugin."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GST_")}
    clean.update(environment, GST_REGISTRY=str(directory / "registry"))
    return subprocess.run(["gst-inspect-1.0", "cudallf"], env=clean, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def configure(directory, home, *options):
    """What `meson setup` says, where the plugin would be installed, and where everything."""
    build = directory / "build"
    shutil.rmtree(build, ignore_errors=True)
    done = run_command(["meson", "setup", build, SOURCE, "-Dcuda=disabled", "-Dtests=false",
                        "-Dexamples=false", *options], HOME=str(home))
    listed = run_command(["meson", "introspect", "--installed", build])
    places = list(json.loads(listed.stdout).values()) if done.returncode == 0 else []
    return done.stdout, next((place for place in places if place.endswith(PLUGIN)), ""), places


def check_places(tap, directory):
    system = run_command(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"]).stdout.strip()
    warning = "where GStreamer does not look"

    said, place, _ = configure(directory, directory, "--prefix=/opt/elsewhere")
    tap.check(warning in said and system in said,
              "meson setup warns of a folder that GStreamer does not look into", said)
    said, place, _ = configure(directory, directory, f"-Dplugin-dir={system}")
    tap.check(warning not in said and place == f"{system}/{PLUGIN}",
              "-Dplugin-dir=... with GStreamer's own folder, and no warning", f"{place}\n{said}")

    prefix = run_command(["pkg-config", "--variable=prefix", "gstreamer-1.0"]).stdout.strip()
    said, place, _ = configure(directory, directory, f"--prefix={prefix}", "--libdir=other")
    tap.check(warning not in said and place == f"{system}/{PLUGIN}",
              "with GStreamer's prefix in GStreamer's own folder", f"{place}\n{said}")

    said, place, everything = configure(directory, directory, f"--prefix={directory}/.local",
                                        "-Dplugin-dir=~/.local/share/gstreamer-1.0/plugins")
    inside = place and all(pathlib.Path(one).is_relative_to(directory) for one in everything)
    kept = f"{directory}/.local/share/gstreamer-1.0/presets/"
    tap.check(inside and not any(one.startswith(kept) for one in everything),
              "for one user nothing is outside of the home folder, or where presets are saved",
              "\n".join(everything))
    if tap.check(inside and warning not in said,
                 "-Dplugin-dir=~/... is in the home folder, and no warning", f"{place}\n{said}"):
        # Installed from the build that is tested: this one has only been configured.
        pathlib.Path(place).parent.mkdir(parents=True)
        shutil.copy(BUILD / "gst" / PLUGIN, place)
        found = inspect(directory, HOME=str(directory), XDG_DATA_HOME="")
        tap.check(found.returncode == 0 and place in found.stdout,
                  "a plugin in the home folder is found", found.stdout)


def check_processor(tap, directory):
    other = directory / "other.ini"
    other.write_text("[binaries]\nc = 'cc'\n[host_machine]\nsystem = 'linux'\n"
                     "cpu_family = 'ppc64'\ncpu = 'ppc64'\nendian = 'big'\n")
    said, _, _ = configure(directory, directory, f"--cross-file={other}")
    tap.check("needed is a 64-bit little-endian processor" in said,
              "meson setup refuses a big-endian processor", said)


def check_identity(tap):
    said = run_command(["gst-inspect-1.0", "cudallf"]).stdout
    version = re.search(r"version: '([^']+)'", (SOURCE / "meson.build").read_text())[1]
    expected = {"Version": re.escape(version), "Source module": "gst-cuda-filters",
                "Source release date": r"\d{4}-\d\d-\d\d", "Binary package": "gst-cuda-filters",
                "Origin URL": r"(?!.*gstreamer\.freedesktop\.org).+"}
    for name, value in expected.items():
        tap.check(re.search(rf"^\s*{name}\s+{value}$", said, re.MULTILINE) is not None,
                  f"gst-inspect-1.0: {name}", said)


def check_system(tap):
    """`meson install` as root, and back, where the system may be changed."""
    if not os.environ.get("CUDAFILTERS_MAY_INSTALL"):
        tap.skip("meson install for all users", "would change this system")
        return
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        done = run_command(["meson", "install", "-C", BUILD, "--no-rebuild"])
        found = inspect(directory)
        tap.check(done.returncode == 0 and found.returncode == 0,
                  "meson install for all users: found", done.stdout + found.stdout)
        gone = run_command(["ninja", "-C", BUILD, "uninstall"])
        tap.check(gone.returncode == 0 and inspect(directory).returncode != 0,
                  "ninja uninstall: not found any more", gone.stdout)


def run(tap):
    check_identity(tap)
    check_system(tap)
    if not shutil.which("meson"):
        tap.skip("where the plugin is installed", "there is no meson")
        return
    with tempfile.TemporaryDirectory() as name:
        check_places(tap, pathlib.Path(name))
        check_processor(tap, pathlib.Path(name))


if __name__ == "__main__":
    harness.main(run)
