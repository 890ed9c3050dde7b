# SPDX-License-Identifier: MIT
"""Figures of the documents: each has a name, and is made of the records that
papers.json holds. tools/make_figures.py puts them where the name stands.

    for block in figure("ring", result):
        ...                 a blocks.Table, a plots.Plot, plots.Bars or text

Where cells have no value the text says so and why.
"""

import dataclasses

from bench.papers.arch import machines
from bench.papers.report import plots
from bench.papers.report.blocks import Table, of_cells
from bench.papers.report.cells import Cells
from bench.papers.report.sections import (arch, nptl, peers, power, ptl_n,
                                          ring, tsp)

HOW = ("`./dev bench papers --save` measures, `./dev bench papers --figures` "
       "fills this in.")
NOTHING = "not measured yet"
# The sides of papers/ptl-n that model the paper's system, and native threads.
PTL_N = ("native", "weft uring", "weft process favoured", "model favoured")
SLOW_READ = ("slow", "read", "miss")


@dataclasses.dataclass(frozen=True)
class Headline:
    """Two cells of one row. `is_part`: they are parts of 100 %, so the ratio
    says nothing."""
    title: str
    experiment: str
    row: str
    native: str
    weft: str
    is_part: bool = False


HEADLINES = (
    Headline("create a thread", "nptl", "create, 1 CPU", "NPTL", "weft"),
    Headline("join a thread", "nptl", "join, 1 CPU", "NPTL", "weft"),
    Headline("switch to another thread by a semaphore", "nptl",
             "switch by semaphore, 1 CPU", "NPTL", "weft"),
    Headline("lock and unlock a mutex that no other thread wants", "nptl",
             "mutex call, 1 CPU", "NPTL", "weft"),
    Headline("pass on 8 bytes in a ring of 5 threads: by signals, by wait "
             "words", "ring", "5 threads, 1 VP", "signals", "words"),
    Headline("the same with 1000 threads", "ring", "1000 threads, 1 VP",
             "signals", "words"),
    Headline("travelling salesman, 11 cities, 8 threads, all CPUs", "tsp",
             "11 cities", "native", "weft, all VPs"),
    Headline("part of the wait for a slow file that another thread can use",
             "ptl-n", "slow-read-miss, 64 KiB, usable", "native",
             "weft process favoured", is_part=True),
)


class Source:
    """The content of papers.json, or {}."""

    def __init__(self, result):
        self.result = result

    def cells(self, experiment):
        return Cells(self.result.get("records", ()), experiment)

    def why(self, experiment):
        return self.result.get("missing", {}).get(experiment, NOTHING)


def environment(source):
    about = source.result.get("about")
    if not about:
        return []
    found = [f"Measured {about.get('date', '?')} on {about.get('cpu', '?')}, "
             f"{about.get('cpus', '?')} CPUs, with Linux "
             f"{about.get('kernel', '?')}, {about.get('libc', '?')} and "
             f"{about.get('weft', 'weft')} ({about.get('commit', '?')})."]
    if about.get("is_quick"):
        found.append("This is a quick run: few and short samples.")
    nr = len(source.result.get("warnings", ()))
    if nr:
        found.append(f"The run has {nr} warning{'s' * (nr > 1)}; the page of "
                     "`./dev bench papers` lists them.")
    return [" ".join(found)]


def with_unit(cell):
    return f"{cell.text()} {cell.unit}" if cell.value is not None else "-"


def headlines(source):
    rows = []
    for one in HEADLINES:
        cells = source.cells(one.experiment)
        native, weft = (cells.get(one.row, side)
                        for side in (one.native, one.weft))
        ratio = None if one.is_part else cells.ratio((one.row, one.native),
                                                     (one.row, one.weft))
        if native.value is not None or weft.value is not None:
            rows.append([one.title, with_unit(native), with_unit(weft),
                         ratio.text() if ratio else ""])
    return [Table("", ("one operation", "native threads", "weft",
                       "times faster"), rows)] if rows else []


# --- question 1 ---------------------------------------------------------------

def usable(source):
    """The part of the wait that other threads can use, by the unit."""
    cells = source.cells("ptl-n")
    each = ptl_n.units(cells).get(SLOW_READ, [])
    series = {side: [(unit, cell.value) for unit in each
                     if (cell := cells.get(ptl_n.row(SLOW_READ, unit, "usable"),
                                           side)).value is not None]
              for side in PTL_N}
    plot = plots.Plot("Reads of a slow file: usable part of the wait",
                      "unit, KiB", "%", series,
                      tuple((unit, 90) for unit in each), log_x=True,
                      log_y=False)
    return [plot] if plot.has_points() else []


