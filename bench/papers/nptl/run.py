#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NPTL beside LinuxThreads and weft: the cost of a thread's look-up of itself,
of a call of a mutex or a semaphore, of a context switch, a creation and a join.
The first two stand beside the paper's figures.

LinuxThreads is a model (bench/papers/linuxthreads), preloaded into the same
programs. Each side runs with one CPU, then with all. A ratio with a ~ may be 1:
what the middle half of the runs says of it includes that.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import counting  # noqa: E402
import dietlibc  # noqa: E402
import rows  # noqa: E402
from bench.lib import measure, report, sides as lib_sides  # noqa: E402

SIDES = ("NPTL", "LinuxThreads", "weft")
SHORT = {"NPTL": "NPTL", "LinuxThreads": "LT", "weft": "weft",
         "dietlibc": "diet"}
# Limit between a call that enters the kernel and one that does not.
ENTERS = 0.5
# Fewer calls per operation come from the start and the end.
LEAST_CALLS = 0.05


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/nptl",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=50,
                        help="length of a run in percent of 0.2 s (50)")
    parser.add_argument("--cpu", action="store_true",
                        help="CPU time in place of elapsed time for calls, "
                        "which keep one CPU busy: on a machine in use")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/nptl.json")
    return parser.parse_args(argv)


