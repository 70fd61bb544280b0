# SPDX-License-Identifier: LGPL-2.1-or-later
"""GstHarness around elements in CUDA memory: see elements.c."""
import re

from . import common


def run(host, result, deadline):
    host.need_cuda_memory()
    said = common.run_command([str(host.program("tests/gpu/elements"))], deadline.left())
    rows = re.findall(r"^(not )?ok \d+ - (.*)$", said.text, re.MULTILINE)
    for failed, name in rows:
        result.check(not failed, name)
    planned = re.search(r"^1\.\.(\d+)$", said.text, re.MULTILINE)
    result.check(planned and int(planned[1]) == len(rows) and said.status is not None and
                 said.status >= 0, "the program reaches its end", said.detail())
