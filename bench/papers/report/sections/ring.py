# SPDX-License-Identifier: MIT
"""The ring of threads of the paper on polling agents."""

import re

from bench.papers.report.blocks import Table, beside, of_cells, times
from bench.papers.report.plots import Plot

ROW = re.compile(r"(\d+) threads, (\d+) VPs?$")
OURS = ("words", "words random", "semaphores")
# (number of threads, faster way, slower way): times, in the paper.
PAPER = (
    ("4 (one for each core)", "polling", "signals", "19"),
    ("5 (one more than cores)", "polling", "signals", "1/2557"),
    ("5", "agent + lightweight threads", "agent + signal", "5.95"),
    ("5", "agent + lightweight threads", "signals", "5.21"),
    ("1000", "agent + lightweight threads", "signals", "5.24"),
)


def rings(cells):
    """Returns {VPs: {threads: row}}."""
    found = {}
    for row in cells.rows():
        match = ROW.match(row)
        if match:
            found.setdefault(int(match[2]), {})[int(match[1])] = row
    return {vps: dict(sorted(rows.items()))
            for vps, rows in sorted(found.items())}


def plot(cells, vps, rows):
    series = {way: [(nr, cells.get(row, way).value)
                    for nr, row in rows.items() if cells.has(row, way)]
              for way in cells.columns(*rows.values())}
    paper = []
    for nr, ratio in ((5, 5.21), (1000, 5.24)):
        signals = cells.get(rows.get(nr), "signals").value
        if signals:
            paper.append((nr, signals / ratio))
    return Plot(f"One-way latency, VPs and CPUs: {vps}", "threads",
                "ns one way", series, tuple(paper), log_x=True)


def found(cells, all_rings):
    lines = []
    if not all_rings:
        return lines
    most = max(all_rings)
    many = all_rings[most]
    for nr, paper in ((most, 19), (most + 1, 1 / 2557)):
        if nr in many and most > 1:
            lines += beside(
                f"{nr} threads on {most} CPUs, signals over polling",
                cells.ratio((many[nr], "signals"), (many[nr], "polling")),
                paper)
    for vps, rows in all_rings.items():
        where = f"with {vps} VP{'s' * (vps > 1)}"
        for nr, way, over, paper in ((5, "words", "agent + signal", 5.95),
                                     (5, "words", "signals", 5.21),
                                     (1000, "words", "signals", 5.24)):
            if nr in rows:
                lines += beside(
                    f"{nr} threads {where}, {over} over weft's words",
                    cells.ratio((rows[nr], over), (rows[nr], way)), paper)
        lines += peers(cells, rows, where)
    return lines


def peers(cells, rows, where):
    """Compares weft's semaphores with today's alternatives."""
    lines = []
    for nr in (5, 1000):
        each = []
        for way in ("condition variables", "futexes", "Go channels"):
            ratio = nr in rows and cells.ratio((rows[nr], way),
                                               (rows[nr], "semaphores"))
            if ratio:
                each.append(f"{way} {times(ratio)}")
        if each:
            lines.append(f"{nr} threads {where}, over weft's semaphores: "
                         f"{', '.join(each)}.")
    return lines


def section(cells, make):
    all_rings = rings(cells)
    ours = []
    for vps, rows in all_rings.items():
        ours.append(of_cells(
            f"ns one way, VPs and CPUs: {vps}", cells,
            {str(nr): row for nr, row in rows.items()},
            cells.columns(*rows.values()), "threads"))
        ours.append(plot(cells, vps, rows))
    return make(
        "Waiting by polling agents and lightweight threads (section 4)",
        "Threads in a ring pass on eight bytes. What is the fastest way to "
        "wait for the neighbour?",
        paper=[Table("Times faster, on 4 cores",
                     ("threads", "way", "faster than", "times"), PAPER),
               "The agent of \"agent + signal\" has a core of its own. In our "
               "plots a cross is our latency with signals over the paper's "
               "ratio for lightweight threads."],
        expected=["Polling wins with a CPU for each thread and loses with one "
                  "thread more.",
                  "An agent that switches straight to the waiting thread is "
                  "about five times faster than signals, with few threads "
                  "and with many."],
        ours=ours,
        found=found(cells, all_rings),
        explained=[
            "A signal enters the kernel twice and wakes a kernel thread. A "
            "wait word on weft does neither while an agent polls.",
            "The paper's agents exclude each other by a lock at which waiters "
            "spin, and scan all words. weft's other ways (semaphores) need no "
            "agent: the thread that posts puts the waiter into a run queue.",
            "The number of CPUs differs: the paper had 4 cores. With one "
            "thread more than CPUs the kernel lets a polling thread use up its "
            "time slice, so the loss depends on the kernel's slice."])
