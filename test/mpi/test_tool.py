# SPDX-License-Identifier: MIT
"""A profiling tool sees the program's calls, and none of weft's."""

import pytest

from conftest import HERE

COUNTED = ("sends 80 receives 80 waits 40 isends 0 tests 0 reductions 16 "
           "dups 8")


def library(mpi):
    return mpi.compile(HERE / "tool.c", "tool.so", "-shared", "-fPIC")


def preloaded(mpi):
    return mpi.program("tooled"), {"LD_PRELOAD": str(library(mpi))}


def linked(mpi):
    path = library(mpi)
    return mpi.compile(HERE / "tooled.c", "linked", path), {}


def inside(mpi):
    return mpi.compile(HERE / "tooled.c", "inside", HERE / "tool.c"), {}


@pytest.mark.parametrize("weft", [False, True], ids=["native", "weft"])
@pytest.mark.parametrize("how", [preloaded, linked, inside])
def test_counts_the_programs_calls(mpi, tmp_path, how, weft):
    program, extra = how(mpi)
    # mpiexec is no MPI program, and must not load the tool.
    words = [f"{name}={value}" for name, value in extra.items()]
    ranks = ["-n", "2", "env", *words, *mpi.command(weft, program)]
    done = mpi.run(program, ranks=ranks, stats=tmp_path if weft else None)
    assert done.status == 0, done.output
    assert COUNTED in done.output
    if weft:
        assert done.count("at_once") + done.count("parked") > 0
        assert done.count("bound") == 2 * (8 + 1)
