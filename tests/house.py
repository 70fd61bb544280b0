#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rules of the house that a program can look after (CONTRIBUTING.md has them for readers):

- includes point one way: gst -> effects -> {cpu, cuda} -> plan -> include;
- no file of these has more than 600 lines, no line of any source more than 100 columns;
- cpu/ and cuda/ have the same rooms, and CONTRIBUTING.md's picture has them all;
- lines of pages end at column 100 (tables, code and addresses apart), their links and the files
  and functions that they name are there, and docs/README.md names every page.

house.py [ROOT] looks at another tree.
"""
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "pipelines"))
import harness

MOST_LINES = 600
MOST_COLUMNS = 100

# What each may include; tests may include anything.
MAY_INCLUDE = {
    "include": {"include"},
    "plan": {"plan", "include"},
    "cpu": {"cpu", "plan", "include"},
    "cuda": {"cuda", "plan", "include"},
    "effects": {"effects", "cpu", "cuda", "plan", "include"},
    "gst": {"gst", "effects", "cpu", "cuda", "plan", "include"},
    "examples": {"examples"},
    "apps": {"apps"},
}
# Headers of others, and who may know them.
FOREIGN = (
    (re.compile(r"(gst|glib|gio|gobject)\b.*\.h$"), {"gst", "examples", "apps"}, "GStreamer"),
    (re.compile(r"(cuda|cooperative_groups|mma\.h|nv/|driver_types)"), {"cuda"}, "CUDA"),
)
GENERATED = {"config.h"}

CODE = {".c", ".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
NAMED_FILE = re.compile(r"`((?:include|plan|effects|cpu|cuda|gst|tests|tools|examples|apps|"
                        r"packaging|docs)/[\w./-]+)`")
KERNEL_FILE = re.compile(r"\b[\w-]+\.cuh?\b")
NAMED_FUNCTION = re.compile(r"`([a-z]\w*)\(\)`")
OTHERS_FUNCTION = re.compile(r"gst_(?!cuda_filters)|g_")
PICTURE_ROW = re.compile(r"^([a-z-]+)/ ")


def find_files(root):
    """Paths below root, as text; what git ignores is none of ours."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], check=True, capture_output=True)
        names = listed.stdout.decode().split("\0")
        return sorted(name for name in set(names) if name and (root / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders
                          if not name.startswith((".", "build")) and name != "__pycache__"]
            names += [(pathlib.Path(folder) / name).relative_to(root).as_posix() for name in files]
        return sorted(names)


def read(root, name):
    return (root / name).read_text(encoding="utf-8", errors="replace").splitlines()


def top(name):
    return name.split("/")[0]


def layer_of(root, name, included):
    """The folder at the top that `#include "included"` of file `name` leads to, or None."""
    if "/" in included and top(included) in MAY_INCLUDE:
        return top(included) if (root / included).exists() else None
    if (root / name).parent.joinpath(included).exists() or included in GENERATED:
        return top(name)
    return "include" if (root / "include" / included).exists() else None


def complaint_about_include(root, name, own, other):
    """A sentence, or None."""
    layer = top(name)
    if other:
        for pattern, knowers, what in FOREIGN:
            if pattern.match(other) and layer not in knowers:
                return f"{layer}/ knows nothing of {what}"
        return None
    leads_to = layer_of(root, name, own)
    if not leads_to:
        return "there is no such header"
    if leads_to not in MAY_INCLUDE[layer]:
        return f"{layer}/ knows nothing of {leads_to}/"
    return None


def check_includes(tap, root, names):
    problems = []
    for name in names:
        if top(name) not in MAY_INCLUDE or pathlib.Path(name).suffix not in CODE:
            continue
        for number, line in enumerate(read(root, name), 1):
            found = INCLUDE.match(line)
            complaint = found and complaint_about_include(root, name, *found.groups())
            if complaint:
                problems.append(f"{name}:{number}: {line.strip()}: {complaint}")
    tap.check(not problems, "includes point one way", "\n".join(problems))


def check_files(tap, title, broken):
    """`broken` says of each file that breaks a rule how."""
    tap.check(not broken, title,
              "\n".join(f"{name}: {how}" for name, how in sorted(broken.items())))


def check_lengths(tap, root, names):
    broken = {}
    for name in names:
        if top(name) in MAY_INCLUDE and pathlib.Path(name).suffix in CODE:
            lines = len(read(root, name))
            if lines > MOST_LINES:
                broken[name] = f"{lines} lines"
    check_files(tap, f"no file has more than {MOST_LINES} lines", broken)


def is_source(root, name):
    if pathlib.Path(name).suffix in CODE | {".py", ".sh"}:
        return True
    if pathlib.Path(name).suffix:
        return False
    with open(root / name, "rb") as file:
        return file.read(2) == b"#!"


def check_source_columns(tap, root, names):
    broken = {}
    for name in names:
        if is_source(root, name):
            wide = [str(number) for number, line in enumerate(read(root, name), 1)
                    if len(line) > MOST_COLUMNS]
            if wide:
                broken[name] = f"lines {', '.join(wide)}"
    check_files(tap, f"no line of a source is longer than {MOST_COLUMNS} columns", broken)


def prose(lines):
    """(number, line) of what stands in no block of code."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def check_page_columns(tap, root, pages):
    problems = []
    for page in pages:
        for number, line in prose(read(root, page)):
            apart = line.lstrip().startswith("|") or "://" in line
            if len(line) > MOST_COLUMNS and not apart:
                problems.append(f"{page}:{number}: {len(line)} columns")
    tap.check(not problems, f"no line of a page is longer than {MOST_COLUMNS} columns",
              "\n".join(problems))


def anchors(root, page):
    """What `#anchor` may name in a page, as GitHub makes names of headings."""
    found = set()
    for _, line in prose(read(root, page)):
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            text = re.sub(r"[^\w\- ]", "", heading.group(1).strip().lower())
            found.add(text.replace(" ", "-"))
    return found


def links(root, page):
    """(line number, target) of each relative link."""
    text = [(number, re.sub(r"`[^`]*`", "", line)) for number, line in prose(read(root, page))]
    for index, (number, line) in enumerate(text):
        # The text of a link may go over the end of a line.
        joined = f"{line} {text[index + 1][1]}" if index + 1 < len(text) else line
        for found in LINK.finditer(joined):
            if found.start() < len(line) and "://" not in found.group(1):
                yield number, found.group(1)


def check_links(tap, root, pages):
    problems = []
    for page in pages:
        for number, link in links(root, page):
            path, _, anchor = link.partition("#")
            target = (root / page).parent / path if path else root / page
            if not target.exists():
                problems.append(f"{page}:{number}: there is no {link}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(root, target):
                problems.append(f"{page}:{number}: {path or page} has no heading {anchor}")
    tap.check(not problems, "links of pages lead somewhere", "\n".join(problems))


def check_named_files(tap, root, names, pages):
    """NAME stands for any name; kernels' files are also named without their folder."""
    problems = []
    bare = {os.path.basename(name) for name in names}
    for page in pages:
        for number, line in prose(read(root, page)):
            missing = [name for name in NAMED_FILE.findall(line) if not (root / name).exists()]
            missing += [name for name in KERNEL_FILE.findall(line) if name not in bare]
            problems += [f"{page}:{number}: there is no {name}" for name in missing
                         if "NAME" not in name]
    tap.check(not problems, "files that pages name are there", "\n".join(problems))


def check_named_functions(tap, root, names, pages):
    """GStreamer's and GLib's are not looked for."""
    words = {word for name in names if os.path.splitext(name)[1] in CODE | {".py"}
             for word in re.findall(r"\w+", "\n".join(read(root, name)))}
    problems = [f"{page}:{number}: there is no {name}()" for page in pages
                for number, line in prose(read(root, page)) for name in NAMED_FUNCTION.findall(line)
                if name not in words and not OTHERS_FUNCTION.match(name)]
    tap.check(not problems, "functions that pages name are there", "\n".join(problems))


def check_map(tap, root, pages):
    folder = root / "docs"
    linked = {os.path.normpath(link.partition("#")[0])
              for _, link in links(root, "docs/README.md")}
    missing = [page for page in pages if top(page) == "docs" and page != "docs/README.md"
               and (root / page).relative_to(folder).as_posix() not in linked]
    tap.check(not missing, "docs/README.md names every page", "\n".join(missing))


def rooms(names, layer):
    return {name.split("/")[1] for name in names if top(name) == layer and name.count("/") > 1}


def check_rooms(tap, names):
    cpu, cuda = rooms(names, "cpu") - {"reference"}, rooms(names, "cuda")
    tap.check(cpu == cuda, "cpu/ and cuda/ have the same rooms",
              f"only in one of them: {' '.join(sorted(cpu ^ cuda))}")


def check_picture(tap, root, names):
    text = "\n".join(read(root, "CONTRIBUTING.md"))
    picture = text.partition("```\n")[2].partition("```")[0]
    named = {found.group(1) for found in map(PICTURE_ROW.match, picture.splitlines()) if found}
    there = {top(name) for name in names if "/" in name and not name.startswith(".")}
    problems = [f"{name}/ is in the picture, and not there" for name in sorted(named - there)]
    problems += [f"{name}/ is not in the picture" for name in sorted(there - named)]
    problems += [f"the room {room}/ is not in the picture"
                 for room in sorted(rooms(names, "cpu") | rooms(names, "cuda"))
                 if not re.search(rf"\b{room}\b", picture)]
    tap.check(not problems, "CONTRIBUTING.md's picture of the house is true", "\n".join(problems))


def run(tap, root):
    names = find_files(root)
    pages = [name for name in names if name.endswith(".md")]
    check_includes(tap, root, names)
    check_lengths(tap, root, names)
    check_source_columns(tap, root, names)
    check_rooms(tap, names)
    check_picture(tap, root, names)
    check_page_columns(tap, root, pages)
    check_links(tap, root, pages)
    check_named_files(tap, root, names, pages)
    check_named_functions(tap, root, names, pages)
    check_map(tap, root, pages)


if __name__ == "__main__":
    TREE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parents[1])
    harness.main(lambda tap: run(tap, TREE.resolve()))
