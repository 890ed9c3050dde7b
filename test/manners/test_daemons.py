# SPDX-License-Identifier: MIT
"""Programs that leave their terminal and serve in the background. The command
ends, and the threads of its last child serve."""

import contextlib
import os
import pathlib
import signal
import socket
import time

import pytest

from conftest import BUILD, LIMIT_S, WEFT, outcome, run

DAEMON = BUILD / "test/manners/manners_daemon"
WAYS = ([], WEFT, [*WEFT, "--vps", "1"])


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return value


def is_running(pid):
    """True if the process runs. A zombie does not run; it may stay, as an
    orphan's new parent may never reap it."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@contextlib.contextmanager
def started(folder, command):
    """(how the command ended, the daemon's pid)"""
    folder.mkdir()
    result = run(command)
    pid = int(until(lambda: (folder / "pid").exists() and
                    (folder / "pid").read_text()))
    try:
        yield result, pid
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def ask(folder, *lines):
    answers = []
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT_S)
        client.connect(str(folder / "socket"))
        file = client.makefile()
        for line in lines:
            client.sendall(line.encode())
            answers.append(file.readline())
            if line == "fork":
                answers.append(file.readline())
    return answers


def service(folder, command):
    """Runs the daemon, and returns all that its clients and other processes see
    of it."""
    with started(folder, command) as (result, pid):
        seen = [outcome(result)]
        log = folder / "log"
        for _ in range(3):
            seen.append(ask(folder, "work", "where", "fork", "work"))
        log.rename(folder / "old")
        os.kill(pid, signal.SIGHUP)
        until(log.exists)
        seen.append(ask(folder, "work"))
        os.kill(pid, signal.SIGTERM)
        until(lambda: not is_running(pid))
        return [*seen, (folder / "old").read_text(), log.read_text(),
                sorted(path.name for path in folder.iterdir())]


@pytest.mark.parametrize("before", [[], ["threads"]])
@pytest.mark.parametrize("how", ["twice", "libc", "late"])
def test_daemon(tmp_path, how, before):
    seen = [service(tmp_path / str(number),
                    [*way, DAEMON, how, tmp_path / str(number), *before])
            for number, way in enumerate(WAYS)]
    assert seen[0][0][0] == 0 and "total 4000\n" in seen[0][1]
    assert seen[1] == seen[0] and seen[2] == seen[0]
