# SPDX-License-Identifier: MIT
"""./dev bench mpi: each side of a row has a figure, and a side that does not
end in time is impossible and no failure."""

import json
import os
import shutil

import pytest

SIDES = {"native", "library", "plain", "weft"}


def row(bench, tmp_path, name, *words):
    mpi = name.split(",")[0]
    for tool in (f"mpicc.{mpi}", f"mpiexec.{mpi}"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    result = bench("mpi", "--only", name, "--runs", 1, *words)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads((tmp_path / "out.json").read_text())["rows"][name]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_all_sides(bench, tmp_path, mpi):
    found = row(bench, tmp_path, f"{mpi}, 16 with 20 us", "--ms", 50)
    assert set(found["medians"]) == SIDES
    assert found["targets"] and not found["errors"]
    # Each round trip computes for 40 us.
    for side, figure in found["medians"].items():
        assert figure > 20 / os.cpu_count(), side


def test_a_side_that_does_not_end(bench, tmp_path):
    found = row(bench, tmp_path, "mpich, 4000 threads", "--sides", "native",
                "--limit", 1)
    assert found["impossible"] == {"native": "no end after 1 s"}


def test_unknown_side(bench):
    result = bench("mpi", "--sides", "native,go")
    assert result.returncode == 2
    assert "unknown side 'go'" in result.stderr
