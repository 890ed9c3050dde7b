# SPDX-License-Identifier: MIT
"""gdb shows the threads of programs on weft by the commands of weft_gdb.py,
which it loads by itself."""

import os
import re
import shutil
import subprocess

import pytest

import debuggers
from outside import BUILD, WEFT, await_dump, environment
from test_core import PROGRAM, check_stacks, crashed, rows_of

WAITS = BUILD / "test/see/see_waits"
HEAD = re.compile(r"^Weft thread (\d+) \(.*?\), (.*):$")
ROW = re.compile(r"^[* ] +(\d+)  .{16} (\S+) +(.*)$")
# The functions of waits.c, by the kind of wait.
FUNCTIONS = {"rwlock_read": "wait_read", "rwlock_write": "wait_write"}


def gdb(*arguments, safe=BUILD, env=None):
    """Runs gdb and returns its output. An argument that is a tuple is a list of
    gdb's commands."""
    words = []
    for each in arguments:
        words += [word for command in each for word in ("-ex", command)] \
            if isinstance(each, tuple) else [str(each)]
    if not shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
         "-iex", f"add-auto-load-safe-path {safe}", *words],
        text=True, capture_output=True, check=False, env=env,
        timeout=debuggers.LIMIT_S, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def stacks_of(text):
    """{tid: functions}"""
    return {tid: debuggers.functions(lines)
            for tid, lines in debuggers.by_thread(text, HEAD).items()}


def rows_in(text):
    """{tid: (state, what it waits for or is at)}"""
    return {int(row[1]): (row[2], row[3])
            for row in map(ROW.match, text.splitlines()) if row}


def parked(program, nr):
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == nr)


def waiting(start, nr):
    """see_waits and its rows: {tid: kind}"""
    program = start("see_waits", nr)
    rows = {int(line.split()[0]): line.split()[3]
            for line in program.read() if line.count(" ") == 5}
    parked(program, len(rows) + 1)
    assert len(rows) == nr
    return program, rows


def check_waits(stacks, rows, first):
    assert stacks.keys() == {*rows, first}
    assert "main" in stacks[first]
    for tid, kind in rows.items():
        function = FUNCTIONS.get(kind, f"wait_{kind}")
        assert function in stacks[tid] or \
            (kind, "help" in stacks[tid]) == ("semaphore", True), \
            (kind, stacks[tid])
        assert stacks[tid][-1] == "wf_arch_thread_entry"
        assert "main" not in stacks[tid]


def test_gdb_loads_the_commands_by_itself(start):
    program, _ = waiting(start, 3)
    text = gdb("-p", program.pid, ("info auto-load python-scripts",))
    assert re.search(r"^Yes +.*/libweft\.so\.0-gdb\.py *$", text,
                     re.M), text


@pytest.mark.parametrize("nr", [3, 13, 1000])
def test_each_kind_of_wait(start, nr):
    program, rows = waiting(start, nr)
    text = gdb("-p", program.pid, ("info weft-threads", "weft apply all bt"))
    check_waits(stacks_of(text), rows, program.pid)
    shown = rows_in(text)
    for tid, kind in rows.items():
        state, place = shown[tid]
        assert (state, place.split()[0]) == ("parked", kind)
    # gdb has changed nothing.
    parked(program, nr + 1)


@pytest.mark.parametrize("nr", [3, 1000])
def test_a_core_of_the_kernel(tmp_path, nr):
    core, rows, first = crashed(tmp_path, nr)
    text = gdb(PROGRAM, core, ("weft apply all bt", "bt"))
    own, last = text.rsplit("\n#0 ", 1)
    check_stacks(stacks_of(own), rows, first)
    # The thread that crashed is selected as before.
    assert "fall (" in last


def test_computing_threads_of_a_live_program(start):
    program = start("see_crash", 3, options=["--vps", "1"])
    rows = rows_of(program.read())
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == 5)
    text = gdb("-p", program.pid, ("info weft-threads", "weft apply all bt"))
    check_stacks(stacks_of(text), rows, program.pid)
    states = sorted(rows_in(text)[tid][0] for tid, (function, _)
                    in rows.items() if function == "compute")
    # One VP: at least one of the two was preempted.
    assert "runnable" in states and set(states) <= {"runnable", "running"}


def test_a_deadlock_by_hand(start):
    program = start("see_deadlocks", 2)
    first, second = map(int, program.read(1)[0].split())
    parked(program, 3)
    commands = []
    for tid in first, second:
        commands += [f"weft thread {tid}", "bt", "frame function hold_and_wait",
                     "print tids[i]", "weft thread"]
    text = gdb("-p", program.pid, tuple(commands))
    assert re.findall(r"^\$\d+ = (\d+)$", text, re.M) == \
        [str(first), str(second)]
    assert len(re.findall(r"^\[Switching to Weft thread .* parked, mutex 0x",
                          text, re.M)) == 2
    assert re.findall(r"^Weft thread (\d+) \(", text, re.M) == \
        [str(first), str(second)]


