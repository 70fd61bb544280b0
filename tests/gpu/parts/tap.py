# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs of the build that print TAP."""
import re

from . import common


def run_program(host, result, path, deadline):
    said = common.run_command([str(host.program(path))], deadline.left())
    rows = re.findall(r"^(not )?ok \d+ - (.*)$", said.text, re.MULTILINE)
    for failed, name in rows:
        result.check(not failed, name, said.detail() if failed else "")
    planned = re.search(r"^1\.\.(\d+)$", said.text, re.MULTILINE)
    result.check(planned and int(planned[1]) == len(rows) and said.status is not None and
                 said.status >= 0, f"{path} reaches its end", said.detail())
