# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors for the user, in one sentence each."""

FAILED, USAGE, INTERRUPTED = 1, 2, 130


class Problem(Exception):
    """An error: what failed, on which value, and what to do; `status` is the exit status."""

    def __init__(self, message, status=FAILED):
        super().__init__(message)
        self.status = status


class Interrupted(Exception):
    """SIGINT, SIGTERM or SIGHUP was received."""
