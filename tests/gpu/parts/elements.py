# SPDX-License-Identifier: LGPL-2.1-or-later
"""GstHarness around elements in CUDA memory: see elements.c."""
from . import tap


def run(host, result, deadline):
    host.need_cuda_memory()
    tap.run_program(host, result, "tests/gpu/elements", deadline)
