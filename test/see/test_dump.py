# SPDX-License-Identifier: MIT
"""With --dump-on a signal makes the program print all its stacks, also where no
other process may read it, and where its threads hold the locks of libc."""

import bisect
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

from outside import BUILD, LIMIT_S, WEFT, environment, weft
from test_stacks import names, parse

MODULE = BUILD / "test/see/see_stuck_module.so"
STUCK = BUILD / "test/see/see_stuck"
QUIT = int(signal.SIGQUIT)


class Stuck:
    """see_stuck on weft, with its standard error in a file."""

    def __init__(self, folder, *words, number="SIGQUIT", command=WEFT):
        self.errors = folder / "stderr"
        self.stats_file = folder / "stats"
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [command, "run", "--vps", "2", "--dump-on", number,
                 "--stats=json", "--", STUCK, *map(str, words)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, bufsize=1,
                env={**environment(), "WEFT_STATS_FILE": self.stats_file})
        self.functions = {}
        while (line := self.process.stdout.readline().strip()) != "ready":
            assert line, self.text()
            tid, function = line.split()
            self.functions[int(tid)] = function

    def text(self):
        return self.errors.read_text(encoding="utf-8")

    def await_dumps(self, nr):
        """The text of each dump, when there are nr of them."""
        end = time.monotonic() + LIMIT_S
        while self.text().count(": end of the stacks\n") < nr:
            assert time.monotonic() < end, self.text()[-2000:]
            assert self.process.poll() is None, self.text()[-2000:]
            time.sleep(0.02)
        return [part.split(": end of the stacks")[0]
                for part in self.text().split(": the stacks of process ")[1:]]

    def dump(self, nr=1, number=signal.SIGQUIT):
        """Sends the signal. Returns (weft's own lines, the groups of stacks) of
        dump number nr."""
        self.process.send_signal(number)
        lines = self.await_dumps(nr)[-1].splitlines()[1:]
        own = [line for line in lines if line.startswith("weft: ")]
        return own[:-1], parse("\n".join(
            line for line in lines if not line.startswith("weft: ")))

    def nr_handled(self):
        """The program's answer, for which another thread has to run."""
        self.process.stdin.write("\n")
        return int(self.process.stdout.readline())

    def stats(self):
        self.process.terminate()
        self.process.wait(LIMIT_S)
        line = self.stats_file.read_text(encoding="utf-8").splitlines()[-1]
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def stuck(tmp_path):
    started = []

    def start(*args, **options):
        started.append(Stuck(tmp_path, *args, **options))
        return started[-1]
    yield start
    for each in started:
        each.end()


def by_tid(groups):
    return {tid: (state, frames) for _, state, tids, frames in groups
            for tid in tids}


def counts_of(groups, function):
    return sum(nr for nr, _, _, frames in groups if function in names(frames))


def await_lock_waits(program, nr):
    """Waits until nr threads sleep in the kernel for locks of libc."""
    end = time.monotonic() + LIMIT_S
    while weft("stacks", program.process.pid).stdout.count(
            "lll_lock_wait") < nr:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("nr", [3, 1000])
def test_threads_in_malloc_and_in_the_loader_have_stacks(stuck, nr):
    program = stuck(nr, f"loader={MODULE}", "malloc", "spin", "confined")
    await_lock_waits(program, 2)
    own, groups = program.dump()
    assert own == []
    assert counts_of(groups, "wait_for_ever") == nr
    found = by_tid(groups)
    others = {tid: function for tid, function in program.functions.items()
              if function != "wait_for_ever"}
    assert sorted(others.values()) == [
        "compute", "stay_in_malloc", "wait_for_loader", "wait_for_malloc",
        "wait_in_constructor"]
    places = {"stay_in_malloc": "_int_malloc",
              "wait_in_constructor": "call_init",
              "wait_for_malloc": "lll_lock_wait",
              "wait_for_loader": "lll_lock_wait"}
    for tid, function in others.items():
        called = names(found[tid][1])
        assert function in called
        assert not any(frame["guess"] for frame in found[tid][1])
        assert any(places.get(function, function) in (name or "")
                   for name in called), called
    assert "stay_in_loader" in names(found[next(
        tid for tid, f in others.items() if f == "wait_in_constructor")][1])
    assert "main" in names(found[program.process.pid][1])
    # It goes on, and the next one is like the first.
    assert program.nr_handled() == 0
    _, again = program.dump(2)
    assert counts_of(again, "wait_for_ever") == nr
    assert program.nr_handled() == 0
    stats = program.stats()
    assert (stats["stack_dumps"], stats["stack_dumps_guessed"]) == (2, 0)


