# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine tests of the build, which have a row for every engine, CUDA among them."""
import concurrent.futures
import re

from . import common


def kernel_tests(host):
    """The executables of tests/kernels."""
    folder = host.build / "tests" / "kernels"
    found = sorted(path for path in folder.glob("kernels-*") if path.is_file())
    if not found:
        raise common.Skipped("tests/kernels has no executables in the build")
    return found


def rows_of(text):
    """(good, why it was skipped, name, diagnostics) of every line of TAP."""
    said = []
    for line in text.splitlines():
        row = re.match(r"(not )?ok \d+ - (\S+)(?: # SKIP (.*))?", line)
        if row:
            yield not row[1], row[3], row[2], said
            said = []
        elif line.startswith("#"):
            said.append(line[1:].strip())


def run(host, result, deadline):
    host.need_gpu()
    tests = kernel_tests(host)
    devices = common.visible_devices()

    def outcome(index):
        return common.run_command([str(tests[index])], deadline.left(),
                                  common.take_turns(devices, index))

    with concurrent.futures.ThreadPoolExecutor(len(tests)) as pool:
        outcomes = list(pool.map(outcome, range(len(tests))))
    for test, said in zip(tests, outcomes):
        rows = list(rows_of(said.text))
        on_cuda = failed = 0
        reasons = {}
        for good, skipped, name, diagnostics in rows:
            failed += not good
            on_cuda += name.startswith("cuda/") and not skipped
            if skipped:
                result.skipped += 1
                reasons[skipped] = reasons.get(skipped, 0) + 1
            else:
                result.check(good, f"{test.name} {name}", "\n".join(diagnostics[:4]))
        if f"\n1..{len(rows)}\n" not in said.text:
            result.check(False, f"{test.name} reaches its end", said.detail())
        for reason, count in reasons.items():
            result.note(f"{test.name}: {count} rows skipped: {reason}")
        result.note(f"{test.name}: {len(rows)} rows, {on_cuda} on CUDA, {failed} failed")
        result.figures.append(f"{test.name.removeprefix('kernels-')} {on_cuda} on CUDA")
