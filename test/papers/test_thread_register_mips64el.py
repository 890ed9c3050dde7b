# SPDX-License-Identifier: MIT
"""The paper's MIPS has no thread register, so its kernel emulates one. That
makes a look-up of the own thread slow. This counts the emulated instructions
of one operation, in an emulated machine without that register. Skipped if that
machine's packages are not below the build folder."""

import pytest

from conftest import started
from bench.papers.arch import measuring, programs, rows
from bench.papers.nptl import rows as nptl


@pytest.fixture(scope="module")
def mips():
    """The machine with the benchmarks, started."""
    with started("mips64el", programs.BENCHES, counts=True) as found:
        yield found


@pytest.mark.parametrize("name, side, number", [
    (nptl.SELF, "NPTL", 1), (nptl.SELF, "LinuxThreads", 1),
    (nptl.SELF_BY_STACK, "LinuxThreads", 0), (rows.READ, "NPTL", 1),
    (rows.NOTHING, "NPTL", 0)])
def test_the_kernel_emulates_the_thread_register(mips, name, side, number):
    row = next(row for row in rows.ROWS if row.name == name)
    cell = measuring.Cell()
    measuring.kinds(row, side, cell)(mips)
    assert cell.kinds["emulated"] == pytest.approx(number, abs=0.05)
    assert cell.kinds["call"] == pytest.approx(0, abs=0.05)


def test_a_semaphore_that_always_wakes_enters_the_kernel(mips):
    row = next(row for row in rows.ROWS if row.name == nptl.WAKING_SEM)
    cell = measuring.Cell()
    measuring.kinds(row, "NPTL", cell)(mips)
    assert cell.kinds["call"] == pytest.approx(1, abs=0.05)
