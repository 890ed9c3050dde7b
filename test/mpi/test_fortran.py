# SPDX-License-Identifier: MIT
"""MPI's three Fortran interfaces arrive in the functions that weft replaces."""

import shutil

import pytest

from conftest import HERE, PLACE

INTERFACES = {
    "mpif.h": {"@USE@": "", "@INCLUDE@": "include 'mpif.h'",
               "@COMM@": "integer",
               "@STATUS@": "integer :: status(MPI_STATUS_SIZE)",
               "@TAG@": "status(MPI_TAG)"},
    "mpi": {"@USE@": "use mpi", "@INCLUDE@": "", "@COMM@": "integer",
            "@STATUS@": "integer :: status(MPI_STATUS_SIZE)",
            "@TAG@": "status(MPI_TAG)"},
    "mpi_f08": {"@USE@": "use mpi_f08", "@INCLUDE@": "",
                "@COMM@": "type(MPI_Comm)",
                "@STATUS@": "type(MPI_Status) :: status",
                "@TAG@": "status%MPI_TAG"},
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_threads_of_a_fortran_program_park(mpi, tmp_path, interface):
    if shutil.which(f"mpifort.{mpi.name}") is None:
        pytest.skip("no Fortran compiler")
    text = (HERE / "messages.f90").read_text()
    for word, line in INTERFACES[interface].items():
        text = text.replace(word, line)
    PLACE.mkdir(parents=True, exist_ok=True)
    source = tmp_path / "messages.f90"
    source.write_text(text)
    program = mpi.compile(source, f"messages-{interface}", "-fopenmp",
                          "-fallow-argument-mismatch", compiler="mpifort")
    done = mpi.run(program, stats=tmp_path)
    assert done.status == 0, done.output
    assert "wrong 0\n" in done.output
    # Of each rank: 80 sends, 80 receives, a reduction and a barrier.
    assert done.count("at_once") + done.count("parked") == 2 * 162
    assert done.count("parked") == done.count("polled")