def descriptors(pid):
    """Returns the program's descriptors. Leaves out weft's rings, which weft
    makes when it needs them."""
    found = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add((number, os.readlink(f"/proc/{pid}/fd/{number}")))
        except FileNotFoundError:
            pass
    return {row for row in found if not row[1].startswith("anon_inode:")}


def test_no_process_and_no_descriptor_is_left(stuck):
    program = stuck(3)
    pid = program.process.pid
    before = descriptors(pid)
    for nr in range(1, 4):
        program.dump(nr)
    assert descriptors(pid) == before
    children = ""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as f:
            children += f.read()
    assert children == ""


class Symbols:
    """The names of a program's functions, found by offset."""

    def __init__(self, path):
        lines = subprocess.run(["nm", "-n", path], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        self.rows = [(int(line.split()[0], 16), line.split()[2])
                     for line in lines if line[0] != " "]

    def at(self, offset):
        return self.rows[bisect.bisect_right(self.rows, (offset, "~")) - 1][1]


PLACE = re.compile(r"    \? see_stuck\+0x([0-9a-f]+)", re.MULTILINE)


def check_guesses(program, groups):
    """Each waiting thread's frames lead to its function."""
    symbols = Symbols(STUCK)
    found = by_tid(groups)
    for tid, function in program.functions.items():
        frames = found[tid][1]
        assert frames and all(frame["guess"] for frame in frames)
        called = [symbols.at(int(match[1], 16)) for frame in frames
                  if (match := PLACE.fullmatch(frame.group()))]
        assert function in called, (function, called)


def check_fallback(program, reason):
    own, groups = program.dump()
    assert len(own) == 1
    line = own[0]
    assert reason in line and "frame pointers, which may be wrong" in line
    check_guesses(program, groups)
    assert program.nr_handled() == 0
    own, _ = program.dump(2)
    assert own == [line]
    stats = program.stats()
    assert (stats["stack_dumps"], stats["stack_dumps_guessed"]) == (2, 2)


def test_without_the_command_weft_guesses(stuck, tmp_path):
    command = tmp_path / "weft"
    shutil.copy(WEFT, command)
    shutil.copy(BUILD / "libweft.so.0", tmp_path)
    program = stuck(3, "spin", command=command)
    command.unlink()
    check_fallback(program, "the command 'weft' cannot be executed")


def test_without_a_process_weft_guesses(stuck):
    program = stuck(1000, "spin", "confined", "no-fork")
    check_fallback(program, "the kernel makes no process")


@pytest.mark.parametrize("name", ["SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGURG",
                                  "SIGPWR"])
def test_weft_takes_the_signal_from_the_program(stuck, name):
    number = signal.Signals[name]
    program = stuck(3, f"takes={int(number)}", number=name)
    program.await_dumps(1)
    assert program.nr_handled() == 0
    nr = len(program.await_dumps(1))
    _, groups = program.dump(nr + 1, number)
    assert counts_of(groups, "wait_for_ever") == 3
    assert program.nr_handled() == 0


def test_other_signals_stay_the_programs(stuck):
    program = stuck(3, f"takes={int(signal.SIGUSR1)}")
    assert program.nr_handled() == 3
    assert "stacks of process" not in program.text()


def test_a_signal_that_all_threads_block_is_taken(stuck):
    program = stuck(3, f"blocks={QUIT}")
    _, groups = program.dump()
    assert counts_of(groups, "wait_for_ever") == 3


def test_a_program_without_threads_prints_its_own_stack(stuck):
    program = stuck(0, "one-thread", f"takes={QUIT}")
    # Its own three are done when the calls return.
    assert program.text().count("has made no thread yet") == 3
    assert program.nr_handled() == 0
    program.process.send_signal(signal.SIGQUIT)
    end = time.monotonic() + LIMIT_S
    while (text := program.text()).count("has made no thread yet") < 4:
        assert time.monotonic() < end
        time.sleep(0.02)
    program.nr_handled()
    text = program.text()
    symbols = Symbols(STUCK)
    assert f"1 thread, running: {program.process.pid}" in text
    assert "take" in [symbols.at(int(offset, 16))
                      for offset in PLACE.findall(text)]


def test_a_fork_child_keeps_the_signal(stuck):
    program = stuck(3, "fork")
    child = next(pid for pid, function in program.functions.items()
                 if function == "fork_child")
    try:
        os.kill(child, signal.SIGQUIT)
        end = time.monotonic() + LIMIT_S
        while f"1 thread, running: {child}\n" not in program.text():
            assert time.monotonic() < end, program.text()
            time.sleep(0.02)
        with open(f"/proc/{child}/stat", encoding="utf-8") as stat:
            assert stat.read().rpartition(")")[2].split()[0] in "SR"
    finally:
        os.kill(child, signal.SIGKILL)
    _, groups = program.dump()
    assert counts_of(groups, "wait_for_ever") == 3


def test_only_some_signals_can_be_taken():
    found = weft("run", "--dump-on", "SIGKILL", "true", check=False)
    assert found.returncode == 125
    assert "SIGQUIT, SIGUSR1, SIGUSR2, SIGURG or SIGPWR" in found.stderr


# --- the reader's side -------------------------------------------------------

MAGIC = b"WeftMem\n"
THREAD = 80  # bytes of struct wf_stream_thread


def read_from(*packets, answer=None):
    """Runs `weft stacks -` with these packets on its standard input. It has to
    refuse them with one line. Returns that line, and the requests that it sent,
    which answer() serves."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, subprocess.Popen(
            [WEFT, "stacks", "-"], stdin=its, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment()) as reader:
        its.close()
        requests = []
        try:
            for packet in packets:
                ours.send(packet)
            while answer is not None and (request := ours.recv(64)):
                requests.append(struct.unpack("=QQ", request))
                ours.send(answer(*requests[-1]))
            ours.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        stdout, stderr = reader.communicate(timeout=LIMIT_S)
    assert reader.returncode == 125, (stdout, stderr)
    assert stdout == "" and stderr.count("\n") == 1
    return stderr, requests


def hello(form=1, nr_threads=0, thread_bytes=THREAD, maps_bytes=0):
    return MAGIC + struct.pack("=IIII", form, nr_threads, thread_bytes,
                               maps_bytes)


NO_STREAM = "standard input is not the memory of a process"


def test_a_stream_that_is_none_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    with open(empty, "rb") as no_socket:
        found = subprocess.run([WEFT, "stacks", "-"], stdin=no_socket,
                               capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (125, "")
    assert NO_STREAM in found.stderr
    for packets in ([], [b"x"], [b"x" * 24], [hello()[:-1]], [hello() + b"x"],
                    [hello(nr_threads=1)], [hello(nr_threads=1), b"x"],
                    [hello(maps_bytes=9), b"x" * 10]):
        assert NO_STREAM in read_from(*packets)[0]
    assert "cannot read" in read_from(hello(form=2))[0]
    assert "cannot read" in read_from(hello(thread_bytes=88))[0]
    for limits in ({"nr_threads": 2 ** 31}, {"maps_bytes": 2 ** 32 - 1}):
        assert "makes no sense" in read_from(hello(**limits))[0]


MAPS = (b"7f0000000000-7f0000010000 r-xp 00000000 00:00 1 /x/libweft.so.0\n"
        b"7f0000010000-7f0000020000 rw-p 00010000 00:00 1 /x/libweft.so.0\n")


@pytest.mark.parametrize("answer", [
    lambda address, bytes: struct.pack("=Q", 0),
    lambda address, bytes: struct.pack("=Q", bytes),
    lambda address, bytes: struct.pack("=Q", 2 ** 64 - 1) + b"x" * bytes,
    lambda address, bytes: struct.pack("=Q", bytes) + b"x" * bytes,
    lambda address, bytes: b"x",
], ids=["none", "missing", "too-long", "nonsense", "short"])
def test_memory_that_makes_no_sense_is_refused(answer):
    _, requests = read_from(hello(maps_bytes=len(MAPS)), MAPS, answer=answer)
    assert requests
    assert all(0 < nr <= 2 ** 16 for _, nr in requests)
