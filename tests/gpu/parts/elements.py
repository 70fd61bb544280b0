# SPDX-License-Identifier: LGPL-2.1-or-later
"""GstHarness around elements in CUDA memory: see elements.c, streams.c and tonemap.c."""
from . import tap


def run(host, result, deadline):
    host.need_cuda_memory()
    for program in ("elements", "streams", "tonemap"):
        tap.run_program(host, result, f"tests/gpu/{program}", deadline)
