# SPDX-License-Identifier: MIT
"""Runs the runner and every program once with minimal measurements: the test
checks the output's form, not the speed."""

import json
import random
import re
import shutil

import pytest

from bench.lib import measure, sides
from bench.micro import run as micro
from bench.micro.rows import CASES
from conftest import BUILD

ROWS = ["yield_2", "mutex", "ring_5"]


def test_micro(bench, tmp_path):
    result = bench("micro", *ROWS, "--runs", 2, "--scale", 1, "--sides",
                   "native,weft")
    assert result.returncode == 0, result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["go"] is None and out["runs"] == 2
    assert out["machine"]["cpus"] > 0
    for name in ROWS:
        row = out["rows"][name]
        assert set(row["medians"]) == {"native", "weft"}
        for figures in row["samples"].values():
            assert len(figures) == 2 and min(figures) > 0
        assert row["weft_times_better"]["native"] > 0
        assert row["targets"] and not row["errors"]
        assert f"\n{name} " in result.stdout
    assert "targets met" in result.stdout


def test_micro_without_go(bench):
    result = bench("micro", "yield_2", "--runs", 1, "--scale", 1, "--go",
                   "/nonexistent/go")
    assert result.returncode == 0, result.stderr
    assert "go: left out, no '/nonexistent/go' is installed" in result.stdout


def test_micro_is_the_suite_if_none_is_named(bench):
    result = bench("--list")
    assert result.returncode == 0
    assert set(ROWS) <= set(result.stdout.split())


def test_steps(bench, tmp_path):
    """A yield is more than the switch, less than a creation."""
    result = bench("steps", "yield", "create_join", "--steps", 20000,
                   "--functions")
    assert result.returncode == 0, result.stdout + result.stderr
    if "impossible" in result.stdout:
        pytest.skip(result.stdout)
    found = json.loads((tmp_path / "out.json").read_text())["operations"]
    assert 50 < found["yield"]["instructions"] < \
        found["create_join"]["instructions"]
    for row in found.values():
        assert sum(row["functions"].values()) == \
            pytest.approx(row["instructions"])
    assert "pthread_join" in found["create_join"]["functions"]
    assert "pthread_join" not in found["yield"]["functions"]


def test_echo(bench, tmp_path):
    """Every server answers, and weft's options are shown."""
    result = bench("echo", "100", "10000_8M", "--runs", 1, "--seconds", 0.1,
                   "--connections", 7, "--go", "/nonexistent/go")
    assert result.returncode == 0, result.stdout + result.stderr
    parts = json.loads((tmp_path / "out.json").read_text())["parts"]
    assert set(parts) == {"100", "10000_8M"}
    medians = parts["100"]["medians"]
    assert {"native", "weft uring", "weft workers", "epoll"} <= set(medians)
    for figures in medians.values():
        assert figures["cpu_us"] > 0 and figures["requests"] > 0
    # One thread per connection, the kernel's or weft's.
    assert medians["native"]["threads"] == 8
    assert medians["weft uring"]["threads"] < 8
    assert "CPU us/request <=0.65x native" in parts["100"]["targets"][
        "weft uring"]
    assert "epoll" not in parts["10000_8M"]["medians"]


def test_ptl_n(bench, tmp_path):
    """All sides read and write. An operation without a waiter sends no notice
    in the paper's model; each one does in the other way."""
    result = bench("papers/ptl-n", "local-read-hit", "local-read-miss",
                   "slow-read-miss", "--units", "256", "--mib", 1, "--runs", 1,
                   "--plot", tmp_path / "out.png")
    assert result.returncode == 0, result.stdout + result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    hit = out["rows"]["local-read-hit"]["256"]["medians"]
    assert {"plain", "native", "weft uring", "weft workers alone",
            "model copies"} <= set(hit)
    for figures in hit.values():
        assert figures["elapsed_us"] > 0 and figures["io_us"] >= 0
    assert hit["model"]["notices"] <= hit["model tells"]["notices"] == 4
    assert hit["weft process"]["notices"] == 0
    miss = out["rows"]["local-read-miss"]["256"]["medians"]
    for side in ("model by timer", "model by socket"):
        assert side not in hit and miss[side]["elapsed_us"] > 0
        assert miss[side]["notices"] <= 4
    if "MB/s" in result.stdout:
        slow = out["rows"]["slow-read-miss"]["256"]["medians"]
        # It sleeps at least for the transfer time of the bytes.
        assert slow["plain"]["elapsed_us"] > (1 << 20) / 12
        assert slow["weft process"]["notices"] > 0


