# SPDX-License-Identifier: MIT
"""Descriptors: the program sees the same numbers as natively, and does weft no
harm when it closes numbers that it does not know."""

import os
import resource
import subprocess

import pytest

from conftest import PROGRAM, WEFT, both, environment, run, statistics


@pytest.mark.parametrize("how", ["loop", "closefrom", "range", "raw"])
@pytest.mark.parametrize("options", [[], ["--vps", "2", "--stats"]])
def test_closing_everything(how, options):
    native = run([PROGRAM, "descriptors", how])
    assert native.stdout.count("total 16000") == 2
    weft = run([*WEFT, *options, PROGRAM, "descriptors", how])
    assert (weft.returncode, weft.stdout) == (0, native.stdout)
    if options:
        assert statistics(weft)["threads made"] == 16


def test_open_descriptors():
    script = ("import os, threading\n"
              "def show(): print(sorted(os.listdir('/proc/self/fd')))\n"
              "show()\n"
              "t = threading.Thread(target=show); t.start(); t.join()\n"
              "show()\n")
    native = run(["/usr/bin/python3", "-c", script])
    weft = run([*WEFT, "--stats", "/usr/bin/python3", "-c", script])
    assert weft.stdout == native.stdout


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-",
                                    "0<&- 1>&- 2>&-"])
def test_standard_streams_closed(closed):
    both(["/bin/sh", "-c", f'exec "$0" work {closed}', PROGRAM])
    # These are closed before weft starts.
    command = f'exec "$@" {closed}'
    native = run(["/bin/sh", "-c", command, "sh", PROGRAM, "work"])
    weft = run(["/bin/sh", "-c", command, "sh", *WEFT, "--", PROGRAM, "work"])
    assert (weft.returncode, weft.stdout, weft.stderr) == \
        (native.returncode, native.stdout, native.stderr)


@pytest.mark.parametrize("limit", [3, 4, 8])
def test_few_descriptors(limit):
    """With the smallest limits on descriptors that the program itself can work
    with, it ends on weft as it ends natively."""
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    native = run([PROGRAM, "work"], preexec_fn=lower)
    weft = run([*WEFT, PROGRAM, "work"], preexec_fn=lower)
    assert (weft.returncode, weft.stdout) == \
        (native.returncode, native.stdout)


# --- --stats ---

def stats_of(*command):
    result = run([*WEFT, "--stats", *command])
    return statistics(result), result


WAYS = ["exit", "_exit", "_Exit", "quick_exit", "exit_group"]


@pytest.mark.parametrize("where, how", [
    *(("end", how) for how in [*WAYS, "return", "last"]),
    *(("end-in-thread", how) for how in WAYS)])
def test_stats_on_every_way_out(where, how):
    rows, result = stats_of(PROGRAM, where, how)
    assert result.stderr.count("statistics of manners_program (process") == 1
    # Eight threads, one that sleeps, and perhaps one that ends the process.
    assert rows["threads made"] == (9 if where == "end" else 10)
    assert 2 <= rows["threads at once, at most"] <= 10
    assert rows["switches between threads"] > 0
    assert rows["stacks made"] > 0
    assert rows["address space of stacks, KiB"] > 0
    assert rows["memory of the process at its most, KiB"] > 0


def test_stats_has_every_counter():
    rows, _ = stats_of(PROGRAM, "work")
    words = ("another VP", "parked", "preemptions", "put off: in the runtime",
             "put off: in libc", "blocked carriers", "longest wait",
             "carriers made", "carrier of their own")
    for word in words:
        assert any(word in text for text in rows), word


def test_stats_by_abort_and_signal():
    for how in ("abort", "term"):
        rows, _ = stats_of(PROGRAM, "end", how)
        assert rows["threads made"] > 0
    rows, result = stats_of(PROGRAM, "end", "kill")
    assert rows == {} and result.stderr == ""


def test_stats_without_threads():
    rows, result = stats_of("/bin/true")
    assert rows == {}
    assert result.stderr.startswith("weft: true (process ")
    assert result.stderr.endswith(") made no threads\n")


def test_stats_before_the_program_closes_its_stderr():
    # All programs of coreutils close stderr when they exit.
    lines = "\n".join(map(str, range(400000, 0, -1)))
    result = run([*WEFT, "--stats", "sort", "--parallel=4", "-S", "100M"],
                 input=lines)
    assert statistics(result)["threads made"] > 0


