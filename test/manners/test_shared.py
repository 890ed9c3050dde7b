# SPDX-License-Identifier: MIT
"""Objects that processes on weft share with processes that may run
natively."""

import ctypes
import pathlib
import platform
import subprocess
import tempfile

import pytest

from conftest import BUILD, LIMIT_S, WEFT, environment, run, statistics

SHARED = BUILD / "test/manners/manners_shared"
WAYS = {"native": [], "weft": WEFT, "weft-1": [*WEFT, "--vps", "1"]}
PAIRS = [("weft", "native"), ("native", "weft"), ("weft", "weft"),
         ("weft-1", "native"), ("weft", "weft-1")]


@pytest.fixture
def file():
    """Yields a file with the shared objects, in memory. The kernel may write a
    page of a file on a disk back just when a thread stores to it, and that
    store would block the carrier."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = pathlib.Path(folder) / "objects"
        assert run([SHARED, "make", path]).stdout == "ok\n"
        yield path


def start(way, what, file):
    command = [*WAYS[way], SHARED, what, file]
    return subprocess.Popen(list(map(str, command)), env=environment(),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            text=True)


def run_pair(what, first, second, file):
    pair = [start(way, what, file) for way in (first, second)]
    try:
        ends = [p.communicate(timeout=LIMIT_S)[0] for p in pair]
    finally:
        for p in pair:
            p.kill()
            p.wait()
    assert ends == ["ok\n", "ok\n"]


@pytest.mark.parametrize("first, second", PAIRS)
def test_both_use_all(first, second, file):
    run_pair("use", first, second, file)


@pytest.mark.parametrize("first, second", PAIRS)
def test_no_signal_is_lost(first, second, file):
    run_pair("pass", first, second, file)


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


def protocol_is_known():
    """Of glibc's for conditions: where does a signal to three waiters that do
    not exist leave its mark?"""
    of_old, new = (ctypes.c_uint32 * 12)(), (ctypes.c_uint32 * 12)()
    of_old[0] = new[0] = 3 << 1
    of_old[9] = new[7] = 3 << 3
    libc = ctypes.CDLL(None)
    libc.pthread_cond_signal(of_old)
    libc.pthread_cond_signal(new)
    return (list(of_old) == [7, 0, 1, 0, 0, 0, 2, 0, 12, 24, 2, 0]
            or list(new) == [7, 0, 0, 0, 2, 0, 12, 24, 1, 0, 0, 0])


def kernel_can_wait():
    """True if io_uring can wait for futexes: the kernel is Linux 6.7 or newer
    and permits io_uring."""
    setting = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
    release = platform.release().split("-")[0].split(".")
    return (tuple(map(int, release[:2])) >= (6, 7)
            and (not setting.exists() or setting.read_text().strip() == "0"))


@pytest.mark.parametrize("what", ["semaphore", "condition", "reader", "writer",
                                  "barrier"])
@pytest.mark.parametrize("vps", [1, 2])
def test_waiting_takes_no_kernel_thread(what, vps, file):
    result = run([*WEFT, "--stats", "--vps", vps, SHARED, what, file])
    assert result.stdout == "ok\n"
    if not kernel_can_wait():
        pytest.skip("the kernel waits for futexes in system calls only")
    if what == "condition" and not protocol_is_known():
        pytest.skip("libc has another protocol for conditions")
    seen = statistics(result)
    assert seen["VPs taken from blocked carriers"] == 0
    assert seen["carriers made"] < 10
