# SPDX-License-Identifier: MIT
"""Debugging as a user does it: the program after `weft run` from its start, on
a terminal, and while it runs; and gdb itself on weft."""

import functools
import re
import subprocess

import pytest

from conftest import PROGRAM, WEFT, environment, need, run
from terminal import INTERRUPT, terminal

PROMPT = r"\(gdb\) "
QUIET = ["-nx", "-q", "-iex", "set debuginfod enabled off",
         "-iex", "set pagination off", "-iex", "set confirm off",
         "-iex", "set breakpoint pending on",
         "-iex", "set print thread-events off",
         "-iex", "set startup-with-shell off"]


def debug(*commands, program=(PROGRAM, "compute"), prefix=WEFT):
    """Output of gdb. `weft run` executes the program: breakpoints wait for
    it."""
    steps = [word for command in commands for word in ("-ex", command)]
    result = run([need("gdb"), "-batch", *QUIET, *steps, "--args", *prefix,
                  *program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "ptrace: Operation not permitted" in result.stdout:
        pytest.skip("ptrace is not permitted")
    return result.stdout


WAYS = [[], [*WEFT, "--vps", "1"], [*WEFT, "--vps", "2"]]


@pytest.mark.parametrize("prefix", WAYS)
def test_breakpoints(prefix):
    shown = debug("break program.c:count", "run", "backtrace", "info threads",
                  "print *(long *)&arg", "continue 3", "delete", "continue",
                  prefix=prefix)
    assert len(re.findall(r"Breakpoint 1, count \(arg=", shown)) == 2
    assert re.search(r"^#0  count \(arg=", shown, re.M)
    assert re.search(r"^\* \d+ +Thread .* count \(arg=", shown, re.M)
    assert "done\n" in shown and "exited normally" in shown


@pytest.mark.parametrize("prefix", WAYS)
def test_steps(prefix):
    """Steps line by line over malloc and mutex calls, while others run."""
    shown = debug("break program.c:count", "run", "delete", *["next"] * 14,
                  "tbreak pthread_mutex_unlock", "continue", "finish",
                  "continue", prefix=prefix)
    for line in ("pthread_mutex_lock(&lock)", "total += ",
                 "pthread_mutex_unlock(&lock)"):
        assert shown.count(line) >= 3
    assert "Value returned is $1 = 0\n" in shown
    assert "done\n" in shown and "exited normally" in shown


@pytest.mark.parametrize("prefix", WAYS)
def test_steps_over_waits(prefix):
    """Code that continues on another kernel thread is another thread to
    gdb."""
    shown = debug("break compute_in_threads", "run", *["next"] * 6, "continue",
                  prefix=prefix)
    assert "pthread_join(threads[i], NULL)" in shown
    assert 'puts("done")' in shown and "exited normally" in shown


@pytest.mark.parametrize("prefix", WAYS)
def test_watchpoint(prefix):
    """A watchpoint stops each thread that writes."""
    shown = debug("break compute_in_threads", "run", "watch total", "continue",
                  "continue", "continue", "continue 1000", "info threads",
                  "delete", "continue", prefix=prefix)
    assert re.findall(r"^New value = (\d+)", shown, re.M)[:4] == \
        ["1", "2", "3", "1003"]
    assert "done\n" in shown and "exited normally" in shown


def test_thread_locals_and_errno():
    shown = debug("break crash_here", "run", "print errno = 17",
                  "print errno", "info threads", "thread apply all backtrace",
                  "kill", program=[PROGRAM, "crash"])
    assert "$2 = 17\n" in shown
    assert re.search(r"^#0 .*crash_here", shown, re.M)


@functools.cache
def require_ptrace():
    debug("run", prefix=[])


def at_terminal(command):
    require_ptrace()
    return terminal(command, PROMPT)


@pytest.mark.parametrize("prefix", WAYS)
def test_interrupt(prefix):
    """Ctrl-C, some commands, and on; several times."""
    with at_terminal([need("gdb"), *QUIET, "--args", *prefix, PROGRAM,
                      "wait"]) as gdb:
        gdb.send("run\n")
        gdb.expect("ready\n")
        for _ in range(3):
            gdb.send(INTERRUPT)
            gdb.expect("SIGINT")
            gdb.expect(PROMPT)
            assert re.search(r"^\* ", gdb.do("info threads"), re.M)
            assert re.search(r"^#\d", gdb.do("backtrace"), re.M)
            assert "wait_and_work" in gdb.do("thread apply all backtrace")
            gdb.send("continue\n")
            gdb.expect("Continuing")
            gdb.send("x\n")
            gdb.expect("total 16000\ntotal 16000\n")
        gdb.send(INTERRUPT)
        gdb.expect("SIGINT")
        gdb.expect(PROMPT)
        gdb.do("kill")
        gdb.send("quit\n")
        assert gdb.end() == 0


@pytest.mark.parametrize("prefix", WAYS)
def test_attach_and_break(prefix):
    """A running program gets a breakpoint, and continues without it."""
    child = subprocess.Popen(list(map(str, [*prefix, PROGRAM, "wait"])),
                             env=environment(), text=True, bufsize=1,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == "total 16000\n"
    assert child.stdout.readline() == "ready\n"
    with at_terminal([need("gdb"), *QUIET, "-p", child.pid]) as gdb:
        gdb.do("break program.c:count")
        gdb.send("continue\n")
        gdb.expect("Continuing")
        child.stdin.write("x\n")
        gdb.expect(r"hit Breakpoint 1.*, count \(arg=")
        gdb.expect(PROMPT)
        assert re.search(r"^#0  count", gdb.do("backtrace"), re.M)
        gdb.do("delete")
        gdb.do("next")
        gdb.do("detach")
        gdb.send("quit\n")
        assert gdb.end() == 0
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and out == "total 16000\n" * 2


@pytest.mark.parametrize("vps", ["1", "2"])
def test_gdb_on_weft(vps):
    """gdb has threads of its own, and its program also runs on weft."""
    with at_terminal([*WEFT, "--vps", vps, need("gdb"), *QUIET, "--args",
                      PROGRAM, "wait"]) as gdb:
        gdb.do("break program.c:count")
        gdb.send("run\n")
        gdb.expect(r"hit Breakpoint 1.*, count \(arg=")
        gdb.expect(PROMPT)
        gdb.do("delete")
        gdb.send("continue\n")
        gdb.expect("ready\n")
        gdb.send(INTERRUPT)
        gdb.expect("SIGINT")
        gdb.expect(PROMPT)
        assert "wait_and_work" in gdb.do("thread apply all backtrace")
        gdb.do("kill")
        gdb.send("quit\n")
        assert gdb.end() == 0
