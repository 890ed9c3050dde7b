"""Objects that processes on weft share with others, which need not be."""

import pathlib
import platform
import subprocess

import pytest

from conftest import BUILD, LIMIT_S, WEFT, environment, run, statistics

SHARED = BUILD / "test/manners/manners_shared"
WAYS = {"native": [], "weft": WEFT, "weft-1": [*WEFT, "--vps", "1"]}
PAIRS = [("weft", "native"), ("native", "weft"), ("weft", "weft"),
         ("weft-1", "native"), ("weft", "weft-1")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "objects"
    assert run([SHARED, "make", path]).stdout == "ok\n"
    return path


def start(way, what, file):
    command = [*WAYS[way], SHARED, what, file]
    return subprocess.Popen(list(map(str, command)), env=environment(),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            text=True)


@pytest.mark.parametrize("first, second", PAIRS)
def test_both_use_all(first, second, file):
    pair = [start(way, "use", file) for way in (first, second)]
    try:
        ends = [p.communicate(timeout=LIMIT_S)[0] for p in pair]
    finally:
        for p in pair:
            p.kill()
            p.wait()
    assert ends == ["ok\n", "ok\n"]


@pytest.mark.parametrize("owner, heir", PAIRS)
def test_owner_is_killed(owner, heir, file):
    holder = start(owner, "hold", file)
    try:
        assert holder.stdout.readline() == "held\n"
        inheriting = start(heir, "inherit", file)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert inheriting.communicate(timeout=LIMIT_S)[0] == (
        "Owner died\nok\n")
    assert inheriting.returncode == 0


def kernel_can_wait():
    """Linux 6.7, and io_uring not forbidden."""
    setting = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
    release = platform.release().split("-")[0].split(".")
    return (tuple(map(int, release[:2])) >= (6, 7)
            and (not setting.exists() or setting.read_text().strip() == "0"))


def test_waiting_takes_no_kernel_thread(file):
    result = run([*WEFT, "--stats", "--vps", "2", SHARED, "crowd", file])
    assert result.stdout == "ok\n"
    if not kernel_can_wait():
        pytest.skip("the kernel waits for futexes in system calls only")
    assert int(statistics(result)["carriers made"]) < 50
