# SPDX-License-Identifier: MIT
"""Stacks and values that gdb, lldb and eu-stack show of a core file."""

import pathlib
import re
import shutil
import subprocess
import time

import pytest

LIMIT_S = 300
# The number of a thread, in a line that begins its stack.
GDB = re.compile(r"^Thread \d+ \(.*?LWP (\d+)\)+:$")
EU_STACK = re.compile(r"^TID (\d+):$")
FUNCTION = re.compile(
    r"^\s*(?:\* )?(?:frame )?#\d+:?\s+(?:0x[0-9a-f]+ )?(?:in )?"
    r"(?:[\w.\[\]-]+`)?([\w.@]+)")


def run(*command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(list(map(str, command)), text=True, check=False,
                          capture_output=True, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL)


def await_stop(pid):
    """Waits until the process has stopped itself."""
    end = time.monotonic() + LIMIT_S
    status = pathlib.Path(f"/proc/{pid}/status")
    while "State:\tT" not in status.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)


def by_thread(text, head):
    """{tid: lines}"""
    found, lines = {}, []
    for line in text.splitlines():
        match = head.match(line)
        if match:
            lines = found.setdefault(int(match[1] or 0), [])
            assert not lines, f"two threads with the number {match[1]}"
        lines.append(line)
    return found


def functions(lines):
    return [match[1] for match in map(FUNCTION.match, lines) if match]


def gdb(program, core, *commands):
    arguments = [word for command in commands for word in ("-ex", command)]
    return run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
               *arguments, program, core).stdout


def gdb_stacks(program, core):
    """{tid: functions}"""
    text = gdb(program, core, "thread apply all bt")
    return {tid: functions(lines)
            for tid, lines in by_thread(text, GDB).items()}


def gdb_values(program, core, expression, form=""):
    """Returns {tid: text}. gdb 13 expects Intel's sizes of registers. So on
    other CPUs it warns before a value, of a native core, too."""
    text = gdb(program, core, f"thread apply all -s print{form} {expression}")
    found = {tid: re.search(r"^\$\d+ = (.*)", "\n".join(lines), re.M)
             for tid, lines in by_thread(text, GDB).items()}
    return {tid: match[1] for tid, match in found.items() if match}


def eu_stacks(program, core):
    done = run("eu-stack", "--core", core, "-e", program)
    return {tid: functions(lines)
            for tid, lines in by_thread(done.stdout, EU_STACK).items()}


def lldb_stacks(program, core):
    """The functions of each thread; lldb prints no numbers with stacks."""
    done = run("lldb", "--no-lldbinit", "--batch", "-o", "bt all", "--core",
               core, program)
    if "thread #1" not in done.stdout:
        pytest.skip(f"lldb does not work here: {done.stderr[-200:]}")
    return [functions(text.splitlines()) for text in
            re.split(r"^[* ] thread #", done.stdout, flags=re.M)[1:]]
