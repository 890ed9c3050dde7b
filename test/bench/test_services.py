# SPDX-License-Identifier: MIT
"""./dev bench servers saves medians for the guide."""

import argparse
import subprocess

import pytest

from bench.lib import groups
from bench.servers import figures, saved

OPTIONS = argparse.Namespace(runs=5, seconds=1, favoured=False)


def row(rate=100.0, other_cpus=0.1, failed=None):
    side = {"requests": rate, "server_us": 50.123456, "other_cpus": other_cpus}
    return {"medians": {"native": side, "weft uring": side},
            "failed": failed or {}, "threads_made": {"weft uring": 9}}


def test_parts_are_saved_one_after_the_other(tmp_path):
    assert saved.save(tmp_path, {"a_1": row(), "b_1": row()}, OPTIONS) == {}
    assert saved.save(tmp_path, {"a_1": row(200.0)}, OPTIONS) == {}
    parts = saved.read(tmp_path)["parts"]
    assert list(parts) == ["a_1", "b_1"]
    assert parts["a_1"]["sides"]["native"]["requests"] == 200
    assert parts["b_1"]["sides"]["native"]["server_us"] == 50.12
    assert parts["b_1"]["threads_made"] == {"weft uring": 9}


@pytest.mark.parametrize("bad, why", [
    (row(300.0, other_cpus=1.7), "other programs used 1.7 CPUs"),
    (row(300.0, failed={"native": "status 1"}), "a side failed")])
def test_a_bad_value_replaces_no_good_one(tmp_path, bad, why):
    saved.save(tmp_path, {"a_1": row()}, OPTIONS)
    assert saved.save(tmp_path, {"a_1": bad}, OPTIONS) == {"a_1": why}
    parts = saved.read(tmp_path)["parts"]
    assert parts["a_1"]["sides"]["native"]["requests"] == 100


def test_a_favoured_service_beside_load(tmp_path):
    options = argparse.Namespace(runs=5, seconds=1, favoured=True)
    assert saved.save(tmp_path, {"a_1": row(other_cpus=1.7)}, options) == {}
    part = saved.read(tmp_path)["parts"]["a_1"]
    assert part["favoured"] and part["others"] == 1.7


def test_nothing_saved(tmp_path):
    assert saved.read(tmp_path) == {}


@pytest.mark.parametrize("runs, said", [
    ([5], "of 5 runs"), ([5, 5], "of 5 runs"), ([5, 3, 4], "of 3 to 5 runs")])
def test_runs_in_a_table(tmp_path, runs, said):
    """A table is of parts that were saved with different numbers of runs."""
    for nr, (load, number) in enumerate(zip(("point", "read", "write"), runs)):
        options = argparse.Namespace(runs=number, seconds=1, favoured=False)
        saved.save(tmp_path, {f"mariadb_{load}_16": row(100.0 + nr)}, options)
    text = figures.figure("service-mariadb", saved.read(tmp_path))[1]
    assert f"medians {said} of each side" in text


def group_of_a_child():
    return subprocess.run(["cat", "/proc/self/cgroup"], capture_output=True,
                          text=True, check=True).stdout


def test_favoured_children():
    """They are in the group, and are there no more behind it."""
    with groups.favoured() as is_allowed:
        if not is_allowed:
            pytest.skip("no control group can be made")
        assert "/weft-bench-favoured-" in group_of_a_child()
    assert "weft-bench-favoured" not in group_of_a_child()


def test_the_favoured_group_has_the_largest_weight():
    with groups.control_group("test", is_favoured=True) as enter:
        if enter is None:
            pytest.skip("no control group can be made")
        found = {path.name: int(path.read_text()) for folder in
                 groups.base().glob("weft-bench-test-*")
                 for path in folder.iterdir() if path.name in groups.WEIGHTS}
        assert found.items() <= groups.WEIGHTS.items() and found
