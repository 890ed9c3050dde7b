# SPDX-License-Identifier: MIT
"""lldb shows the threads of programs on weft by weft_lldb.py."""

import pathlib
import re
import shutil
import subprocess

import pytest

import debuggers
from outside import ROOT, dump
from test_core import PROGRAM, check_stacks, crashed, rows_of
from test_gdb import check_waits, parked, waiting

PLUGIN = ROOT / "cli/debuggers/weft_lldb.py"
HEAD = re.compile(r"^[* ] thread #(\d+)")
LISTED = re.compile(r"^[* ] thread #(\d+): tid = (\d+).*?"
                    r"(?:queue = '(\w+)[^']*')?(?:, stop reason.*)?$")
FIRST = 1 << 32


def run(*commands, env=None):
    words = [word for command in commands for word in ("-o", command)]
    return subprocess.run(
        ["lldb", "--no-lldbinit", "--batch", *words], text=True, check=False,
        capture_output=True, timeout=debuggers.LIMIT_S, env=env,
        stdin=subprocess.DEVNULL)


def has_python(env):
    return "lldb 1" in run("script print('lldb', 1)", env=env).stdout and \
        "Traceback" not in run("script 1", env=env).stderr


@pytest.fixture(name="lldb", scope="module")
def lldb_with_python(tmp_path_factory):
    """Debian 12's lldb looks for its Python package in a wrong folder, and the
    package has a link that leads nowhere."""
    if not shutil.which("lldb"):
        pytest.skip("lldb is not installed")
    env = None
    if not has_python(env):
        found = sorted(pathlib.Path("/usr/lib").glob(
            "llvm-*/lib/python3.*/dist-packages/lldb"))
        libraries = sorted(pathlib.Path("/usr/lib").glob(
            "*-linux-gnu/liblldb-*.so.1"))
        if not found or not libraries:
            pytest.skip("lldb has no Python")
        folder = tmp_path_factory.mktemp("python")
        package = folder / "lldb"
        package.mkdir()
        for path in found[-1].iterdir():
            native = path.name.startswith("_lldb.")
            (package / path.name).symlink_to(libraries[-1] if native else path)
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)}
        if not has_python(env):
            pytest.skip("lldb's Python does not work here")

    def show(*load):
        done = run(*load, "settings set target.process.python-os-plugin-path "
                   f"{PLUGIN}", "thread list", "bt all", env=env)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout
    return show


def threads_in(text):
    """{tid: (kind of wait or state, functions)}. Threads of the kernel's have
    no queue."""
    lines, stacks = text.split("(lldb) bt all\n")
    tids = {int(row[1]): (int(row[2]), row[3])
            for row in map(LISTED.match, lines.splitlines()) if row}
    found = {}
    for number, frames in debuggers.by_thread(
            re.sub(r"^\* thread #1,", "  thread #1,", stacks, flags=re.M),
            HEAD).items():
        tid, queue = tids[number]
        found[tid] = (queue, debuggers.functions(frames))
    return found


def own(threads, first):
    """Returns the program's threads, without kernel threads. lldb shows a
    thread's tid plus FIRST, except that of the first thread."""
    return {tid - FIRST if tid > FIRST else tid: row
            for tid, row in threads.items() if row[0]}


@pytest.mark.parametrize("nr", [3, 13, 1000])
def test_each_kind_of_wait(start, lldb, nr):
    program, rows = waiting(start, nr)
    text = lldb(f"process attach --pid {program.pid}")
    threads = own(threads_in(text), program.pid)
    for tid, kind in rows.items():
        assert threads[tid][0] == kind
    check_waits({tid: stack for tid, (_, stack) in threads.items()}, rows,
                program.pid)
    parked(program, nr + 1)


@pytest.mark.parametrize("nr", [3, 1000])
def test_a_core_of_the_kernel(tmp_path, lldb, nr):
    core, rows, first = crashed(tmp_path, nr)
    text = lldb(f"target create --core {core} {PROGRAM}")
    threads = threads_in(text)
    # The threads that ran are at their kernel threads.
    ran = {t["tid"] for t in dump(core)["threads"] if t["state"] == "running"}
    stacks = {tid: row[1] for tid, row in own(threads, first).items()}
    assert stacks.keys() == {*rows, first} - ran
    check_stacks(stacks, {tid: row for tid, row in rows.items()
                          if tid not in ran}, first)
    kernel = [row[1] for row in threads.values() if not row[0]]
    assert sum("fall" in stack for stack in kernel) == 1


def test_threads_that_have_not_begun(start, lldb):
    program = start("see_news", 50, options=["--vps", "1"])
    program.read()
    debuggers.await_stop(program.pid)
    threads = own(threads_in(lldb(f"process attach --pid {program.pid}")),
                  program.pid)
    new = [stack for state, stack in threads.values() if state == "new"]
    assert len(new) > 0
    assert all(stack == ["begin"] for stack in new)


def test_computing_threads_of_a_live_program(start, lldb):
    program = start("see_crash", 3, options=["--vps", "1"])
    rows = rows_of(program.read())
    parked(program, 5)
    threads = own(threads_in(lldb(f"process attach --pid {program.pid}")),
                  program.pid)
    preempted = [threads[tid] for tid, (function, _) in rows.items()
                 if function == "compute" and tid in threads]
    assert preempted
    for state, stack in preempted:
        assert (state, stack[0]) == ("runnable", "compute")
