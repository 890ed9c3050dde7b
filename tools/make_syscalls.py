#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the last section of docs/reference/syscalls.md, from syscall_rows.py:
how weft handles each system call of the kernel.

Also checks that every call of <asm/unistd_64.h> has a row, and that each row
about threads names a test that exists. src/api/state/kernel_calls.c has to
have rows for calls about threads only.

usage: make_syscalls.py [--check] [ROOT]
"""

import pathlib
import re
import sys

import syscall_rows
from made_page import arguments, finish, preprocess

PAGE = pathlib.Path("docs/reference/syscalls.md")
TABLE = pathlib.Path("src/api/state/kernel_calls.c")
TITLE = "## All calls of the kernel"
CLASSES = ("thread", "process", "no effect")

HEAD = f"""\
{TITLE}

Every system call of Linux {syscall_rows.NEWEST} on x86-64, with what it
acts on. Made by `tools/make_syscalls.py`; `./dev lint` checks that it is up to
date.

* *process*: what all threads of the process share, or the machine. weft passes
  the call through, or parks its wait.
* *thread*: the calling thread, or the one that an id names. The row says how
  weft handles it, and which test shows that. A thread that is *bound* has a
  kernel thread of its own from then on.
* *no effect*: nothing that a thread could notice.

A call has several rows if its operations differ. The rows hold for libc's
functions and for `syscall()`, but where a row says otherwise. For a system
call that is compiled into the program only those of class *process* hold; see
[limits](../guide/limits.md).

| number | call | on | how | test |
| --- | --- | --- | --- | --- |
"""


def in_header():
    """Returns {number: call} of the compiler's header."""
    found = re.findall(r"^#define __NR_(\w+) (\d+)$",
                       preprocess("asm/unistd_64.h", "-dM"), re.M)
    return {int(number): name for name, number in found}


def rows_by_call():
    """Returns {call: [(class, operations, how, test), ...]}."""
    rows = {}
    for name, operations, how, test in syscall_rows.THREAD:
        rows.setdefault(name, []).append(("thread", operations, how, test))
    for kind, groups in (("process", syscall_rows.PROCESS),
                         ("no effect", syscall_rows.NO_EFFECT)):
        for how, names in groups:
            for name in names.split():
                operations = "others" if name in rows else ""
                rows.setdefault(name, []).append((kind, operations, how, ""))
    return rows


def contradictions(header, calls, rows):
    """Returns errors for calls that only the header or only the table has."""
    for number, name in sorted(header.items()):
        if calls[number] != name:
            yield f"syscall_rows.py has {calls[number]} with {name}'s number"
    for name in sorted(set(calls.values()) - set(rows)):
        yield f"syscall_rows.py does not say what {name} is"
    for name in sorted(set(rows) - set(calls.values())):
        yield f"syscall_rows.py has {name}, which is no call"
    for name, group in sorted(rows.items()):
        seen = [row[:2] for row in group if row[0] != "thread"]
        if len(seen) != len(set(seen)):
            yield f"syscall_rows.py has {name} twice"


def has_test(root, test):
    """Does the test exist? It is FILE:CASE of test/posix, FILE: for all cases
    of a file, or regress/FILE."""
    name, _, case = test.partition(":")
    if name == "none":
        return bool(case.strip())
    folder = "test" if name.startswith("regress/") else "test/posix"
    source = root / folder / f"{name}.c"
    if not source.is_file():
        return False
    # The macro OPTION makes cases with one name each.
    cases = rf"TEST\({case}\)|OPTION\({case.removeprefix('option_')},"
    return not case or re.search(cases, source.read_text()) is not None


def unlike_source(root, rows):
    """Returns errors for rows without a test, and for calls of the table
    without a row."""
    for name, group in sorted(rows.items()):
        for kind, _, _, test in group:
            if kind == "thread" and not has_test(root, test):
                yield f"{name} has no test {test}"
    table = set(re.findall(r"\[SYS_(\w+)\] =", (root / TABLE).read_text()))
    about_threads = {name for name, group in rows.items()
                     if any(row[0] == "thread" for row in group)}
    if not table:
        yield f"{TABLE} has no rows"
    for name in sorted(table - about_threads):
        yield f"{TABLE} has {name}, which is not about threads"


def test_cell(test):
    name, _, case = test.partition(":")
    if name == "none":
        return f"none: {case.strip()}"
    if not name:
        return ""
    path = name if "/" in name else f"posix/{name}"
    return f"`{path}:{case}`" if case else f"`{path}`"


def section(calls, rows):
    lines = []
    for number, name in sorted(calls.items()):
        for kind, operations, how, test in sorted(
                rows.get(name, []), key=lambda row: CLASSES.index(row[0])):
            call = f"`{name}`" + (f", {operations}" if operations else "")
            cells = (str(number), call, kind, how, test_cell(test))
            lines.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
    return HEAD + "\n".join(lines) + "\n"


def main(argv):
    is_check, root = arguments(argv)
    page = root / PAGE
    header = in_header()
    rows = rows_by_call()
    calls = {**syscall_rows.numbers(), **syscall_rows.NEWER}
    errors = [f"<asm/unistd_64.h> has {header[number]}, which "
              f"syscall_rows.py does not" for number in sorted(header)
              if number not in calls]
    header = {number: name for number, name in header.items()
              if number in calls}
    errors += contradictions(header, calls, rows)
    errors += unlike_source(root, rows)
    by_hand = page.read_text().split(TITLE)[0]
    return finish(page, by_hand + section(calls, rows), is_check, errors,
                  "syscalls")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
