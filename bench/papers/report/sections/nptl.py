# SPDX-License-Identifier: MIT
"""The tables of the paper on NPTL and LinuxThreads."""

from bench.lib import report
from bench.papers.report.blocks import Table, of_cells, same_way, times
from bench.papers.report.records import WITNESS

# {our row: (the paper's name, unit, x86 NPTL, LT, MIPS NPTL, LT)}
PAPER = {
    "self look-up": ("thread self look-up", "ns", 5.4, 5.9, 150, 170),
    "mutex call": ("mutex call", "ns", 64, 80, 570, 520),
    "semaphore call": ("semaphore call", "ns", 400, 150, 1870, 960),
    "switch by mutex": ("context switch by mutex", "us", 1.53, 2.74, 19.8,
                        62.9),
    "switch by semaphore": ("context switch by semaphore", "us", 1.54, 2.83,
                            19.7, 59.8),
    "switch by condition": ("context switch by condition variable", "us",
                            2.28, 3.09, 29.1, 64.6),
    "create": ("thread create (printed as ns, read as us)", "us", 12.5, 31.9,
               146, 637),
    "join": ("thread join", "us", 5.7, 28.4, 80.5, 841),
}
SIDES = ("NPTL", "LinuxThreads", "weft")
CALLS, KIND = ", system calls", ", system call "
WITNESSES, WITNESS_CALLS = ("NPTL", "LinuxThreads", "dietlibc"), ", calls"


def paper_table():
    rows = []
    for name, unit, *figures in PAPER.values():
        row = [name, unit]
        for nptl, lt in (figures[:2], figures[2:]):
            row += [f"{nptl:g}", f"{lt:g}", f"{nptl / lt:.2g}"]
        rows.append(row)
    return Table("NPTL, LinuxThreads (LT) and NPTL/LT",
                 ("", "unit", "x86 NPTL", "LT", "ratio", "MIPS NPTL", "LT",
                  "ratio"), rows)


def our_table(cells, cpus):
    ending = f", {cpus}"
    rows = []
    for row in cells.rows():
        if not row.endswith(ending):
            continue
        unit = next((cells.get(row, side).unit for side in SIDES
                     if cells.has(row, side)), "")
        ratios = [cells.ratio((row, "NPTL"), (row, other))
                  for other in ("LinuxThreads", "weft")]
        name = row.removesuffix(ending)
        paper = PAPER.get(name)
        rows.append([name, unit,
                     *(cells.get(row, side).text() for side in SIDES),
                     *(ratio.text() if ratio else "-" for ratio in ratios),
                     f"{paper[2] / paper[3]:.2g}" if paper else "-"])
    return Table(f"With {cpus}", ("", "unit", *SIDES, "NPTL/LT", "NPTL/weft",
                                  "paper: NPTL/LT"), rows)


def witness_tables(cells):
    """Compares the model with dietlibc in one program: times and system calls.
    Returns a list, which is empty for a result that has no such rows."""
    rows = []
    for row in cells.rows():
        if not row.startswith(WITNESS) or row.endswith(WITNESS_CALLS):
            continue
        unit = next((cells.get(row, side).unit for side in WITNESSES
                     if cells.has(row, side)), "")
        rows.append([row.removeprefix(WITNESS), unit,
                     *(cells.get(row, side).text() for side in WITNESSES),
                     *(cells.get(row + WITNESS_CALLS, side).text()
                       for side in WITNESSES)])
    return [Table("A second witness, 1 CPU: times, then system calls of one "
                  "operation",
                  ("", "unit", *WITNESSES,
                   *(f"{side}, calls" for side in WITNESSES)), rows)
            ] if rows else []


