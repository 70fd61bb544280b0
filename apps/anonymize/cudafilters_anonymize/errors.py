# SPDX-License-Identifier: LGPL-2.1-or-later
"""Problems that are told to the user in one sentence."""

FAILED, USAGE, INTERRUPTED = 1, 2, 130


class Problem(Exception):
    """What failed, on which value, and what to do; `status` is the exit status."""

    def __init__(self, message, status=FAILED):
        super().__init__(message)
        self.status = status


class Interrupted(Exception):
    """SIGINT or SIGTERM came."""