def test_the_kernel_thread_comes_back(start):
    program, rows = waiting(start, 3)
    tid = next(iter(rows))
    text = gdb("-p", program.pid, (
        "echo A\\n", "bt",
        "echo A\\n", f"weft thread {tid}", "bt",
        "echo A\\n", "weft thread off", "bt",
        "echo A\\n", f"weft thread {tid}", "weft apply all print 1",
        "weft thread",
        "echo A\\n", "stepi", "weft thread", "echo A\\n"))
    _, before, inside, after, applied, stepped, _ = re.split("^A$", text,
                                                             flags=re.M)
    called = [debuggers.functions(part.splitlines())
              for part in (before, inside, after)]
    assert called[0] == called[2] != called[1]
    assert applied.rstrip().splitlines()[-1].startswith(f"Weft thread {tid} ")
    assert "No thread of weft's is selected." in stepped


def check_new(rows, stacks, nr):
    """rows is {tid: (state, place)}. The first threads may have begun."""
    new = [tid for tid, (state, _) in rows.items() if state == "new"]
    assert len(rows) == nr + 1 and len(new) > 0
    for tid in new:
        assert stacks[tid][0] == "begin"
        assert rows[tid][1].startswith("begin in section .text")


def test_threads_that_have_not_begun(start):
    program = start("see_news", 50, options=["--vps", "1"])
    program.read()
    debuggers.await_stop(program.pid)
    text = gdb("-p", program.pid, ("info weft-threads", "weft apply all bt"))
    check_new(rows_in(text), stacks_of(text), 50)


def test_a_program_that_gdb_starts():
    """weft gives each thread of a traced program a kernel thread."""
    text = gdb(("set breakpoint pending on", "break _exit", "run",
                "weft apply all bt"),
               "--args", WEFT, "run", "--", PROGRAM, "3", env=environment())
    if "peration not permitted" in text:
        pytest.skip("no program may be traced here")
    begun = sorted(stack[stack.index("run_start_routine") - 1]
                   for stack in stacks_of(text).values() if "main" not in stack)
    assert begun == ["compute"] * 2 + ["fall"] + ["wait"] * 3, text


def test_a_stripped_library(tmp_path):
    library = tmp_path / "libweft.so.0"
    subprocess.run(["strip", "-s", "-o", library, BUILD / "libweft.so.0"],
                   check=True)
    shutil.copy(BUILD / "libweft.so.0-gdb.py", tmp_path)
    with subprocess.Popen([WAITS, "13"], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          env={**environment(), "LD_PRELOAD": str(library)},
                          ) as process:
        rows, line = {}, process.stdout.readline()
        while line != "ready\n":
            words = line.split()
            if len(words) == 6:
                rows[int(words[0])] = words[3]
            line = process.stdout.readline()
            assert line, "the program has ended"
        await_dump(process.pid, lambda threads: sum(
            t["state"] == "parked" for t in threads) == 14)
        text = gdb("-p", process.pid, ("weft apply all bt",), safe=tmp_path)
        process.stdin.close()
    stacks = stacks_of(text)
    assert stacks.keys() == {*rows, process.pid}
    for tid, kind in rows.items():
        function = FUNCTIONS.get(kind, f"wait_{kind}")
        assert {function, "help"} & set(stacks[tid]), (kind, stacks[tid])


@pytest.mark.parametrize("command, reason", [
    ("info weft-threads", "The program is not being run."),
    ("weft thread 7", "The program is not being run."),
    ("weft apply all", "Usage: weft apply all|TID... COMMAND"),
])
def test_without_a_process(command, reason):
    text = gdb(BUILD / "libweft.so.0",
               (f"source {BUILD}/libweft.so.0-gdb.py", command))
    assert text.rstrip().splitlines()[-1] == reason


def test_a_tid_of_no_thread(start):
    program, _ = waiting(start, 3)
    text = gdb("-p", program.pid, ("weft thread 77",))
    assert text.rstrip().splitlines()[-1] == \
        "No thread has the tid 77: see info weft-threads."


def test_a_program_that_is_not_on_weft(tmp_path):
    source = tmp_path / "commands"
    source.write_text(f"source {BUILD}/libweft.so.0-gdb.py\n")
    with subprocess.Popen([shutil.which("cat")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        os.write(process.stdin.fileno(), b"x")
        assert process.stdout.read(1) == b"x"
        text = gdb("-p", process.pid, "-x", source, ("info weft-threads",))
        process.stdin.close()
    assert text.rstrip().splitlines()[-1] == (
        "The program does not run on weft, or has not loaded libweft.so.")
