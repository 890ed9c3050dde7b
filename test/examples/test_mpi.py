# SPDX-License-Identifier: MIT
"""examples/mpi: heat and farm compute what one thread computes, natively with
few threads and under `weft run --mpi` with thousands."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
LIMIT_S = 600
MPIEXEC = {"mpich": ["mpiexec.mpich"],
           "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to",
                       "none"]}
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
WEFT = [BUILD / "weft", "run", "--mpi", "--stats", "--"]


def run(mpi, prefix, name, *words):
    if shutil.which(f"mpiexec.{mpi}") is None or \
            not (BUILD / f"examples/mpi/{name}_{mpi}").exists():
        pytest.skip(f"no {mpi}")
    command = [*MPIEXEC[mpi], "-n", "2", *prefix,
               BUILD / f"examples/mpi/{name}_{mpi}", *words]
    return subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, **SETTINGS})


def counts(text, name):
    """The counter of each rank."""
    return [int(found) for found in re.findall(rf"{name}: (\d+)", text)]


@pytest.mark.parametrize("mpi", MPIEXEC)
@pytest.mark.parametrize("words", ["heat 2 8 10", "farm 2 10"])
def test_native(mpi, words):
    done = run(mpi, [], *words.split(), "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal to one thread's\n" in done.stdout


@pytest.mark.parametrize("mpi", MPIEXEC)
@pytest.mark.parametrize("words, threads",
                         [("heat 64 16 4", 2048), ("farm 2000 3000", 2000)])
def test_thousands_of_threads_on_weft(mpi, words, threads):
    done = run(mpi, WEFT, *words.split(), "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal to one thread's\n" in done.stdout
    made = counts(done.stderr, "threads made")
    parked = counts(done.stderr, "calls that parked their thread")
    assert len(made) == 2 and min(made) >= threads
    # A thread waits at least once: no neighbour or answer is that quick.
    assert len(parked) == 2 and sum(parked) > threads


@pytest.mark.parametrize("words, problem", [
    ("heat 0 1 1", "usage: heat TILES POINTS STEPS [--check]"),
    ("heat 2 1 1 --chek", "usage: heat TILES POINTS STEPS [--check]"),
    ("heat 1 1 1", "each rank needs a row of tiles"),
    ("farm 1", "usage: farm THREADS TASKS [--check]")])
def test_wrong_arguments(words, problem):
    """mpiexec may drop the last lines of a rank that ends at once."""
    text = ""
    for _ in range(20):
        done = run("mpich", [], *words.split())
        assert done.returncode != 0
        text += done.stderr + done.stdout
        if problem in text:
            break
    assert problem in text