def test_files(bench, tmp_path):
    """Each way reads the same file; fio is there or is said not to be."""
    result = bench("files", "--runs", 1, "--mib", 8, "--ms", 100, "--count",
                   1000, "--folder", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert len(rows) == 9
    for name, row in rows.items():
        if "native" not in row["impossible"]:
            assert row["medians"]["native"] > 0 and row["medians"]["weft"] > 0
        if name.startswith("random"):
            assert "fio" in {**row["medians"], **row["impossible"]}


def test_backoff(bench, tmp_path):
    """Each way to back off passes all events on both sides, or the program
    fails. Rows that this machine cannot run say so."""
    result = bench("backoff", "--runs", 1, "--events", 500, "--ms", 20)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert {"queue_usleep", "flag_usleep", "python_sleep"} <= set(rows)
    for name, row in rows.items():
        if name != "java_yield" or not row["impossible"]:
            assert row["medians"]["native"] > 0 and row["medians"]["weft"] > 0


def test_programs(bench, tmp_path):
    """Each program runs on both sides, or is said to be impossible here."""
    result = bench("programs", "aio_suspend", "fio_psync", "zstd_beside_load",
                   "--runs", 1, "--ms", 200, "--folder", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert list(rows) == ["aio_suspend", "fio_psync", "zstd_beside_load"]
    for row in rows.values():
        for side in ("native", "weft"):
            assert row["impossible"].get(side) or row["medians"][side] > 0


@pytest.mark.parametrize("part", ["apache_keep_16", "gunicorn_wait_16",
                                  "openmp_regions_16"])
def test_servers(bench, tmp_path, part):
    """A service of each side is loaded, or is said not to be there. The one on
    weft has made threads there."""
    result = bench("servers", part, "--runs", 1, "--seconds", 1)
    assert result.returncode == 0, result.stdout + result.stderr
    parts = json.loads((tmp_path / "out.json").read_text())["parts"]
    assert bool(parts) != bool(re.search("there is no| has no ", result.stdout))
    for row in parts.values():
        assert row["threads_made"]["weft uring"] >= 2
        assert set(row["medians"]) == {"native", "weft uring"}
        for figures in row["medians"].values():
            assert figures["requests"] > 0
            assert figures["server_us"] >= figures["system_us"]
            assert figures["server_us"] + figures["client_us"] > 0


def test_echo_unknown_part(bench):
    result = bench("echo", "1")
    assert result.returncode == 2 and "no part 1" in result.stderr


def test_selection():
    def names(*wanted):
        return [case.name for case in micro.selected(wanted)]
    assert names("yield") == ["yield_2", "yield_1000"]
    assert names("sem", "ring_5") == ["ring_5", "sem"]
    assert "million_64K" in names("million") and \
        "million_64K" not in names()


def test_micro_unknown_row(bench):
    result = bench("micro", "fly")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and "'fly'" in result.stderr


@pytest.mark.parametrize("side", ["native", "weft"])
@pytest.mark.parametrize("case", [
    case for case in CASES if not case.is_big and not case.timed and
    "10000" not in case.name], ids=lambda case: case.name)
def test_program(case, side):
    """Each program prints its rows' figures and no others."""
    options = micro.parse(["--scale", "1"])
    runner = micro.runner(case, side, sides.Sides(BUILD), options)
    result = runner()
    assert not result.error and not result.impossible, result
    assert len(result.figures) == len(case.targets)
    assert {case.row_of(name) for name in result.figures} == set(case.targets)


def test_too_many_threads(tmp_path):
    """A side that cannot run is distinguished from one that fails."""
    program = BUILD / "bench/micro/bench_ring_sem"
    result = measure.run(["/bin/sh", "-c", 'ulimit -v 100000; exec "$@"', "sh",
                          str(program), "1", "1000"])
    assert result.impossible.startswith("pthread_create: ")


def test_tsp(bench, tmp_path):
    result = bench("papers/tsp", "--cities", 5, 6, "--locks", "none", "--runs",
                   1, "--scale", 1, "--plot", tmp_path / "tsp.png")
    assert result.returncode == 0, result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert set(out["cities"]) == {"5", "6"} and not out["failed"]
    for times in out["cities"].values():
        assert len(times) == 4 and min(times.values()) > 0
    plotted = (tmp_path / "tsp.png").exists()
    assert plotted != ("not installed" in result.stdout)


def test_ring(bench, tmp_path):
    result = bench("papers/ring", "--threads", "3", "--runs", "1", "--scale",
                   "1", "--ways", "signals,words,words random",
                   "--plot", tmp_path / "ring.png")
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads((tmp_path / "out.json").read_text())
    for ring in table["rings"].values():
        assert {"signals", "words", "words random"} == \
            set(ring["3"]["medians"])
        assert all(row["latency"] > 0 for row in ring["3"]["medians"].values())
    assert "words" in result.stdout


def test_power(bench, tmp_path):
    """Each number of agents has its figures: no token and no word is lost."""
    result = bench("papers/power", "--runs", 1, "--scale", 1, "--pauses", 15,
                   "20000", "--vps", 1, 3)
    assert result.returncode == 0, result.stdout + result.stderr
    tables = json.loads((tmp_path / "out.json").read_text())["vps"]
    for vps, agents in (("1", ["0", "1"]), ("3", ["0", "1", "2", "3"])):
        assert set(tables[vps]) == {"a ring of 5 threads",
                                    "a word every 15 us",
                                    "a word every 20000 us"}
        for rows in tables[vps].values():
            assert list(rows) == [*agents, "adaptive"]
            for row in rows.values():
                assert row["medians"]["latency"] > 0
                assert row["medians"]["cpu"] > 0


def test_nptl(bench, tmp_path):
    """Each side has figures, unless the model is missing. Calls into the
    kernel are counted, and other calls are not."""
    result = bench("papers/nptl", "--runs", 1, "--scale", 1)
    assert result.returncode == 0, result.stdout + result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["machine"]["cpus"] > 0 and not out["errors"]
    has_model = (BUILD / "bench/papers/linuxthreads").exists()
    for costs in (out["rows"], out["rows_all_cpus"]):
        for name, row in costs.items():
            assert all(cost > 0 for cost in row["medians"].values()), name
            if row["paper"][0]:
                assert {"NPTL", "weft"} <= set(row["medians"])
                assert ("LinuxThreads" in row["medians"]) == has_model
            assert f"\n{name} " in result.stdout
    for name, row in out["witness"]["rows"].items():
        assert "NPTL" in row["medians"], name
        assert ("dietlibc" in row["medians"]) == bool(shutil.which("diet"))
    if "impossible" not in result.stdout:
        calls = out["calls"]
        assert calls["semaphore that wakes"]["NPTL"] == \
            pytest.approx(1, abs=0.2)
        assert calls["mutex call"]["NPTL"] < 0.2
        # A restart is one kill(), a suspension at least two calls.
        assert not has_model or \
            calls["switch by semaphore"]["LinuxThreads"] > 2


def test_timed():
    result = measure.timed("row", ["sleep", "0.01"], 3)
    assert not result.error and result.figures["row"] >= 10


@pytest.mark.parametrize("command, limit_s, error", [
    (["false"], 60, "status 1"),
    (["sleep", "600"], 0.01, "no end after 0.01 s"),
])
def test_timed_that_fails(command, limit_s, error):
    assert measure.timed("row", command, 3, limit_s).error == error


DECODER = BUILD / "bench/papers/decode/bench_decode"


def decoded(path, *args, front=()):
    result = measure.run([*map(str, front), str(DECODER), str(path), *args])
    assert not result.error, result
    return result.figures["sum"]


def test_decoder(tmp_path):
    """The samples are those of the specification: the first four are worked out
    by hand, and silence follows."""
    path = tmp_path / "sound"
    # The low nibble comes first: 7 with step 7 adds 11; 9, which is -1, with
    # step 16 subtracts 6; 0 with steps 14 and 13 adds 1 each. Then -0 and +0
    # alternate, and their differences cancel.
    path.write_bytes(bytes([0x97, 0x00]) + b"\x08" * ((1 << 20) - 2))
    samples, sample, index = [], 0, 0
    steps = [7, 8, 9, 10, 11, 12, 13, 14, 16, 17]
    for nibble in (7, 9, 0, 0, *[8, 0] * ((1 << 20) - 2)):
        step = steps[index]
        size = (step >> 3) + sum(step >> shift for bit, shift in
                                 ((4, 0), (2, 1), (1, 2)) if nibble & bit)
        sample += -size if nibble & 8 else size
        index = max(0, index + (8 if nibble & 7 == 7 else -1))
        samples.append(sample)
    assert samples[:4] == [11, 5, 6, 7] and samples[-1] == samples[-3]
    assert decoded(path, "1", "4", "hit", "1", "plain") == sum(samples)


@pytest.mark.parametrize("front", [
    (), (BUILD / "weft", "run", "--vps", "1", "--"),
    (BUILD / "weft", "run", "--io", "process", "--")],
    ids=["native", "weft", "weft_process"])
def test_decoding_while_reading(tmp_path, front):
    """Two threads decode the same as one, for each unit size."""
    path = tmp_path / "sound"
    path.write_bytes(random.Random(1).randbytes(1 << 20))
    right = decoded(path, "1", "1024", "hit", "1", "plain")
    for unit in ("4", "64"):
        assert decoded(path, "1", unit, "miss", "1", "threads",
                       front=front) == right


def test_decode(bench, tmp_path):
    result = bench("papers/decode", "--runs", 1, "--mib", 1, "--units", 256,
                   "--bytes-per-us", 100)
    assert result.returncode == 0, result.stdout + result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    places = {"local", "slow"} if out["slow"] == "mounted" else {"local"}
    assert {name.split(",")[0] for name in out["rows"]} == places
    assert len(out["rows"]) == 3 * len(places)
    for row in out["rows"].values():
        assert {"read only", "decode only", "plain", "native", "weft process",
                "weft process favoured"} <= set(row["medians"])
        sums = {got["sum"] for side, got in row["medians"].items()
                if side != "read only"}
        assert len(sums) == 1 and not row["failed"]


def test_priorities(bench, tmp_path):
    """Each nice value has all figures: every kind of request was made."""
    result = bench("papers/priorities", "--runs", 1, "--ms", 300, "--mib", 2,
                   "--io-nice", 0, "-5")
    assert result.returncode == 0, result.stdout + result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert set(out["rows"]) == ({"local", "slow"} if out["slow"] == "mounted"
                                else {"local"})
    for row in out["rows"].values():
        assert set(row["medians"]) == {"native", "io-nice 0", "io-nice -5"}
        for figures in row["medians"].values():
            assert len(figures) == 6 and not row["failed"]
            assert 0 < figures["small_us"] <= figures["small_p99_us"]
            assert figures["turn_us"] > 0