def elapsed(source):
    """Makes the table of the elapsed time relative to plain I/O."""
    cells = source.cells("ptl-n")
    rows = []
    for key, each in ptl_n.units(cells).items():
        if key[2] != "miss":
            continue
        ends = [ptl_n.row(key, unit, "elapsed") for unit in (each[0], each[-1])]
        for side in PTL_N:
            ratios = [cells.ratio((row, side), (row, "plain")) for row in ends]
            if any(ratios):
                rows.append([
                    f"{ptl_n.PLACES[key[0]]}, {key[1]}, {side}",
                    f"{each[0]} and {each[-1]}",
                    *(ratio.text() if ratio else "-" for ratio in ratios)])
    return [Table("", ("elapsed time over plain I/O", "units, KiB",
                       "smallest unit", "largest unit"), rows)] \
        if rows else []


# --- question 2 ---------------------------------------------------------------

def salesman(source):
    cells = source.cells("tsp")
    plot = tsp.figure_2(cells, tsp.cities_of(cells))
    return [plot] if plot.has_points() else []


def lock(source):
    cells = source.cells("locks")
    series = {column: {row: cell.value for row in cells.rows()
                       if (cell := cells.get(row, column)).value is not None}
              for column in ("lock", "unlock")}
    plot = plots.Bars("A lock that no other thread wants", "ns", series,
                      log_x=True, base=1)
    return [plot] if plot.has_points() else []


# --- question 3 ---------------------------------------------------------------

def kernel_threads(source):
    """NPTL over LinuxThreads, here and in the paper."""
    cells = source.cells("nptl")
    ours, theirs = {}, {}
    for name, (_, _, paper_nptl, paper_lt, _, _) in nptl.PAPER.items():
        row = f"{name}, 1 CPU"
        ratio = cells.ratio((row, "NPTL"), (row, "LinuxThreads"))
        if ratio:
            ours[name] = ratio.value
            theirs[name] = paper_nptl / paper_lt
    if not ours:
        return []
    return [plots.Bars("NPTL's time over LinuxThreads'", "times",
                       {"here": ours, "the paper, x86": theirs}, log_x=True,
                       base=1), nptl.our_table(cells, "1 CPU")]


def calls(source):
    cells = source.cells("nptl")
    rows = {row.removesuffix(nptl.CALLS): row for row in cells.rows()
            if row.endswith(nptl.CALLS)}
    return [of_cells("", cells, rows, nptl.SIDES, "system calls of")] \
        if rows else []


def emulated(source):
    """The look-up of the own thread on each machine."""
    cells = source.cells("arch")
    rows = []
    for machine in machines.ALL:
        row = f"{machine.name}, self look-up"
        instructions = cells.get(row + arch.INSTRUCTIONS, "NPTL")
        if instructions.value is None:
            continue
        traps = cells.get(row + arch.EMULATED, "NPTL")
        rows.append([machine.title, instructions.text(),
                     "0" if traps.value is None else traps.text()])
    return [Table("", ("one self look-up by", "instructions of program and "
                       "kernel", "instructions that the kernel emulates"),
                  rows)] if rows else []


# --- question 4 ---------------------------------------------------------------

def latency(source):
    cells = source.cells("ring")
    found = [ring.plot(cells, vps, rows)
             for vps, rows in ring.rings(cells).items()]
    return [plot for plot in found if plot.has_points()]


def agents(source):
    cells = source.cells("power")
    cases = power.tables(cells)
    if not cases:
        return []
    plot = power.trade(cells, min(cases), cases[min(cases)])
    return [plot] if plot.has_points() else []


def other_libraries(source):
    cells = source.cells("peers")
    return [peers.table(cells, cpus, rows) for cpus in peers.CPUS
            if (rows := peers.rows_of(cells, cpus))]


# {name: (experiments, function)}
FIGURES = {
    "environment": ((), environment),
    "headlines": (("nptl", "ring", "tsp", "ptl-n"), headlines),
    "usable": (("ptl-n",), usable),
    "elapsed": (("ptl-n",), elapsed),
    "salesman": (("tsp",), salesman),
    "locks": (("locks",), lock),
    "nptl": (("nptl",), kernel_threads),
    "calls": (("nptl",), calls),
    "emulated": (("arch",), emulated),
    "ring": (("ring",), latency),
    "agents": (("power",), agents),
    "peers": (("peers",), other_libraries),
}


def missing(name, result):
    """Returns {experiment: why it has no value} for the experiments that the
    figure is made of."""
    source = Source(result)
    return {experiment: source.why(experiment)
            for experiment in FIGURES[name][0]
            if not any(cell.value is not None for cell in
                       source.cells(experiment).cells.values())}


def figure(name, result):
    """Returns the figure's blocks; raises KeyError. Text stands for missing
    values."""
    experiments, make = FIGURES[name]
    if not result:
        return [f"*Not measured yet. {HOW}*"]
    found = make(Source(result))
    gone = missing(name, result)
    if gone:
        found.append("*Without a value here: " + "; ".join(
            f"`papers/{one}` ({why})" for one, why in gone.items())
            + f". {HOW}*")
    elif not found:
        found.append(f"*The result has no cell for this. {HOW}*")
    return found


