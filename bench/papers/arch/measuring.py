# SPDX-License-Identifier: MIT
"""Measures the rows on one emulated machine, in two passes.

The first takes times. In the second the machine's clock counts instructions.
There the kernel counts system calls and the emulator logs interrupts, while
each program runs with two numbers of operations; the difference leaves out its
start and its end.
"""

import dataclasses
import statistics
import time

from bench.papers.arch import emulator, output, rows

LIMIT_S = 20
IMPOSSIBLE = 77
NO_TIME = "no time was left for it"
# Numbers of operations of the two runs; the difference of their counts is used.
OPS = (200, 600)
# The same for a call of about ten instructions: one timer interrupt costs
# thousands of instructions.
MANY_OPS = 50000
# How often a machine is started again after a program that did not end.
MOST_STARTS = 3


@dataclasses.dataclass
class Cell:
    """A row on one side. `samples` are times in the row's unit. The other
    fields are numbers for one operation; `why` is the reason if one is
    missing."""
    samples: list = dataclasses.field(default_factory=list)
    instructions: float = None
    kinds: dict = None          # {kind of interrupt: number}
    why: str = ""

    def as_json(self):
        median = statistics.median(self.samples) if self.samples else None
        return {**dataclasses.asdict(self), "median": median}


class Failed(Exception):
    """The program printed no figure. The exception's text says why."""


def figure(answer):
    """Returns the figure that the program has measured."""
    if answer.status == IMPOSSIBLE:
        raise Failed(answer.last.removeprefix("impossible: "))
    if answer.status == output.LATE:
        raise Failed(f"no end after {LIMIT_S} s of the machine's clock")
    found = list(output.figures(answer.lines).values())
    if answer.status != 0 or not found:
        raise Failed(f"status {answer.status} {answer.last}".strip()[:100])
    return found[0]


class Pass:
    """starter(limit_s) returns an emulator.Emulator that has that many seconds
    to start."""

    def __init__(self, starter, deadline):
        self.starter, self.deadline = starter, deadline
        self.machine, self.nr_starts, self.about = None, 0, {}

    def start(self):
        if self.nr_starts == MOST_STARTS:
            raise Failed("the machine had to be started too often")
        self.nr_starts += 1
        left_s = self.deadline - time.monotonic()
        machine = self.starter(min(emulator.BOOT_S, max(left_s, 1)))
        machine.__enter__()
        self.machine = machine
        self.about = {"kernel": machine.kernel, "cpu": machine.cpu,
                      "boot_s": machine.boot_s}

    def stop(self):
        if self.machine is not None:
            self.machine.stop()
        self.machine = None

    def measure(self, cell, work):
        """Calls work(machine), unless the cell has failed before."""
        if cell.why:
            return
        try:
            if time.monotonic() > self.deadline:
                raise Failed(NO_TIME)
            if self.machine is None:
                self.start()
            work(self.machine)
        except Failed as why:
            cell.why = str(why)
        except (emulator.Ended, OSError) as why:
            cell.why = str(why)
            self.stop()


def timed_once(row, side, cell, scale):
    def work(machine):
        answer = machine.run(row.command(side, scale), row.environment(side),
                             LIMIT_S)
        cell.samples.append(figure(answer) / row.divisor)
    return work


def times(one, cells, runs, scale):
    """The first pass, which takes times. cells: {(row, side): Cell}"""
    for _ in range(runs):
        for (row, side), cell in cells.items():
            if row.is_timed:
                one.measure(cell, timed_once(row, side, cell, scale))


def difference(values):
    """The cost of one more operation."""
    return max(0.0, values[1] - values[0]) / (OPS[1] - OPS[0])


def instructions(row, side, cell):
    """Instructions of the part that the program measures."""
    nr_ops = MANY_OPS if row.unit == "ns" else OPS[1]

    def work(machine):
        answer = machine.run(
            row.command(side, 100),
            {**row.environment(side), "BENCH_OPS": nr_ops}, LIMIT_S)
        cell.instructions = figure(answer) / emulator.NS_OF_INSTRUCTION
    return work


def kinds(row, side, cell):
    """Counts system calls and interrupts."""
    def run(machine, nr_ops):
        answer, log = machine.count(
            row.command(side, 100),
            {**row.environment(side), "BENCH_OPS": nr_ops}, LIMIT_S)
        figure(answer)
        found = output.interrupts(machine.ready.machine.name, log) or {}
        if answer.calls is not None:
            found["call"] = answer.calls
        return found

    def work(machine):
        few, many = (run(machine, nr) for nr in OPS)
        cell.kinds = {kind: difference([few[kind], many[kind]])
                      for kind in few.keys() & many.keys()}
    return work


def counts(one, cells):
    """The second pass: counts."""
    for (row, side), cell in cells.items():
        one.measure(cell, instructions(row, side, cell))
        if row.is_counted:
            one.measure(cell, kinds(row, side, cell))


def new_cells(sides):
    """Returns all cells, short rows first, since time may run out."""
    ordered = sorted(rows.ROWS, key=lambda row: row.unit != "ns")
    return {(row, side): Cell() for row in ordered
            for side in row.sides if side in sides}
