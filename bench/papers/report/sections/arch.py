# SPDX-License-Identifier: MIT
"""The tables of the paper on NPTL and LinuxThreads on other CPUs, which are
emulated, and on which systems weft runs."""

import re

from bench.lib import report
from bench.papers.arch import machines, rows, systems
from bench.papers.report.blocks import Table, same_way, times
from bench.papers.report.sections.nptl import PAPER

MIPS, X86 = "mips64el", "x86-64"
SIDES = rows.SIDES
SHORT = {"LinuxThreads": "LT"}
INSTRUCTIONS, CALLS, EMULATED = (
    ", instructions", ", system calls", ", emulated instructions")
HERE = "this machine"
WORKS_ON = re.compile(r"weft on (\w+): (.*)")
# Indices in PAPER of the figures for NPTL and LinuxThreads.
COLUMNS = {MIPS: (4, 5), X86: (2, 3)}


def there(cells):
    """Returns the machines for which there is a value."""
    return [machine for machine in machines.ALL
            if any(cells.has(f"{machine.name}, {row.name}", side)
                   for row in rows.ROWS for side in SIDES)]


def paper_ratio(machine, row):
    columns = COLUMNS.get(machine)
    if columns is None or row not in PAPER:
        return None
    nptl, lt = (PAPER[row][column] for column in columns)
    return nptl / lt


def times_table(cells, machine):
    lines = []
    for row in rows.ROWS:
        name = f"{machine.name}, {row.name}"
        if not row.is_timed:
            continue
        ratio = cells.ratio((name, "NPTL"), (name, "LinuxThreads"))
        paper = paper_ratio(machine.name, row.name)
        weft = cells.get(name, rows.WEFT)
        lines.append([row.name, row.unit,
                      *(cells.get(name, side).text() for side in SIDES),
                      rows.NO_PORT if weft.why == rows.NO_PORT
                      else weft.text(), ratio.text() if ratio else "-",
                      report.number(paper) if paper else "-"])
    return Table(f"{machine.name}: {machine.title}, emulated times",
                 ("", "unit", *SIDES, rows.WEFT, "NPTL/LT", "paper: NPTL/LT"),
                 lines)


def counts_table(cells, caption, ending, found):
    columns = [(machine.name, side) for machine in found
               for side in (*SIDES, rows.WEFT)
               if side in SIDES or machine.name == X86]
    lines = []
    for row in rows.ROWS:
        each = [cells.get(f"{machine}, {row.name}{ending}", side)
                for machine, side in columns]
        if any(cell.value is not None for cell in each):
            lines.append([row.name, *(cell.text() for cell in each)])
    return Table(caption, ("", *(f"{machine} {SHORT.get(side, side)}"
                                 for machine, side in columns)), lines)


def native_table(cells):
    lines = []
    for row in rows.ROWS:
        name = f"{HERE}, {row.name}"
        if cells.has(name, "NPTL"):
            lines.append([row.name, cells.get(name, "NPTL").text()])
    return Table("The thread register of this machine, ns", ("", "ns"), lines)


def systems_table(cells):
    lines = []
    for row in cells.rows():
        found = WORKS_ON.match(row)
        if found:
            weft, native = (cells.get(row, side)
                            for side in ("weft", "native"))
            passed = f"{weft.text()} of {native.text()}" \
                if weft.value is not None else weft.why
            name, versions = found.groups()
            lines.append([f"{name}: {versions}", systems.CPU, passed,
                          systems.command(name)])
    for machine in machines.ALL:
        if machine.name != X86:
            lines.append(["any", machine.name, rows.NO_PORT, "-"])
    return Table("weft works on: cases of POSIX tests that pass, of those that "
                 "pass natively", ("suite of Debian: kernel, C library", "CPU",
                                   "passed", "the command that shows it"),
                 lines)


def difference(cells, over, under, ending):
    """Returns the ratio of two cells, each given as (row, side), or None."""
    a, b = (cells.get(f"{row}{ending}", side).value
            for row, side in (over, under))
    return None if a is None or b is None else a - b


