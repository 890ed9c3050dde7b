# SPDX-License-Identifier: MIT
"""Which calls a read or an open makes, by the kind of file. If data is there,
it costs no more than natively; otherwise other kernel threads wait for it."""

import re
import subprocess
import tempfile

import pytest

from conftest import (BUILD, WEFT, environment, need, need_ptrace, run,
                      statistics)

WAYS = BUILD / "test/manners/manners_ways"
MANY = 3000  # the same as in ways.c

# The calls if data is there. Terminals, FIFOs by path and inotify have no
# non-blocking read, so they are polled first.
READY = {
    "pipe": ["preadv2"],
    "socket": ["recvfrom"],
    "datagrams": ["recvfrom"],
    "eventfd": ["preadv2"],
    "fifo": ["poll", "readv"],
    "terminal": ["poll", "readv"],
    "inotify": ["poll", "readv"],
    "file": ["read"],
    "place": ["preadv2"],
    "memory": ["read"],
    "sending": ["fcntl", "getsockopt", "poll", "sendfile"],
    "proc": ["read"],
    "open": ["openat", "close"],
}
# The mechanism of a wait without data is a ring or an epoll set. An I/O server
# makes the read of a terminal.
WAITS = ["pipe", "socket", "datagrams", "eventfd", "fifo", "inotify"]
WAITERS = {"uring": "io_uring_enter", "workers": "epoll_ctl",
           "process": "epoll_ctl"}


STRACE = ("strace", "-f", "-o", "/dev/stdout")


def check(returncode, error):
    need_ptrace(error)
    if "eviction" in error:
        pytest.skip("the file system keeps its files in memory")
    if "posix_openpt" in error:
        pytest.skip("there are no terminals")
    assert returncode == 0, error


def trace(command):
    """strace's lines, from the program's start on."""
    need("strace")
    result = run([*STRACE, *command])
    check(result.returncode, result.stderr)
    return result.stdout.splitlines()


def start(command, output):
    return subprocess.Popen(list(map(str, command)), env=environment(),
                            text=True, stdin=subprocess.PIPE, stdout=output,
                            stderr=subprocess.PIPE)


def trace_when_ready(command):
    """Like trace, from the program's first line on: strace must not slow its
    calls before that. strace reports its attachment after it has told each
    thread to stop, so it sees every call after the byte."""
    need("strace")
    with tempfile.TemporaryFile("w+") as lines, \
            start(command, subprocess.PIPE) as program:
        if program.stdout.readline() == "":
            check(program.wait(), program.communicate()[1])
            pytest.fail("the program ended before it was ready")
        with start([*STRACE, "-p", program.pid], lines) as strace:
            attached = strace.stderr.readline()
            error = program.communicate(
                "x" if "attached" in attached else "")[1]
            check(strace.wait(), attached + strace.stderr.read())
        check(program.returncode, error)
        lines.seek(0)
        return lines.read().splitlines()


def calls_between_marks(tracer, kind, how, *options):
    """(thread, call) in the order of their beginnings, and the reader."""
    calls, reader, is_between = [], None, False
    for line in tracer([*WEFT, "--vps", "1", *options, "--", WAYS, kind, how]):
        match = re.match(r"(\d+) +(\w+)\((.*)", line)
        if match is None:
            continue
        who, call, rest = match.groups()
        if call == "access" and rest.startswith('"begin"'):
            reader, is_between = who, True
        elif call == "access" and rest.startswith('"end"'):
            break
        elif is_between:
            calls.append((who, call))
    assert reader is not None
    return calls, reader


def calls_for_what_is_there(kind, backend):
    calls, reader = calls_between_marks(trace_when_ready, kind, "ready",
                                        "--io", backend)
    return [call for who, call in calls if who == reader]


