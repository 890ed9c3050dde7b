# SPDX-License-Identifier: MIT
"""The locks of bench/papers/locks and the salesman that runs with them: each
keeps threads apart, natively and on weft; the suites write all rows."""

import json
import random
import subprocess

import pytest

from bench.lib import measure, sides
from conftest import BUILD

KINDS = ("mutex", "semaphore", "plain", "peterson", "bakery", "fast")
STRESS = BUILD / "test/stress/stress_locks"
TSP = BUILD / "bench/papers/tsp/bench_tsp"
ONE_CPU = ["taskset", "-c", str(sides.one_cpu())]
WEFT = [str(BUILD / "weft"), "run"]
OFTEN = ["--preempt-every", "100us"]


def stress(front, percent=100):
    """Ends with "held" after the seed that it prints."""
    result = subprocess.run(
        [*front, str(STRESS), str(random.getrandbits(48)), str(percent)],
        capture_output=True, text=True, timeout=100,
        env=sides.environment())
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("seed ")
    assert result.stdout.endswith("held\n")


@pytest.mark.parametrize("front, percent", [
    ([], 300), ([*WEFT, "--vps", "2", "--"], 100)], ids=["native", "weft"])
def test_locks_exclude(front, percent):
    stress(front, percent)


@pytest.mark.parametrize("front", [
    [], [*WEFT, "--vps", "1", "--"], [*WEFT, "--vps", "1", *OFTEN, "--"],
    [*WEFT, "--vps", "2", *OFTEN, "--"],
], ids=["native", "weft", "weft_often", "weft_2"])
def test_locks_exclude_on_one_cpu(front):
    stress([*ONE_CPU, *front])


def test_table(bench, tmp_path):
    result = bench("papers/locks", "--runs", 1, "--scale", 1)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert len(rows) == 12
    for name, row in rows.items():
        assert f"\n{name} " in result.stdout and not row["error"]
        assert row["medians"]["lock"] >= 0 and row["medians"]["unlock"] >= 0
    assert rows["kernel semaphore"]["medians"]["lock"] > 0
    assert rows["bakery, 8 threads"]["medians"]["lock_fences"] == 2
    assert rows["libc mutex"]["medians"]["lock_fences"] == 0
    assert "the paper: 1.6 and 1.4" in result.stdout


@pytest.mark.parametrize("front", [[], WEFT], ids=["native", "weft"])
@pytest.mark.parametrize("kind", KINDS)
def test_tsp_with(kind, front):
    """The shortest tour equals the one found without threads. The program
    fails if a visit is lost."""
    def run(front, *args):
        result = measure.run([*front, str(TSP), "8", *args])
        assert not result.error and not result.impossible, result
        return result.figures["length"]
    one_cpu = ONE_CPU if kind == "plain" else []
    assert run([*one_cpu, *front], "2", "1", kind, "3") == run([], "0", "1")


def test_tsp_with_locks(bench, tmp_path):
    result = bench("papers/tsp", "--cities", 5, 5, "--lock-cities", 5, 6,
                   "--pairs", 0, 2, "--locks", "plain,peterson,mutex",
                   "--runs", 1, "--scale", 1, "--plot", tmp_path / "tsp.png")
    assert result.returncode == 0, result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert set(out["locks"]) == {"0", "2"} and not out["failed"]
    for table in out["locks"].values():
        assert set(table) == {"5", "6"}
        for rows in table.values():
            assert set(rows) == {"native", "weft, 1 VP", "weft, all VPs"}
            assert set(rows["weft, 1 VP"]) == {"mutex", "plain", "peterson"}
            assert {"mutex", "peterson"} <= set(rows["native"])
            assert all(ms > 0 for row in rows.values()
                       for ms in row.values())


def test_peterson_is_for_two(bench, tmp_path):
    result = bench("papers/tsp", "--cities", 5, 5, "--lock-cities", 5, 5,
                   "--pairs", 1, "--locks", "peterson", "--lock-threads", 3,
                   "--runs", 1, "--scale", 1, "--plot", tmp_path / "tsp.png")
    assert result.returncode == 0, result.stderr
    assert "peterson: the lock is not for so many threads" in result.stdout


def test_unknown_lock(bench):
    result = bench("papers/tsp", "--locks", "mutex,dekker")
    assert result.returncode == 2
    assert "no lock is called dekker" in result.stderr