def register_found(cells):
    """Does the kernel emulate the thread register?"""
    lines = []
    row = f"{MIPS}, self look-up"
    traps = cells.get(row + EMULATED, "NPTL").value
    if traps is not None:
        lines.append(f"On {MIPS} a self look-up of NPTL's executes "
                     f"{traps:.2f} instructions that the kernel emulates.")
    by_stack = cells.get(f"{MIPS}, self by stack pointer" + EMULATED,
                         "LinuxThreads").value
    if by_stack is not None:
        lines.append("LinuxThreads' look-up by the stack pointer executes "
                     f"{by_stack:.2f} there.")
    cost = difference(cells, (f"{MIPS}, {rows.READ}", "NPTL"),
                      (f"{MIPS}, {rows.NOTHING}", "NPTL"), INSTRUCTIONS)
    if cost is not None:
        lines.append(f"To read the register takes {cost:.0f} instructions "
                     f"there, of which all but one are the kernel's.")
    for other in (X86, "aarch64", "riscv64"):
        ratio = cells.ratio((row + INSTRUCTIONS, "NPTL"),
                            (f"{other}, self look-up{INSTRUCTIONS}", "NPTL"))
        paper = ""
        if other == X86:
            paper = "; the paper: 28 times the time at a tenth of the clock"
        if ratio:
            lines.append("NPTL's self look-up in instructions, "
                         f"{MIPS} over {other}: {times(ratio)}{paper}.")
    traps = cells.get(f"{MIPS}, mutex call{EMULATED}", "NPTL").value
    if traps is not None:
        lines.append(f"A lock and an unlock of NPTL's mutex execute {traps:.2f}"
                     f" such instructions on {MIPS}, since a mutex stores its "
                     "owner.")
    return lines


def switch_found(cells):
    """Compares this machine with emulated x86-64, by the two ways to set the
    register."""
    lines = []
    for machine in (HERE, X86):
        for one, other, what in (
                (rows.SET_CALL, rows.SET, "Setting the thread register"),
                (rows.SWITCH_CALL, rows.SWITCH, "A user-level switch")):
            ratio = cells.ratio((f"{machine}, {one}", "NPTL"),
                                (f"{machine}, {other}", "NPTL"))
            where = machine if machine == HERE else f"emulated {machine}"
            if ratio:
                lines.append(f"{what} by arch_prctl, over wrfsbase, on "
                             f"{where}: {times(ratio)} as long.")
    return lines


def semaphore_found(cells):
    """Does NPTL's semaphore enter the kernel?"""
    lines = []
    for machine in there(cells):
        each = []
        for row, side in (("semaphore that wakes", "NPTL"),
                          ("semaphore call", "NPTL"),
                          ("semaphore call", "LinuxThreads")):
            calls = cells.get(f"{machine.name}, {row}{CALLS}", side).value
            if calls is not None:
                each.append(f"{side}'s {row} {calls:.2f}")
        if each:
            lines.append(f"System calls on {machine.name}: {', '.join(each)}.")
    return lines


def ratios_found(cells):
    same, unclear, all_nr = [], [], 0
    for row in PAPER:
        name = f"{MIPS}, {row}"
        ratio = cells.ratio((name, "NPTL"), (name, "LinuxThreads"))
        if not ratio:
            continue
        all_nr += 1
        way = same_way(ratio, paper_ratio(MIPS, row))
        if way:
            same.append(row)
        elif way is None:
            unclear.append(row)
    if not all_nr:
        return []
    return [f"On {MIPS} the same library is faster as in the paper in "
            f"{len(same)} of {all_nr} rows; the two may be equal in "
            f"{len(unclear)}."]


def section(cells, make):
    found = there(cells)
    captions = ((INSTRUCTIONS, "Instructions of one operation"),
                (CALLS, "System calls of one operation"))
    tables = [times_table(cells, machine) for machine in found]
    tables += [counts_table(cells, caption, ending, found)
               for ending, caption in captions]
    tables.append(counts_table(
        cells, "Instructions of one operation that the kernel emulates",
        EMULATED, [machine for machine in found if machine.name == MIPS]))
    tables = [table for table in tables if table.rows]
    return make(
        "NPTL and LinuxThreads on other CPUs (section 3), and where weft runs "
        "(section 1)",
        "What does a CPU without a thread register cost, and do the paper's "
        "explanations hold?",
        paper=[f"The paper's MIPS is a TX49, which has no thread register. "
               "Its figures stand in the section above."],
        expected=["On mips64el each self look-up enters the kernel, which "
                  "emulates the thread register; elsewhere none does.",
                  "NPTL's semaphore enters the kernel at each post, "
                  "LinuxThreads' does not.",
                  "Where user-level threads set the thread register by a "
                  "system call, switching loses most of its advantage."],
        ours=["These machines are emulated by qemu with kernels of Debian's. "
              "Emulated times say nothing of hardware. What counts is the "
              "ratio within one machine, and how many instructions, system "
              "calls and emulated instructions an operation takes.",
              *tables, native_table(cells), systems_table(cells)],
        found=register_found(cells) + semaphore_found(cells)
        + switch_found(cells) + ratios_found(cells),
        explained=[
            "Instructions are those of the program and the kernel together: "
            "the machine's clock counts them while a program measures.",
            "Linux emulates the read of the thread register by a short path "
            "today; the paper's kernel was older.",
            "An emulated machine has one CPU here, as the paper's MIPS had."])
