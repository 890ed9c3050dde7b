# SPDX-License-Identifier: MIT
"""A second LinuxThreads, written by others: dietlibc's threads have a manager,
processes without CLONE_THREAD, and signals to block and to wake. One program
runs with NPTL, with our model and, compiled once more, with dietlibc.

    found = witness.table(programs)
    found["rows"]["mutex call"]["medians"]["dietlibc"]
"""

import functools
import shutil
import statistics
import subprocess

import counting
import rows
from bench.lib import measure, report, sides as lib_sides

SIDES = ("NPTL", "LinuxThreads", "dietlibc")
# (title, unit, kind, the operations of two runs: their system calls are
# subtracted). A thread takes dietlibc 2 ms.
ROWS = (
    ("self look-up", "ns", "self", None),
    ("mutex call", "ns", "mutex", (500, 1500)),
    ("semaphore call", "ns", "sem", (500, 1500)),
    ("switch by semaphore", "us", "turn_sem", (500, 1500)),
    ("switch by condition", "us", "turn_cond", (500, 1500)),
    ("create and join", "us", "create_join", (20, 60)),
)


class Witness:
    def __init__(self, programs):
        self.programs = programs
        folder = programs.options.build / "bench/papers/nptl"
        self.program = folder / "bench_witness"
        self.dietlibc = folder / "witness_dietlibc"
        self.why = self.compiled()

    def compiled(self):
        """Why there is no program with dietlibc, or ""."""
        if shutil.which("diet") is None:
            return "dietlibc-dev is not installed"
        source = rows.FOLDER / "witness.c"
        # The warnings are about dietlibc's own functions.
        done = subprocess.run(
            ["diet", "gcc", "-w", "-O2", "-D_GNU_SOURCE", "-o", self.dietlibc,
             source, "-lpthread"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ""
        return "does not build: " + (done.stderr.splitlines() or ["?"])[-1]

    def command(self, kind, side):
        program = self.dietlibc if side == "dietlibc" else self.program
        call = [program, self.programs.options.scale, kind]
        if side == "LinuxThreads":
            call = self.programs.preloaded(call, "register")
        return self.programs.sides.command("native", 1, call)

    def impossible(self, side):
        return self.why if side == "dietlibc" else self.programs.why(side)

    def run(self, kind, unit, side):
        if self.impossible(side):
            return measure.Result(impossible=self.impossible(side))
        result = measure.run(self.command(kind, side),
                             env=lib_sides.environment())
        divisor = 1000 if unit == "us" else 1
        result.figures = {"cost": figure / divisor
                          for figure in result.figures.values()}
        return result

    def calls(self, kind, ops, side):
        """The system calls of one operation, as counting.counted."""
        if self.impossible(side):
            return measure.Result(impossible=self.impossible(side))
        return counting.counted(self.programs.counter,
                                self.command(kind, side), ops)


def table(programs):
    """Measures and prints all rows with one CPU. {"rows": {title: {unit,
    samples, medians, impossible, errors}}, "calls": {title: {side: number}}}"""
    one, found, calls = Witness(programs), {}, {}
    print("\na second witness, 1 CPU, and its system calls of one operation\n"
          f"{'':<25}" + "".join(f"{side:>14}" for side in SIDES) * 2,
          flush=True)
    for title, unit, kind, ops in ROWS:
        samples, impossible, errors = measure.in_turn(
            {side: functools.partial(one.run, kind, unit, side)
             for side in SIDES}, programs.options.runs)
        samples = {side: got["cost"] for side, got in samples.items() if got}
        medians = {side: statistics.median(got)
                   for side, got in samples.items()}
        found[title] = {"unit": unit, "samples": samples, "medians": medians,
                        "impossible": impossible, "errors": errors}
        counted = {side: one.calls(kind, ops, side).figures if ops else {}
                   for side in SIDES}
        calls[title] = {side: figures["calls"]
                        for side, figures in counted.items() if figures}
        cells = [report.number(medians.get(side)) for side in SIDES]
        cells += [f"{calls[title][side]:.2f}" if side in calls[title] else "-"
                  for side in SIDES]
        print(f"{title:<22}{unit:<3}"
              + "".join(f"{cell:>14}" for cell in cells), flush=True)
    return {"rows": found, "calls": calls}