def environment():
    """The rows of the paper's tables of the environment, for this machine."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^(?:model name|uarch|cpu model)\s*:\s*(.+)$", text,
                      re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {**lib_sides.machine(),
            "model": model.group(1) if model else "unknown",
            "memory_mib": memory >> 20,
            "load_average": os.getloadavg()[0]}


class Programs:
    def __init__(self, options):
        self.options = options
        self.sides = lib_sides.Sides(options.build)
        self.preload = (options.build / "bench/papers/linuxthreads"
                        / "liblinuxthreads.so").resolve()
        folder = options.build / "bench/papers/nptl"
        self.counter = folder / "bench_count_calls"
        self.by_dietlibc = folder / "witness_dietlibc"

    def command(self, row, side, vps):
        """vps: 1, or 0 for all CPUs."""
        percent = max(1, round(self.options.scale * row.length))
        call = [self.options.build / "bench" / row.program, percent, *row.args]
        if side == "LinuxThreads":
            self_by = "stack" if row.name == rows.SELF_BY_STACK else "register"
            # By env, so that taskset does not load the library.
            call = ["env", f"LD_PRELOAD={self.preload}",
                    f"LINUXTHREADS_SELF={self_by}", *call]
        elif side == "dietlibc":
            call[0] = self.by_dietlibc
        return self.sides.command("weft" if side == "weft" else "native", vps,
                                  call)

    @functools.cached_property
    def no_dietlibc(self):
        """Returns why there is no program with dietlibc, or ""."""
        return dietlibc.built(self.by_dietlibc)

    def why(self, side):
        """Returns why a side cannot run, or ""."""
        if side == "LinuxThreads" and not self.preload.exists():
            return "the model is for x86-64 only"
        return self.no_dietlibc if side == "dietlibc" else ""

    def run(self, row, side, vps):
        if self.why(side):
            return measure.Result(impossible=self.why(side))
        clock = "cpu" if self.options.cpu and row.is_call else "real"
        result = measure.run(self.command(row, side, vps),
                             env=lib_sides.environment(BENCH_CLOCK=clock))
        result.figures = {"cost": figure / row.divisor
                          for figure in result.figures.values()}
        return result

    def calls(self, row, side):
        """System calls of one operation with one CPU, as a Result with the
        figures "calls" and "call_N"."""
        if self.why(side):
            return measure.Result(impossible=self.why(side))
        return counting.counted(self.counter, self.command(row, side, 1),
                                row.ops)


def quartiles(figures):
    if len(figures) < 2:
        return min(figures), max(figures)
    low, _, high = statistics.quantiles(figures, n=4, method="inclusive")
    return low, high


class Cost:
    """A row with one number of CPUs."""

    def __init__(self, row, samples, impossible, errors):
        self.row, self.impossible, self.errors = row, impossible, errors
        self.samples = {side: got["cost"] for side, got in samples.items()
                        if got}
        self.medians = {side: statistics.median(figures)
                        for side, figures in self.samples.items()}

    def cell(self, side):
        if side in self.errors:
            return "failed"
        if side in self.impossible:
            return "impossible"
        return report.number(self.medians.get(side))

    def ratio(self, over, under):
        """(ratio of the medians, its low end, its high end), or None."""
        if over not in self.medians or under not in self.medians:
            return None
        low_over, high_over = quartiles(self.samples[over])
        low_under, high_under = quartiles(self.samples[under])
        return (self.medians[over] / self.medians[under],
                low_over / high_under, high_over / low_under)

    def ratio_cell(self, over, under):
        found = self.ratio(over, under)
        if not found:
            return "-"
        about = "~" if found[1] <= 1 <= found[2] else ""
        return about + report.number(found[0])

    def as_json(self):
        return {"unit": self.row.unit, "paper": self.row.paper,
                "samples": self.samples, "medians": self.medians,
                "ratios": {f"{a}/{b}": self.ratio(a, b)
                           for a, b in (("NPTL", "LinuxThreads"),
                                        ("NPTL", "weft"))},
                "impossible": self.impossible, "errors": self.errors}


def measured(programs, row, vps):
    runners = {side: functools.partial(programs.run, row, side, vps)
               for side in row.sides or SIDES}
    cost = Cost(row, *measure.in_turn(runners, programs.options.runs))
    for side, error in cost.errors.items():
        print(f"nptl: {row.name}, {side}: {error}", file=sys.stderr)
    return cost


def line(cost, has_paper):
    cells = [cost.cell("NPTL"), cost.cell("LinuxThreads"),
             cost.ratio_cell("NPTL", "LinuxThreads")]
    if has_paper:
        nptl, lt = cost.row.paper
        cells += ["-", "-", "-"] if nptl is None else [
            f"{nptl:g}", f"{lt:g}", report.number(nptl / lt)]
    cells += [cost.cell("weft"), cost.ratio_cell("NPTL", "weft")]
    return (f"{cost.row.name:<22}{cost.row.unit:<3}"
            + "".join(f"{cell:>8}" for cell in cells))


def table(programs, vps):
    """Measures and prints all rows. Returns {name: Cost}. In the heads of the
    table "p." stands for the paper."""
    cpus = 1 if vps == 1 else len(os.sched_getaffinity(0))
    paper = ["p. NPTL", "p. LT", "ratio"] if vps == 1 else []
    heads = ["NPTL", "LT", "ratio", *paper, "weft", "NPTL/w."]
    print(f"\n{cpus} CPU{'s' * (cpus > 1)}, {cpus} VP{'s' * (cpus > 1)}, "
          f"median of {programs.options.runs}\n{'':<25}"
          + "".join(f"{head:>8}" for head in heads), flush=True)
    costs = {}
    for row in rows.ROWS:
        costs[row.name] = measured(programs, row, vps)
        print(line(costs[row.name], vps == 1), flush=True)
    return costs


def kinds(figures):
    """Returns {name of a system call: calls in an operation}, the most frequent
    call first."""
    found = {rows.call_name(int(name.removeprefix("call_"))): number
             for name, number in figures.items()
             if name.startswith("call_") and number >= LEAST_CALLS}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def witness_table(programs):
    """Measures and prints the rows that dietlibc can run: {name: Cost}."""
    print(f"\na second witness, 1 CPU, median of {programs.options.runs}\n"
          f"{'':<25}" + "".join(f"{SHORT[side]:>8}" for side in rows.WITNESSES),
          flush=True)
    costs = {}
    for row in rows.WITNESS:
        costs[row.name] = cost = measured(programs, row, 1)
        print(f"{row.name:<22}{row.unit:<3}" + "".join(
            f"{cost.cell(side):>8}" for side in rows.WITNESSES), flush=True)
    return costs


def calls_table(programs, counted, sides):
    """Returns ({title: {side: system calls of an operation}}, the same with
    kinds(), {what: error})."""
    print(f"\nsystem calls of one operation, 1 CPU\n{'':<25}"
          + "".join(f"{SHORT[side]:>8}" for side in sides), flush=True)
    found, by_kind, errors = {}, {}, {}
    for row in counted:
        counts, cells = {}, []
        by_kind[row.name] = {}
        for side in sides:
            result = measure.Result() if row.sides and side not in row.sides \
                else programs.calls(row, side)
            if result.figures:
                counts[side] = result.figures["calls"]
                by_kind[row.name][side] = kinds(result.figures)
            cells.append(f"{counts[side]:.2f}" if side in counts else
                         "failed" if result.error else
                         "imposs." if result.impossible else "-")
            if result.error:
                errors[f"calls, {row.name}, {side}"] = result.error
                print(f"nptl: system calls of {row.name}, {side}: "
                      f"{result.error}", file=sys.stderr)
        found[row.name] = counts
        print(f"{row.name:<25}"
              + "".join(f"{cell:>8}" for cell in cells), flush=True)
    return found, by_kind, errors


def explanations(costs, calls):
    """Checks the paper's explanations by the results here. Returns {text: is
    it true here}."""
    checks = {}

    def check(text, holds):
        checks[text] = holds
        print(f"{text}: {'yes' if holds else 'NO'}")

    sem, waking = calls.get(rows.SEM, {}), calls.get(rows.WAKING_SEM, {})
    if "NPTL" in waking:
        check("a post that always wakes enters the kernel",
              waking["NPTL"] >= ENTERS)
    if {"NPTL", "LinuxThreads"} <= sem.keys():
        check("LinuxThreads' semaphore call does not",
              sem["LinuxThreads"] < ENTERS)
        check("today's NPTL does not either", sem["NPTL"] < ENTERS)
    then = costs[rows.WAKING_SEM].medians.get("NPTL")
    lt = costs[rows.SEM].medians.get("LinuxThreads")
    if then and lt:
        nptl_paper, lt_paper = next(row.paper for row in rows.ROWS
                                    if row.name == rows.SEM)
        check(f"so NPTL's was slower then ({then / lt:.1f} times, paper "
              f"{nptl_paper / lt_paper:.1f})", then > lt)
    return checks


def main(argv):
    options = parse(argv)
    programs = Programs(options)
    here = environment()
    print(f"{here['model']}, {here['cpus']} CPUs, {here['memory_mib']} MiB, "
          f"Linux {here['kernel']}, {here['libc']}")
    if here["load_average"] > here["cpus"] / 2:
        print(f"the machine is busy (load {here['load_average']:.1f}): do not "
              "trust these figures")
    one, many = table(programs, 1), table(programs, 0)
    calls, by_kind, errors = calls_table(programs, rows.COUNTED, SIDES)
    second = witness_table(programs)
    second_calls, _, more = calls_table(programs, rows.WITNESS_COUNTED,
                                        rows.WITNESSES)
    errors |= {f"witness, {name}": error for name, error in more.items()}
    print()
    checks = explanations(one, calls)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/nptl", "machine": here, "runs": options.runs,
        "scale": options.scale, "clock": "cpu" if options.cpu else "real",
        "rows": {name: cost.as_json() for name, cost in one.items()},
        "rows_all_cpus": {name: cost.as_json() for name, cost in many.items()},
        "calls": calls, "calls_by_kind": by_kind,
        "witness": {"rows": {name: cost.as_json()
                             for name, cost in second.items()},
                    "calls": second_calls},
        "explanations": checks,
        "errors": errors}, indent=1) + "\n")
    failed = errors or any(cost.errors
                           for cost in (*one.values(), *many.values(),
                                        *second.values()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
