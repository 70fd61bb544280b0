#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the packages of this checkout, and installs each in a fresh Debian, where people have
nothing but what the package asks for: the elements must be there, work in a command and in a
program, and leave nothing when they go.

packages.py [RELEASE...]: in bookworm and trixie, or in these. As root, with the chroots of
tools/test-on; what cannot be done here is skipped, with the reason. The last line is "N passed, N
failed, N skipped".
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pipelines"))
import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = subprocess.run([SOURCE / "packaging/about", "version"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip()
CHROOTS = pathlib.Path(os.environ.get("CUDAFILTERS_CHROOTS") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or "/var/cache", "gst-cuda-filters/chroots"))
# By release: the folder of the wheel that GStreamer there has to get.
BUILDS = {"bookworm": "1.22", "trixie": "1.24"}
PACKAGES = ["gstreamer1.0-cudafilters", "gstreamer1.0-cudafilters-doc",
            "gstreamer1.0-cudafilters-apps"]
PROGRAMS = ["cudafilters-anonymize", "cudafilters-relay", "cudafilters-transcode",
            "cudafilters-tuner"]
CANNOT = 3

INSPECT = "gst-inspect-1.0 cudallf"
LAUNCH = ("gst-launch-1.0 -q videotestsrc num-buffers=5 ! cudallf ! cudagaussblur ! cudablockavg !"
          " cudasepconv preset=sharpen ! cudatonemap ! videoconvert ! pngenc snapshot=true !"
          " filesink location=/tmp/picture.png && test -s /tmp/picture.png")
PROGRAM = """
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch("videotestsrc num-buffers=5 ! cudallf name=filter ! fakesink")
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(
    30 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
frames = pipeline.get_by_name("filter").get_property("stats").get_uint64("frames")[1]
assert message and message.type == Gst.MessageType.EOS and frames == 5, (message, frames)
presets = pipeline.get_by_name("filter").get_preset_names()
assert presets, presets
pipeline.set_state(Gst.State.NULL)
"""
MISSING = """
import gst_cuda_filters
gst_cuda_filters._LIBRARY = "libnowhere.so.0"
try:
    gst_cuda_filters.setup()
except gst_cuda_filters.PluginError as error:
    assert "GStreamer is not installed" in str(error), error
else:
    raise SystemExit("no error")
"""


class Tap(harness.Tap):
    """Counts as .ci/run wants it, says how much time has gone, and may be used by several
    threads."""

    def __init__(self):
        super().__init__()
        self.skipped = 0
        self.failed = []
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def check(self, good, name, detail=""):
        with self.lock:
            print(f"# {time.monotonic() - self.start:.0f} s")
            if not good:
                self.failed += [name, *detail.splitlines()[-12:]]
            return super().check(good, name, detail)

    def skip(self, name, reason):
        with self.lock:
            self.skipped += 1
            super().skip(name, reason)

    def summary(self):
        """What failed, as tools/tally repeats failures, and then the counts."""
        failed = "".join(f"FAILED: packages: {line}\n" for line in self.failed)
        passed = self.count - self.failures - self.skipped
        return f"{failed}{passed} passed, {self.failures} failed, {self.skipped} skipped"


class Fresh:
    """A Debian in which nothing is installed, thrown away at the end."""

    def __init__(self, root):
        self.root = root
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
        subprocess.run(["mount", "--rbind", "/dev", root / "dev"], check=True)

    def run(self, command):
        """A shell's exit status, and all it says."""
        done = subprocess.run(
            ["chroot", self.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
             "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        return done.returncode, done.stdout

    def files(self, folder="/"):
        """What lies in a folder, but for what a system and Python keep for themselves."""
        kept = (r"^/(proc|dev|tmp|packages)(/|$)|^/var/(cache|log|lib/(apt|dpkg))/"
                r"|__pycache__|\.cache")
        _, said = self.run(f"find {folder} -xdev")
        return {name for name in said.splitlines() if not re.search(kept, name)}

    def close(self):
        for name in ("proc", "dev"):
            subprocess.run(["umount", "--recursive", "--lazy", self.root / name], check=False)


def package(tap, name, *words):
    """Whether tools/package made it."""
    done = subprocess.run([SOURCE / "tools/package", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == CANNOT:
        tap.skip(name, done.stdout.splitlines()[-1])
        return False
    return tap.check(done.returncode == 0, name, "\n".join(done.stdout.splitlines()[-30:]))


def make_fresh(release, directory):
    """Fresh, or the reason why not."""
    kept = CHROOTS / release
    done = subprocess.run([SOURCE / "tools/chroot/make", "--bare", release, kept],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.stdout.splitlines()[-1]
    root = directory / f"root-{release}"
    subprocess.run(["cp", "-a", f"{kept}-bare", root], check=True)
    fresh = Fresh(root)
    status, said = fresh.run("apt-get update -q")
    return fresh if status == 0 else said


def check_elements(tap, fresh, what, prefix="", python="python3", setup=""):
    """That the elements work, where `prefix` comes before a command that uses GStreamer."""
    status, said = fresh.run(prefix + INSPECT)
    tap.check(status == 0 and re.search(rf"Version +{re.escape(VERSION)}$", said, re.MULTILINE),
              f"{what}: gst-inspect-1.0 cudallf", said)
    status, said = fresh.run(prefix + LAUNCH)
    tap.check(status == 0 and "CRITICAL" not in said, f"{what}: gst-launch-1.0", said)
    (fresh.root / "tmp/program.py").write_text(setup + PROGRAM)
    status, said = fresh.run(f"{python} /tmp/program.py")
    tap.check(status == 0 and "CRITICAL" not in said, f"{what}: a program in Python", said)


def check_debs(tap, fresh, release, directory):
    what = f"{release}, deb"
    (fresh.root / "packages").mkdir()
    for file in (directory / release).glob("*.deb"):
        shutil.copy(file, fresh.root / "packages")
    before = fresh.files()
    status, said = fresh.run(f"apt-get install -q -y /packages/{PACKAGES[0]}_*.deb")
    if not tap.check(status == 0, f"{what}: apt install", said):
        return
    check_elements(tap, fresh, what)

    files = " ".join(f"/packages/{name}_*.deb" for name in PACKAGES[1:])
    status, said = fresh.run(f"apt-get install -q -y --no-install-recommends {files}")
    tap.check(status == 0, f"{what}: apt install of programs and pages", said)
    page = fresh.root / f"usr/share/doc/{PACKAGES[0]}/docs/README.md"
    tap.check(page.exists(), f"{what}: the pages are there")
    programs = sorted(path.name for path in (fresh.root / "usr/bin").glob("cudafilters-*"))
    tap.check(programs == PROGRAMS, f"{what}: the programs are there", str(programs))
    for program in programs:
        status, said = fresh.run(f"{program} --help")
        tap.check((status == 0 or "Debian" in said) and "Traceback" not in said,
                  f"{what}: {program} --help, or the package that it lacks", said)
        manual = fresh.root / f"usr/share/man/man1/{program}.1.gz"
        tap.check(manual.exists(), f"{what}: the manual page of {program}")

    status, said = fresh.run(f"apt-get purge -q -y {' '.join(PACKAGES)}")
    tap.check(status == 0, f"{what}: apt purge", said)
    status, said = fresh.run(INSPECT)
    tap.check(status != 0, f"{what}: no element is left", said)
    fresh.run("apt-get autoremove --purge -q -y")
    left = [name for name in fresh.files() - before if re.search("cuda-?filters", name)]
    tap.check(not left, f"{what}: no file is left", "\n".join(left))


def check_wheel(tap, fresh, release, wheel):
    what = f"{release}, wheel"
    # As the wheel's page says.
    status, said = fresh.run("apt-get install -q -y gstreamer1.0-tools gstreamer1.0-plugins-good"
                             " python3-gst-1.0 python3-venv")
    if not tap.check(status == 0, f"{what}: GStreamer and Python of Debian", said):
        return
    shutil.copy(wheel, fresh.root / "tmp")
    fresh.run("python3 -m venv --system-site-packages /opt/filters")
    before = fresh.files("/opt/filters")
    status, said = fresh.run(f"/opt/filters/bin/pip install --no-index /tmp/{wheel.name}")
    if not tap.check(status == 0, f"{what}: pip install", said):
        return
    command = "/opt/filters/bin/gst-cuda-filters "
    status, said = fresh.run(command + "--path")
    tap.check(said.strip().endswith(f"/plugins/{BUILDS[release]}"),
              f"{what}: the build for GStreamer {BUILDS[release]}", said)
    check_elements(tap, fresh, what, prefix=command, python="/opt/filters/bin/python",
                   setup="import gst_cuda_filters\ngst_cuda_filters.setup()\n")
    (fresh.root / "tmp/missing.py").write_text(MISSING)
    status, said = fresh.run("/opt/filters/bin/python /tmp/missing.py")
    tap.check(status == 0, f"{what}: without GStreamer, an error says so", said)
    status, said = fresh.run("PYTHONPATH=$(echo /opt/filters/lib/python3*/site-packages)"
                             " python3 -S -c 'import gst_cuda_filters as f; f.setup()'")
    tap.check(status == 1 and "--system-site-packages" in said,
              f"{what}: without PyGObject, an error says so", said)
    for words, expected in (("--help", 0), ("--version", 0), ("", 2), ("--no-such", 2),
                            ("no-such-command", 127), ("false", 1)):
        status, said = fresh.run(command + words)
        tap.check(status == expected and "Traceback" not in said,
                  f"{what}: exit status of gst-cuda-filters {words}", f"{status}\n{said}")
    status, said = fresh.run("/opt/filters/bin/pip uninstall -y gst-cuda-filters")
    left = fresh.files("/opt/filters") - before
    tap.check(status == 0 and not left, f"{what}: pip uninstall leaves nothing",
              said + "\n".join(left))


def check_lintian(tap, release, directory):
    name = f"{release}, deb: lintian"
    if not shutil.which("lintian"):
        tap.skip(name, "lintian is not installed")
        return
    changes = next((directory / release).glob("*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on=error,warning", changes],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    tap.check(done.returncode == 0 and not done.stdout, name, done.stdout)


def check_dist(tap, directory):
    if package(tap, "sources", "dist", "--output", directory):
        archive = directory / f"gst-cuda-filters-{VERSION}.tar.xz"
        listed = subprocess.run(["tar", "-tf", archive], stdout=subprocess.PIPE, text=True,
                                check=False).stdout
        tap.check(f"gst-cuda-filters-{VERSION}/meson.build" in listed.splitlines(),
                  "sources: named after the version", listed[:500])


def check_symbols(tap, wheel, directory):
    """No function of GStreamer came after the oldest that a build of the wheel is for."""
    since = {}
    for file in (CHROOTS / "trixie/usr/share/gir-1.0").glob("Gst*.gir"):
        for name, rest in re.findall(r'c:identifier="(\w+)"([^>]*)>', file.read_text()):
            version = re.search(r'\bversion="1\.(\d+)', rest)
            since[name] = int(version[1]) if version else 0
    if not since:
        tap.skip("wheel: functions of GStreamer", "there is no chroot of trixie")
        return
    zipfile.ZipFile(wheel).extractall(directory / "wheel")
    for build in BUILDS.values():
        plugin = directory / f"wheel/gst_cuda_filters/plugins/{build}/libgstcudafilters.so"
        used = subprocess.run(["nm", "-D", "--undefined-only", plugin], stdout=subprocess.PIPE,
                              text=True, check=True).stdout.split()
        late = [name for name in used if since.get(name, 0) > int(build.split(".")[1])]
        tap.check(not late and "gst_video_frame_map" in used,
                  f"wheel: no function of GStreamer after {build}", " ".join(late))


def check_release(tap, release, directory, wheel, has_debs):
    if has_debs:
        check_lintian(tap, release, directory)
    fresh = make_fresh(release, directory)
    if not isinstance(fresh, Fresh):
        tap.skip(f"{release}: installation", fresh)
        return
    try:
        if has_debs:
            check_debs(tap, fresh, release, directory)
        if wheel:
            check_wheel(tap, fresh, release, wheel)
    finally:
        fresh.close()


def run(tap, releases, directory):
    check_dist(tap, directory)
    wheel = None
    if package(tap, "wheel", "wheel", "--cuda", "disabled", "--output", directory):
        wheel = next(directory.glob("*.whl"))
        check_symbols(tap, wheel, directory)
    # One installs while the other is built: a core is enough for either.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        checks = []
        for release in releases:
            has_debs = package(tap, f"{release}, deb", "deb", "--release", release, "--cuda",
                               "disabled", "--output", directory)
            checks.append(pool.submit(check_release, tap, release, directory, wheel, has_debs))
        for check in checks:
            check.result()


def main():
    tap = Tap()
    inside = sys.argv[1:2] == ["--inside"]
    releases = sys.argv[2 if inside else 1:] or list(BUILDS)
    if os.geteuid() != 0:
        tap.skip("packages", "only root can make a chroot")
    elif not inside:
        isolate = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*isolate, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            tap.skip("packages", "nothing can be mounted here")
        else:
            os.execvp("unshare", [*isolate, sys.executable, __file__, "--inside", *releases])
    else:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=False) as name:
            run(tap, releases, pathlib.Path(name))
    status = tap.finish()
    print(tap.summary())
    sys.exit(status)


if __name__ == "__main__":
    main()
