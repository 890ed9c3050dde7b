# SPDX-License-Identifier: MIT
"""I/O servers: what other processes see of them, and their loss."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import threading
import time

import pytest

from conftest import BUILD, FILTER, WEFT, environment, run

PROGRAM = BUILD / "test/manners/manners_servers"
NR_BLOCKED = 9
DONE = f"{NR_BLOCKED - 1} posted, received all"
LIMIT_S = 30


def until(condition):
    """Returns the condition's value once that is true."""
    end = time.monotonic() + LIMIT_S
    while not (said := condition()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return said


def status_of(pid):
    """Returns {name: value} of /proc/PID/status, or {} if there is no such
    process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(line.split(":\t", 1) for line in text.splitlines())


def is_there(pid):
    return status_of(pid).get("State", "Z")[0] not in "ZX"


def children_of(pid):
    return {int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and
            status_of(entry.name).get("PPid") == str(pid)}


def newborn_of(pid):
    """Returns the children of the process, as children_of does, but finds them
    sooner after their start."""
    found = set()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        # Threads may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= set(map(int, (task / "children").read_text().split()))
    return found


class Program:
    def __init__(self, *options, command=(PROGRAM,), **more):
        self.process = subprocess.Popen(
            [*WEFT, "--stats", "--io", "process", *options, "--", *command],
            env=environment(), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.pid = self.process.pid

    def __enter__(self):
        # A program that hangs no longer answers.
        self.end_of_limit = threading.Timer(3 * LIMIT_S, self.kill)
        self.end_of_limit.start()
        return self

    def __exit__(self, *args):
        self.end_of_limit.cancel()
        self.kill()
        self.process.communicate()

    def kill(self):
        # A server that is stopped before it has begun outlives the program.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in newborn_of(self.pid):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()

    def tell(self, command):
        self.process.stdin.write(command)
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def begin(self):
        """Makes the program's threads block, and returns its I/O servers, one
        for each of these threads."""
        assert self.tell("b") == "begun"
        return until(self.servers)

    def servers(self):
        found = children_of(self.pid)
        return found if len(found) == NR_BLOCKED else None

    def end(self, command="q"):
        """{text: value} of the statistics."""
        error = self.process.communicate(command, timeout=60)[1]
        assert self.process.returncode == 3, error
        return {text: int(number) for text, number in
                re.findall(r"^weft: (.*): (\d+)$", error, re.M)}


@pytest.fixture(params=["1", "2"])
def program(request):
    with Program("--vps", request.param) as started:
        yield started


def test_requests_are_completed_and_reported(program):
    servers = program.begin()
    assert {status_of(pid)["Name"] for pid in servers} == {"weft-io"}
    assert program.tell("f") == DONE
    found = program.end()
    assert found["requests to I/O workers"] >= NR_BLOCKED
    assert found["completions reported by I/O servers"] + \
        found["requests done at once"] == \
        found["requests to I/O workers"]
    assert found["I/O servers lost"] == 0


def test_cache_hits_raise_no_notice(program):
    assert program.tell("h") == "1050 blocks"
    assert program.end()["completions reported by I/O servers"] == 0


def test_disks_are_waited_for_by_workers(program):
    if program.tell("d") != "1050 blocks":
        pytest.skip("the file system has no O_DIRECT")
    found = program.end()
    assert found["requests to I/O workers"] > 0
    assert found["completions reported by I/O servers"] + \
        found["requests done at once"] == found["requests to I/O workers"]


@pytest.mark.parametrize("nr", [1, 4, NR_BLOCKED])
def test_loss(program, nr):
    """After I/O servers were killed, waits continue on new servers. A call that
    may have lost bytes gets EIO."""
    servers = program.begin()
    for pid in sorted(servers)[:nr]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(is_there, sorted(servers)[:nr])))
    told = program.tell("f")
    assert told in (DONE, DONE.replace("all", "EIO"))
    # The lost servers are reaped, and new ones start where they are needed.
    until(lambda: not children_of(program.pid) & set(sorted(servers)[:nr]))
    assert program.tell("b") == "begun"
    # The rest of a broken stream is received at once, so that receiver's server
    # may already serve another wait.
    nr_needed = NR_BLOCKED if told == DONE else NR_BLOCKED - 1
    until(lambda: len(children_of(program.pid)) >= nr_needed)
    # The rest of a broken stream comes first.
    assert program.tell("f").startswith("8 posted")
    assert program.end()["I/O servers lost"] == nr


def test_loss_of_a_wait_that_a_handler_ends(program):
    """A handler ends a wait while its I/O server is stopped, and the server is
    killed. The wait still returns EINTR."""
    servers = program.begin()
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    assert program.tell("k") == "sent"
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    until(lambda: program.tell("e") == f"{NR_BLOCKED - 1} waits ended")
    assert program.tell("f") in (DONE, DONE.replace("all", "EIO"))


@pytest.mark.parametrize("attempt", range(4))
def test_stop_before_the_start(attempt):
    """A server that is stopped before it first runs delays no thread."""
    with Program("--vps", "1") as program:
        program.process.stdin.write("b")
        program.process.stdin.flush()
        stopped = set()
        end = time.monotonic() + 0.5
        while len(stopped) < NR_BLOCKED and time.monotonic() < end:
            for pid in newborn_of(program.pid) - stopped:
                os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)
        assert stopped
        answers = iter(lambda: program.tell("k"), "sent")
        assert set(answers) <= {"begun"}


def test_program_sees_no_children(program):
    servers = program.begin()
    os.kill(min(servers), signal.SIGKILL)
    until(lambda: not is_there(min(servers)))
    assert program.tell("c") == "no children, 0 signals"
    program.tell("f")
    program.end()


def test_signals_of_the_terminal_are_the_programs():
    with Program(start_new_session=True) as program:
        servers = program.begin()
        os.killpg(program.pid, signal.SIGINT)
        until(lambda: program.tell("i") == "1 interrupts")
        assert program.servers() == servers
        assert program.tell("f") == DONE
        assert program.end()["I/O servers lost"] == 0


def test_an_ending_kernel_thread_ends_no_server(program):
    servers = program.begin()
    assert program.tell("p") == "owner died"
    assert program.tell("f") == DONE
    assert program.servers() == servers
    assert program.end()["I/O servers lost"] == 0


@pytest.mark.parametrize("command", ["q", "_"])
def test_servers_end_before_the_program(program, command):
    servers = program.begin()
    program.end(command)
    assert not any(map(is_there, servers))


def test_servers_die_with_the_program(program):
    servers = program.begin()
    program.process.kill()
    until(lambda: not any(map(is_there, servers)))


def test_exec_ends_the_servers(program):
    servers = program.begin()
    program.process.stdin.write("X")
    program.process.stdin.flush()
    until(lambda: status_of(program.pid).get("Name") == "sleep")
    assert not any(map(is_there, servers))


def test_exec_that_fails(program):
    program.begin()
    assert program.tell("x") == "exec failed"
    assert program.tell("f") == DONE
    assert program.end()["I/O servers lost"] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_servers_follow_credentials(program):
    servers = program.begin()
    assert program.tell("u") == "setresuid 0"
    for pid in servers:
        assert status_of(pid)["Uid"].split() == ["65534"] * 4
    assert program.tell("f") == DONE
    # The change of ids clears the servers' parent-death signal.
    program.process.kill()
    until(lambda: not any(map(is_there, servers)))


@pytest.mark.parametrize("given", [0, 5, -5])
def test_priority(given):
    if given < 0 and os.getuid() != 0:
        pytest.skip("only root can be favoured")
    with Program("--io-nice", str(given)) as program:
        servers = program.begin()
        own = os.getpriority(os.PRIO_PROCESS, program.pid)
        assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in servers} == \
            {min(own + given, 19)}
        assert program.tell("f") == DONE


def test_limits_are_the_programs():
    """I/O servers obey the program's limits, also those that were set after the
    servers had started."""
    with Program() as program:
        program.begin()
        assert program.tell("w") == "written"
        limit = resource.prlimit(program.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE,
                         (1 << 20, limit[1]))
        assert program.tell("w") == "EFBIG"
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, limit)
        assert program.tell("w") == "written"
        assert program.tell("f") == DONE


def test_processes_are_refused():
    refuse = [FILTER, "processes", "--"]
    found = run([*refuse, BUILD / "weft", "doctor"], {"WEFT_IO": "process"})
    assert re.search(r"I/O backend +workers: .* refuses \(Operation not perm",
                     found.stdout)
    with Program(command=[*refuse, PROGRAM]) as program:
        assert program.tell("b") == "begun"
        assert program.tell("f") == DONE
        assert not children_of(program.pid)
        found = program.end()
        assert found["requests to I/O workers"] > 0
        assert found["completions reported by I/O servers"] == 0


def test_doctor_names_requested_files():
    found = run([BUILD / "weft", "doctor"], {"WEFT_IO": "process"})
    assert "process, as WEFT_IO asks" in found.stdout
