#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The grid's rows are what the benchmark understands, and a part of it is measured and drawn.

usage: grid-check.py BUILD
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests/pipelines"))
import harness

import grid

SVG = "{http://www.w3.org/2000/svg}"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **options)


def check_rows(tap):
    for gpu in (False, True):
        full, few = ({(row.group, row.series, row.place, row.title) for row in rows}
                     for rows in (grid.rows(True, gpu), grid.rows(False, gpu)))
        tap.check(few < full and len(full) == len(grid.rows(True, gpu))
                  and {row[0] for row in few} == {row[0] for row in full},
                  f"{len(few)} rows of {len(full)} on a {'GPU' if gpu else 'CPU'}")


def check_batch(tap, build):
    """The benchmark refuses none of the words of a row; 33x17 in the place of its size, once."""
    rows = {(row.element, row.settings, row.options, row.format): row
            for row in grid.rows(True, False) if row.group != "energy"}
    text = ""
    for row in rows.values():
        if "--streams" in row.options:
            continue
        words = row.arguments("cpu")
        words[words.index("--size") + 1] = "33x17"
        text += " ".join([*words, "--runs", "1", "--threads", "1"]) + "\n"
    done = run(build / "tests/bench/cudafilters-bench", "--batch", "-", input=text)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    tap.check(done.returncode == 0 and len(results) == text.count("\n")
              and not any("error" in one for one in results),
              f"{len(results)} rows are understood", done.stderr)


def check_charts(tap, build, folder):
    report = folder / "bench.json"
    done = run(sys.executable, HERE / "grid-run.py", "--build", build, "--backend", "cpu", "--only",
               "blocks", "--only", "regions", "--output", report)
    tap.check(done.returncode == 0 and "cudagaussblur sigma 10, NV12" in done.stdout,
              "a part is measured", done.stdout + done.stderr)
    if not report.exists():
        return
    content = json.loads(report.read_text(encoding="utf-8"))
    tap.check(content["machine"]["cores"] >= 1 and len(content["rows"]) == 12
              and all(row["min_ms"] > 0 for row in content["rows"]),
              "figures are there", json.dumps(content))
    done = run(sys.executable, ROOT / "tools/charts", report)
    drawn = sorted(path.name for path in folder.glob("*.svg"))
    tap.check(done.returncode == 0 and drawn == ["bench-blocks.svg", "bench-regions.svg"],
              "charts are drawn", done.stderr)
    for name in drawn:
        texts = [one.text for one in xml.parse(folder / name).iter(SVG + "text")]
        wanted = {row["series"] for row in content["rows"] if row["group"] in name}
        tap.check(all(any(series in text for text in texts) for series in wanted),
                  f"{name} names its lines", repr(texts))


def check_page(tap):
    """Charts and tables are those of the figures that are kept with them."""
    done = run(sys.executable, ROOT / "tools/charts", "--check")
    tap.check(done.returncode == 0, "charts of the pages are their figures'",
              done.stdout + done.stderr)


def main():
    tap = harness.Tap()
    build = pathlib.Path(sys.argv[1]).resolve()
    check_rows(tap)
    check_page(tap)
    check_batch(tap, build)
    with tempfile.TemporaryDirectory() as folder:
        check_charts(tap, build, pathlib.Path(folder))
    return tap.finish()


sys.exit(main())
