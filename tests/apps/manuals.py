#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each program's --help fits a screen and has all options that the program takes, and its man page
has the same options and exit statuses."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pipelines"))
import harness

APPS = pathlib.Path(__file__).resolve().parents[2] / "apps"
BUILD = pathlib.Path(os.environ["CUDAFILTERS_BUILD"]) / "apps"
PAGES = {"relay": "cudafilters-relay.1", "transcode": "cudafilters-transcode.1",
         "anonymize": "cudafilters-anonymize.1", "tuner": "data/cudafilters-tuner.1"}
MOST_LINES, MOST_COLUMNS = 52, 100


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def taken(name):
    """The options of a program in C, by its GOptionEntry."""
    source = (APPS / name / "options.c").read_text(encoding="utf-8")
    return {f"--{word}" for word in re.findall(r'\{"([a-z-]+)",[^}]*G_OPTION_ARG', source)}


def statuses(text):
    told = re.search(r"Exit (?:status|codes): (.*?)(?:\n[A-Z]|\Z)", text, re.DOTALL)
    return set(re.findall(r"\b(\d+) [a-zA-Z]", told[1])) if told else set()


def page_statuses(page):
    section = re.search(r"\.SH EXIT STATUS\n(.*?)\.SH", page, re.DOTALL)
    return set(re.findall(r"^(?:\.BR? )?(\d+)\b", section[1], re.MULTILINE)) if section else set()


def check(tap, name):
    done = subprocess.run([BUILD / name / f"cudafilters-{name}", "--help"], capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode and "Debian" in done.stderr:
        tap.skip(name, done.stderr.strip())
        return
    page = (APPS / name / PAGES[name]).read_text(encoding="utf-8").replace("\\-", "-")
    lines = done.stdout.splitlines()
    tap.check(done.returncode == 0 and len(lines) <= MOST_LINES and
              max(map(len, lines)) <= MOST_COLUMNS, f"{name}: --help fits a screen",
              f"{len(lines)} lines\n{done.stderr}")
    told, described = options(done.stdout), options(page)
    tap.check(told == described, f"{name}: the man page has the options of --help",
              f"only in --help: {told - described}, only in the page: {described - told}")
    if (APPS / name / "options.c").exists():
        tap.check(told == taken(name), f"{name}: --help has all options", f"{told ^ taken(name)}")
    told, described = statuses(done.stdout), page_statuses(page)
    tap.check(told in (described, set()), f"{name}: the man page has the exit statuses of --help",
              f"{told} {described}")


def run(tap):
    for name in PAGES:
        check(tap, name)


if __name__ == "__main__":
    harness.main(run)