def ratios_found(cells):
    lines, same, unclear, all_nr = [], 0, 0, 0
    for name, (_, _, nptl, lt, _, _) in PAPER.items():
        row = f"{name}, 1 CPU"
        ratio = cells.ratio((row, "NPTL"), (row, "LinuxThreads"))
        if not ratio:
            continue
        way = same_way(ratio, nptl / lt)
        all_nr += 1
        same += way is True
        unclear += way is None
        lines.append(f"NPTL over LinuxThreads, {name}: {times(ratio)}; the "
                     f"paper on x86: {report.number(nptl / lt)}.")
    if all_nr:
        lines.insert(0, "With 1 CPU the same library is faster as in the paper "
                     f"in {same} of {all_nr} rows; the two may be equal in "
                     f"{unclear}.")
    return lines


def weft_found(cells):
    lines = []
    for cpus in ("1 CPU", "all CPUs"):
        each = []
        for name in PAPER:
            row = f"{name}, {cpus}"
            ratio = cells.ratio((row, "NPTL"), (row, "weft"))
            if ratio:
                each.append(f"{name} {ratio.text()}")
        if each:
            lines.append(f"NPTL over weft with {cpus}: {', '.join(each)}.")
    return lines


def calls_found(cells):
    """The paper's explanation of the slow semaphore, tested."""
    lines = []
    for name, side in (("semaphore that wakes", "NPTL"),
                       ("semaphore call", "NPTL"),
                       ("semaphore call", "LinuxThreads")):
        cell = cells.get(name + CALLS, side)
        if cell.value is not None:
            lines.append(f"{side}, {name}: {cell.value:.2f} system calls for "
                         "an operation.")
    ratio = cells.ratio(("semaphore that wakes, 1 CPU", "NPTL"),
                        ("semaphore call, 1 CPU", "LinuxThreads"))
    if ratio:
        lines.append("A semaphore whose post always calls the kernel, over "
                     f"LinuxThreads' semaphore: {times(ratio)}; the paper: "
                     f"{report.number(400 / 150)}.")
    return lines


def kinds_found(cells, calls):
    """The system calls of each side, by name."""
    kinds = {}
    for row in cells.rows():
        name, is_kind, kind = row.partition(KIND)
        if is_kind:
            kinds.setdefault(name, []).append((kind, row))
    lines = []
    for name, each in kinds.items():
        parts = []
        for side in SIDES:
            there = ", ".join(f"{kind} {cells.get(row, side).text()}"
                              for kind, row in each if cells.has(row, side))
            if cells.has(calls.get(name, ""), side):
                parts.append(f"{side} {there or 'none'}")
        lines.append(f"System calls of {name}: {'; '.join(parts)}.")
    return lines


def section(cells, make):
    calls = {row.removesuffix(CALLS): row for row in cells.rows()
             if row.endswith(CALLS)}
    return make(
        "NPTL and LinuxThreads (section 3)",
        "How much faster are kernel threads with futexes than kernel threads "
        "with a manager thread and signals? And how much faster is weft?",
        paper=[paper_table()],
        expected=["NPTL is faster in all rows but the semaphore call, which is "
                  "slower because it enters the kernel."],
        ours=[our_table(cells, "1 CPU"), our_table(cells, "all CPUs"),
              of_cells("System calls of one operation, 1 CPU", cells, calls,
                       SIDES),
              *witness_tables(cells),
              "This is the architecture of the machine; the next section has "
              "MIPS and others."],
        found=ratios_found(cells) + weft_found(cells) + calls_found(cells)
        + kinds_found(cells, calls),
        explained=[
            "LinuxThreads is in no libc any more. Ours is a small model of it, "
            "preloaded into the same programs.",
            "dietlibc has a library of that family, written by others: a "
            "manager that gets requests by a pipe, threads that are processes, "
            "and a signal to block and one to wake. Its calls confirm the "
            "model's. Its times are its own: it finds a thread in a table and "
            "not by a register, and where a lock is taken it tries again after "
            "2 ms, so its creation takes 2 ms.",
            "Each post of NPTL's first semaphore entered the kernel. Today's "
            "enters it only if a thread waits, so the row of the semaphore "
            "that wakes stands for it.",
            "The paper does not say whether a call is one of a pair, nor "
            "whether a joined thread had ended. Ours count pairs."])
