# SPDX-License-Identifier: MIT
"""Errors, and jobs that end while threads wait for messages."""

import pytest

LACKS = "weft: --mpi: rank {} does not run with --mpi"


@pytest.mark.parametrize("weft", [False, True], ids=["native", "weft"])
@pytest.mark.parametrize("case", ["truncate", "handler", "cancel", "nothing"])
def test_errors_reach_the_caller(mpi, tmp_path, case, weft):
    done = mpi.run(mpi.program("ends"), case, weft=weft,
                   stats=tmp_path if weft else None)
    assert done.status == 0, done.output
    assert f"ok {case}" in done.output
    if weft and case != "nothing":
        assert done.count("parked") > 0


@pytest.mark.parametrize("weft", [False, True], ids=["native", "weft"])
@pytest.mark.parametrize("case", ["fatal", "abort", "die"])
def test_the_job_ends(mpi, case, weft):
    done = mpi.run(mpi.program("ends"), case, weft=weft)
    assert done.status != 0
    assert "wrong" not in done.output
    if case == "abort":
        assert done.status == 5


def test_finalize_with_waiting_threads_ends_and_says_so(mpi, tmp_path):
    done = mpi.run(mpi.program("ends"), "finalize")
    assert done.status == 0, done.output
    assert ("weft: --mpi: MPI_Finalize while 16 threads wait in MPI calls"
            in done.output)
    assert "wrong" not in done.output


def test_a_program_below_thread_multiple_is_untouched(mpi, tmp_path):
    done = mpi.run(mpi.program("ends"), "serialized", stats=tmp_path)
    assert done.status == 0, done.output
    assert "ok serialized" in done.output
    assert done.counters == []


@pytest.mark.parametrize("first", [False, True], ids=["second", "first"])
def test_a_rank_without_weft_is_reported(mpi, first):
    program = mpi.program("ends")
    ranks = ["-n", "1", *mpi.command(first, program, "abort"), ":",
             "-n", "1", *mpi.command(not first, program, "abort")]
    done = mpi.run(program, ranks=ranks)
    assert done.status != 0
    assert LACKS.format(1 if first else 0) in done.output
