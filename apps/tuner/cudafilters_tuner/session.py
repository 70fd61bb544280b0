# SPDX-License-Identifier: LGPL-2.1-or-later
"""The session, kept in $XDG_STATE_HOME/cudafilters-tuner/session.json."""
import json
import os
import pathlib

from gi.repository import GLib


def path():
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path(GLib.get_home_dir(), ".local/state")
    return pathlib.Path(state, "cudafilters-tuner", "session.json")


def read():
    """The last session; empty if there is none, or its file cannot be read."""
    try:
        kept = json.loads(path().read_text(encoding="utf-8"))
        return kept if isinstance(kept, dict) else {}
    except (OSError, ValueError):
        return {}


def write(kept):
    """Writes the session atomically."""
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        part = path().with_suffix(".part")
        part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        part.replace(path())
    except OSError:
        pass  # goes on without keeping the session
