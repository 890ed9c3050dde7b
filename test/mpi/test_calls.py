# SPDX-License-Identifier: MIT
"""A thread in a blocking MPI call does not hold up others."""

import pytest

# name, are its calls made on kernel threads?
CASES = {
    "ssend": False, "recv": False, "sendrecv": False,
    "sendrecv_replace": False, "wait": False, "persistent": False,
    "waitall": False, "waitany": False, "waitsome": False, "probe": False,
    "mprobe": False, "barrier": False, "allreduce": False,
    "collectives": False, "win_wait": False,
    "comm_dup": True, "win_fence": True, "win_lock": True, "file_read": True,
}
# Made by each rank in each case: two communicators, a window, a file, their
# ends, and MPI_Finalize.
BOUND_ALWAYS = 7


@pytest.mark.parametrize("case", CASES)
def test_63_other_threads_go_on(mpi, tmp_path, case):
    done = mpi.run(mpi.program("calls"), case, tmp_path / "file", 63,
                   stats=tmp_path)
    assert done.status == 0, done.output
    assert f"ok {case}" in done.output
    assert len(done.counters) == 2
    # 63 threads do not all find their message at once.
    assert done.count("parked") > 0
    assert done.count("parked") == done.count("polled")
    bound = done.count("bound") - 2 * BOUND_ALWAYS
    # MPI_Win_start and MPI_Win_complete of the case win_wait are bound, too.
    assert bound > 0 or not CASES[case]
    assert bound == 0 or CASES[case] or case == "win_wait"


@pytest.mark.parametrize("case", CASES)
def test_natively_the_results_are_the_same(mpi, tmp_path, case):
    done = mpi.run(mpi.program("calls"), case, tmp_path / "file", 3, weft=False)
    assert done.status == 0, done.output
    assert f"ok {case}" in done.output
