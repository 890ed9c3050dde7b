# SPDX-License-Identifier: MIT
"""Section 4's ring and section 3's operations beside today's peers."""

from bench.papers.report.blocks import Table
from bench.papers.report.plots import Plot

NATIVE, WEFT = "native", "weft"
CPUS = ("1 CPU", "all CPUs")


def rows_of(cells, cpus):
    """Returns {name: row}."""
    ending = f", {cpus}"
    return {row.removesuffix(ending): row for row in cells.rows()
            if row.endswith(ending)}


def best_peer(cells, row):
    """The fastest column that is neither native nor weft, or None."""
    there = {column: cells.get(row, column).value
             for column in cells.columns(row)
             if column not in (NATIVE, WEFT) and cells.has(row, column)}
    return min(there, key=there.get) if there else None


def ratios(cells, row):
    """(best peer, native over weft, best peer over weft)"""
    best = best_peer(cells, row)
    return (best, cells.ratio((row, NATIVE), (row, WEFT)),
            cells.ratio((row, best), (row, WEFT)) if best else None)


def table(cells, cpus, rows):
    columns = cells.columns(*rows.values())
    lines = []
    for name, row in rows.items():
        best, native, peer = ratios(cells, row)
        lines.append([name, *(cells.get(row, column).text()
                              for column in columns),
                      native.text() if native else "-",
                      peer.text() if peer else "-", best or "-"])
    return Table(f"ns for an operation, {cpus}",
                 ("", *columns, "native/weft", "best peer/weft", "best peer"),
                 lines)


def plot(cells, cpus, rows):
    """A marker for each side; the rows are numbered in the table's order."""
    series = {column: [(nr, cells.get(row, column).value)
                       for nr, row in enumerate(rows.values(), 1)
                       if cells.has(row, column)]
              for column in cells.columns(*rows.values())}
    return Plot(f"ns for an operation by the table's row, {cpus}",
                "row of the table", "ns", series, has_lines=False)


def found(cells, cpus, rows):
    natives, faster, slower, equal, by_peer = [], 0, 0, 0, {}
    for row in rows.values():
        best, native, peer = ratios(cells, row)
        if native:
            natives.append(native.value)
        if peer:
            equal += peer.may_be_1
            faster += not peer.may_be_1 and peer.value > 1
            slower += not peer.may_be_1 and peer.value < 1
            by_peer[best] = by_peer.get(best, 0) + 1
    lines = []
    if natives:
        lines.append(f"With {cpus} native threads take {min(natives):.3g} to "
                     f"{max(natives):.3g} times as long as weft's.")
    if by_peer:
        lines.append(
            f"With {cpus} weft is faster than the best peer in {faster} rows, "
            f"slower in {slower}, and may be equal in {equal}. The best peer "
            "is " + ", ".join(f"{name} in {nr}" for name, nr in
                              by_peer.items()) + ".")
    return lines


def section(cells, make):
    tables = {cpus: rows for cpus in CPUS if (rows := rows_of(cells, cpus))}
    ours, sentences = [], []
    for cpus, rows in tables.items():
        ours += [table(cells, cpus, rows), plot(cells, cpus, rows)]
        sentences += found(cells, cpus, rows)
    return make(
        "Peers: the same operations by other libraries and languages "
        "(sections 3 and 4)",
        "How does weft compare with today's libraries of user-level threads, "
        "and with languages that have such threads built in?",
        paper=["The papers compare with native threads and signals only. "
               "GNU Pth and State Threads are of their time; the others came "
               "later."],
        expected=["All peers are far faster than native threads.",
                  "Peers without preemption, or without a stack for each "
                  "thread, are faster than weft where nothing else matters."],
        ours=ours, found=sentences,
        explained=[
            "weft runs unmodified programs: its operations are those of POSIX "
            "threads, with signals, cancellation and preemption. The peers "
            "are libraries and languages of their own, and a program has to "
            "be written for them.",
            "State Threads and GNU Pth have one kernel thread, so they need no "
            "atomic instruction. They, tokio, may and Boost.Fiber do not "
            "preempt: a thread that computes keeps the others waiting.",
            "A task of tokio has no stack, so its creation and its switch save "
            "little. Only functions marked async can wait.",
            "GNU Pth looks at all waiting threads at each switch, so it gets "
            "slower with their number.",
            "Where a library has no semaphore (State Threads, GNU Pth, "
            "Boost.Fiber), its mutexes and condition variables make one. The "
            "ring uses channels in Go, notifications in tokio and "
            "semaphores elsewhere.",
            "Java's figures come after a warm-up of five times the length of a "
            "run, in which it translates the operations. A quick run gives it "
            "half a second, which is short."])
