# SPDX-License-Identifier: MIT
"""Table 1 of the paper on virtual processors: lock and unlock apart."""

from bench.papers.report.blocks import Table, beside, of_cells, times

KERNEL, PLAIN = "kernel semaphore", "plain variable"
PAPER = {"lock": (58, 36), "unlock": (58, 40)}
OPEN = ("Peterson, 2 threads", "bakery, 2 threads", "bakery, 8 threads",
        "fast mutex, 2 threads", "fast mutex, 8 threads")


def found(cells):
    lines = []
    for column, (kernel, plain) in PAPER.items():
        lines += beside(f"To {column}, kernel semaphore over plain variable",
                        cells.ratio((KERNEL, column), (PLAIN, column)),
                        kernel / plain)
    for name in OPEN:
        kernel = cells.ratio((name, "lock"), (KERNEL, "lock"))
        mutex = cells.ratio((name, "lock"), ("libc mutex", "lock"))
        if kernel and mutex:
            lines.append(f"To lock, {name}: {times(kernel)} a kernel semaphore "
                         f"and {times(mutex)} libc's mutex.")
    weft = cells.ratio(("weft mutex, 1 VP", "lock"), ("libc mutex", "lock"))
    if weft:
        lines.append(f"To lock, weft's mutex with one virtual processor: "
                     f"{times(weft)} libc's.")
    return lines


def section(cells, make):
    return make(
        "Virtual processors: a lock without contention (section 2, table 1)",
        "What does it cost to lock and to unlock a mutex that no other thread "
        "wants? And is there a faster lock that needs neither the kernel nor "
        "special instructions?",
        paper=[Table("Uncontended, us", ("", "lock", "unlock"), [
            ["SMP library: kernel semaphore", "58", "58"],
            ["PTL: plain variable, one processor", "36", "40"]])],
        expected=["The kernel semaphore costs more than the plain variable.",
                  "A lock of loads, stores and fences alone costs less than "
                  "the kernel semaphore. The paper left open whether there "
                  "is one."],
        ours=[of_cells("Uncontended, ns; fences executed", cells,
                       {row: row for row in cells.rows()},
                       ("lock", "unlock", "lock fences", "unlock fences"))],
        found=found(cells),
        explained=[
            "The paper's figures are those of a thread library's whole mutex. "
            "Ours are those of the bare lock, so the system call weighs more.",
            "On x86 a fence takes as long as an atomic instruction or longer. "
            "Peterson's lock has one fence, the bakery and the fast mutex "
            "have two. A mutex has one atomic instruction to lock and one to "
            "unlock."])