@pytest.mark.parametrize("backend", WAITERS)
@pytest.mark.parametrize("kind", READY)
def test_ready_data_costs_one_call(kind, backend):
    found = calls_for_what_is_there(kind, backend)
    # For these the next call depends on the last one's duration, which may be
    # long on a busy machine.
    attempts = 100 if kind in ("file", "memory", "sending", "proc",
                                "open") else 0
    while found != READY[kind] and attempts > 0:
        found = calls_for_what_is_there(kind, backend)
        attempts -= 1
    assert found == READY[kind]


@pytest.mark.parametrize("backend", WAITERS)
@pytest.mark.parametrize("kind", WAITS)
def test_missing_data_is_waited_for(kind, backend):
    calls, _ = calls_between_marks(trace, kind, "waits", "--io", backend)
    assert WAITERS[backend] in [call for _, call in calls]


@pytest.mark.parametrize("backend", WAITERS)
def test_a_worker_waits_for_a_terminal(backend):
    calls, reader = calls_between_marks(trace, "terminal", "waits",
                                        "--io", backend)
    assert "readv" in [call for who, call in calls if who != reader]
    assert "readv" not in [call for who, call in calls if who == reader]


@pytest.mark.parametrize("backend", WAITERS)
def test_a_worker_makes_opens_that_wait(backend):
    calls, opener = calls_between_marks(trace, "meeting", "waits",
                                        "--io", backend)
    assert "openat" in [call for who, call in calls if who != opener]
    assert "openat" not in [call for who, call in calls if who == opener]


@pytest.mark.parametrize("backend", WAITERS)
def test_frequent_poller_of_many_waits_itself(backend):
    """If a signal of weft's ends the call on a busy machine, the thread may
    make it again on another carrier."""
    calls, poller = calls_between_marks(trace, "crowd", "waits",
                                        "--io", backend)
    polls = [who for who, call in calls if call in ("poll", "ppoll")]
    assert polls[:1] == [poller]


# Reads of a disk: after this many misses in a row one read in so many is tried.
MANY_MISSES, PROBE = 8, 32
COLD_READS = 100  # the same as in ways.c


def nr_reads(missed, state):
    """`missed` says of each try in a row whether it missed. Returns how many
    reads weft makes for that many tries, and the state afterwards. `state` is
    the number of misses in a row before, or the number of reads since the last
    try."""
    reads = 0
    for has_missed in missed:
        skipped = PROBE - 1 - (state - MANY_MISSES) \
            if state >= MANY_MISSES else 0
        reads += skipped + 1
        state = min(state + 1, MANY_MISSES) if has_missed else 0
    return reads, PROBE - 1 if state == MANY_MISSES else 0


@pytest.mark.parametrize("backend", WAITERS)
def test_reads_of_a_disk_are_not_tried_first_for_ever(backend):
    """Which pages are in the cache is the kernel's choice on a busy machine, so
    the tries must be those that the rule allows after what each has found."""
    lines = []

    def tracer(command):
        lines.extend(trace_when_ready(command))
        return lines

    calls, reader = calls_between_marks(tracer, "cold", "ready",
                                        "--io", backend)
    begin, end = (next(i for i, line in enumerate(lines)
                       if f'access("{mark}"' in line)
                  for mark in ("begin", "end"))
    missed = ["EAGAIN" in line for line in lines[begin:end]
              if re.match(reader + r" .*preadv2.*\) += ", line)]
    assert len(missed) == calls.count((reader, "preadv2"))
    if not any(missed):
        pytest.skip("the file system keeps its files in memory")

    def is_allowed(state):
        reads, untried = nr_reads(missed, state)
        return reads <= COLD_READS <= reads + untried

    assert any(map(is_allowed, range(MANY_MISSES + PROBE))), missed


@pytest.mark.parametrize("kind", READY)
def test_ready_data_costs_no_switch(kind):
    result = run([*WEFT, "--vps", "1", "--stats", WAYS, kind, "many"])
    assert result.returncode == 0, result.stderr
    assert statistics(result)["switches between threads"] < MANY / 10