def test_stats_of_a_fork_child(tmp_path):
    script = ("import os, threading\n"
              "def run(n):\n"
              "    for i in range(n):\n"
              "        t = threading.Thread(target=int)\n"
              "        t.start(); t.join()\n"
              "run(5)\n"
              "if os.fork() == 0:\n"
              "    run(3)\n"
              "    os._exit(0)\n"
              "os.wait()\n"
              "if os.fork() == 0: os._exit(0)\n"
              "os.wait()\n")
    result = run([*WEFT, "--stats", "/usr/bin/python3", "-c", script])
    made = [line for line in result.stderr.splitlines()
            if line.startswith("weft: threads made: ")]
    assert made == ["weft: threads made: 3", "weft: threads made: 5"]
    assert "made no threads" not in result.stderr


def test_stats_are_not_a_vfork_childs():
    # It ends by _exit in its parent's memory.
    script = ("import subprocess, threading\n"
              "try: subprocess.run(['/nowhere'])\n"
              "except FileNotFoundError: pass\n"
              "t = threading.Thread(target=int)\n"
              "t.start(); t.join()\n")
    result = run([*WEFT, "--stats", "/usr/bin/python3", "-c", script])
    assert statistics(result)["threads made"] == 1
    assert "made no threads" not in result.stderr


def test_stats_are_not_written_into_a_file_of_the_program(tmp_path):
    """The file has descriptor 2, because standard error was closed."""
    data = tmp_path / "data"
    script = ("import os, sys, threading\n"
              "os.close(2)\n"
              f"assert os.open({str(data)!r}, os.O_CREAT | os.O_WRONLY) == 2\n"
              "t = threading.Thread(target=int); t.start(); t.join()\n")
    result = run([*WEFT, "--stats", "/usr/bin/python3", "-c", script])
    assert result.returncode == 0 and data.read_text() == ""


def test_stats_to_a_reader_that_is_gone():
    """The reader of standard error is gone when weft prints its statistics. The
    program keeps its exit status and gets no SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*WEFT, "--stats", PROGRAM, "end", "exit"],
                          env=environment(), stdout=subprocess.DEVNULL,
                          stderr=writer, timeout=60)
    os.close(writer)
    assert done.returncode == 3


def test_stats_with_stderr_closed():
    result = run(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *WEFT, "--stats",
                  PROGRAM, "end", "exit"])
    assert (result.returncode, result.stdout, result.stderr) == \
        (3, "total 16000\n", "")


# --- messages ---

@pytest.mark.parametrize("how, says", [
    ("os.close(2); assert os.open(data, os.O_CREAT | os.O_WRONLY) == 2", ""),
    ("os.dup2(os.open(data, os.O_CREAT | os.O_WRONLY), 2)",
     "weft: cannot start"),
    ("import ctypes; c = ctypes.CDLL(None); "
     "c.freopen.argtypes = [ctypes.c_char_p] * 2 + [ctypes.c_void_p]; "
     "c.freopen(data.encode(), b'w', "
     "ctypes.c_void_p.in_dll(c, 'stderr'))", "weft: cannot start")])
def test_messages_go_to_standard_error_alone(tmp_path, how, says):
    """The program has closed standard error, and a file has got its number.
    weft writes no message into that file."""
    data = tmp_path / "data"
    script = ("import os, resource, threading\n"
              f"data = {str(data)!r}\n"
              f"{how}\n"
              "resource.setrlimit(resource.RLIMIT_AS, (1 << 24, 1 << 24))\n"
              "try: threading.Thread(target=int).start()\n"
              "except (RuntimeError, MemoryError): os._exit(7)\n")
    result = run([*WEFT, "/usr/bin/python3", "-c", script])
    assert result.returncode == 7
    assert data.read_text().startswith(says) and \
        (says or not data.read_text())


def test_reason_for_no_start_is_given_once():
    """If the runtime cannot start, weft prints the reason once, however often
    the program tries to make a thread."""
    script = ("import os, resource, threading\n"
              "resource.setrlimit(resource.RLIMIT_AS, (1 << 24, 1 << 24))\n"
              "for _ in range(3):\n"
              "    try: threading.Thread(target=int).start()\n"
              "    except (RuntimeError, MemoryError): pass\n"
              "os._exit(7)\n")
    result = run([*WEFT, "/usr/bin/python3", "-c", script])
    assert (result.returncode, result.stdout) == (7, "")
    assert result.stderr.count("weft: cannot start") == 1
