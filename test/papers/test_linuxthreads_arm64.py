# SPDX-License-Identifier: MIT
"""The model of LinuxThreads passes its tests on Debian's arm64 kernel, in an
emulated machine. Skipped if that machine's packages are not below the build
folder."""

import pytest

from conftest import started
from bench.papers.arch import prepare, programs

# The kernel's entry takes up to 80 times as long there. There is one emulated
# CPU, and two threads that wake each other take many times as long on a busy
# machine.
CASE_LIMIT_S = 120


@pytest.fixture(scope="module")
def arm():
    """The machine with the tests, started."""
    with started("aarch64", programs.TESTS) as found:
        yield found


@pytest.mark.parametrize("name, self_by", [("linuxthreads", "register"),
                                           ("linuxthreads_ends", "stack")])
def test_linuxthreads(arm, name, self_by):
    assert arm.cpu == "aarch64"
    program = f"/bin/test_{name}"
    preload = {"LD_PRELOAD": f"/lib/{prepare.LIBRARY}",
               "LINUXTHREADS_SELF": self_by}
    cases = arm.run([program, "--list"]).lines
    assert len(cases) >= 5, cases
    failed = {}
    for case in cases:
        answer = arm.run([program, case], preload, limit_s=CASE_LIMIT_S)
        if answer.status != 0 or answer.last != f"ok {case}":
            failed[case] = answer
    assert not failed
