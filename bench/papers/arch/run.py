#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of NPTL and LinuxThreads on emulated machines: mips64el, aarch64,
riscv64 and x86-64, each with a kernel of Debian's.

Emulated times say nothing of hardware. Of interest is the ratio within one
machine, and how many instructions, system calls and emulated instructions an
operation takes. In the second pass a machine's clock counts instructions.

The first run downloads about 500 MB of packages and unpacks them below the
build folder; nothing is installed. A machine that cannot be had, and a cell
that has no value, has a reason.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402
from bench.papers.arch import (children, emulator,  # noqa: E402
                               machines, measuring, prepare, programs, rows,
                               systems)
from tools.debian_packages import Skipped  # noqa: E402

NAMES = [machine.name for machine in machines.ALL]
SHORT = {"NPTL": "NPTL", "LinuxThreads": "LT", "weft": "weft"}
# Rows that also run natively: the cost of two ways to set the thread register.
NATIVE = [row for row in rows.ROWS if row.program == "bench_thread_register"]


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="./dev bench papers/arch", description=__doc__.split("\n\n")[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=int, default=20,
                        help="length of a run in percent of 0.2 s (20)")
    parser.add_argument("--seconds", type=int, default=1500,
                        help="that the measuring of all machines may take "
                        "(1500); cells that it does not come to say so")
    parser.add_argument("--machines", nargs="*", metavar="NAME", default=NAMES,
                        help=f"of {', '.join(NAMES)} (all)")
    parser.add_argument("--systems", nargs="*", metavar="NAME",
                        default=systems.NAMES, help="kernels and C libraries "
                        "that weft is tried with, this machine's or of suites "
                        f"of Debian: {', '.join(systems.NAMES)} (all)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/arch.json")
    options = parser.parse_args(argv)
    for name in (*options.machines, *options.systems):
        if name not in (*NAMES, *systems.NAMES):
            parser.error(f"there is no '{name}'")
    return options


def say(text):
    print(text, flush=True)


# --- the machines -------------------------------------------------------------

class Tables:
    """The measurements of one machine."""

    def __init__(self, machine, build):
        self.machine = machine
        # Files for weft's side, if this machine has one.
        self.weft = {}
        sides = rows.SIDES
        if machine.name == systems.CPU:
            self.weft = systems.weft_files(build)
            sides = (*sides, rows.WEFT)
        self.about = {"title": machine.title, "emulator": machine.emulator,
                      "has_register": machine.has_register}
        self.why = ""  # why there is no result
        self.timed = measuring.new_cells(sides)
        self.counted = measuring.new_cells(sides)

    def missing(self, why):
        self.why = f"{why}"
        for cells in (self.timed, self.counted):
            for cell in cells.values():
                cell.why = cell.why or self.why

    def as_json(self):
        found = {}
        for (row, side), timed in self.timed.items():
            counted = self.counted[row, side]
            one = found.setdefault(row.name, {"unit": row.unit, "sides": {}})
            cell = timed.as_json()
            one["sides"][side] = {
                "samples": cell["samples"], "median": cell["median"],
                "why": cell["why"], "instructions": counted.instructions,
                "kinds": counted.kinds, "counted_why": counted.why,
                "is_timed": row.is_timed, "is_counted": row.is_counted}
        return {**self.about, "why": self.why, "rows": found}


def two_passes(tables, ready, image, options, deadline, processes):
    """Returns [function of a pass...]; each may run in its own thread."""
    name = tables.machine.name

    def one_pass(counts):
        one = measuring.Pass(
            lambda limit_s: emulator.Emulator(
                ready, image, ready.built, counts, boot_s=limit_s,
                processes=processes), deadline)
        start = time.monotonic()
        try:
            if counts:
                measuring.counts(one, tables.counted)
            else:
                measuring.times(one, tables.timed, options.runs,
                                options.scale)
        finally:
            one.stop()
        tables.about.update(one.about)
        say(f"{name}: {'counts' if counts else 'times'} in "
            f"{time.monotonic() - start:.0f} s")
    return [lambda: one_pass(False), lambda: one_pass(True)]


def prepared(place, all_tables):
    """Returns {name: (Ready, image)} for the machines that could be
    prepared."""
    found = {}
    for name, tables in all_tables.items():
        start = time.monotonic()
        try:
            ready = place.ready(tables.machine)
            found[name] = ready, place.image(ready, programs.BENCHES,
                                             tables.weft)
            tables.about["emulator_version"] = ready.version()
            tables.about["compiler"] = ready.compiler_version()
        except (Skipped, OSError) as why:
            tables.missing(why)
            found.pop(name, None)
            say(f"{name}: missing: {why}")
        else:
            say(f"{name}: ready after {time.monotonic() - start:.0f} s")
    return found


def measured(options):
    """({name: Tables}, the table of systems)"""
    place = prepare.Place(options.build / "arch")
    found = {name: Tables(machines.named(name), options.build)
             for name in options.machines}
    ready = prepared(place, found)
    start, shares = time.monotonic(), len(ready) + bool(options.systems)

    def deadline(nr):
        return start + options.seconds * (nr + 1) / shares

    processes = children.Children()
    # Each machine has one CPU, and its two passes run at the same time.
    pool = concurrent.futures.ThreadPoolExecutor(
        min(2, len(os.sched_getaffinity(0))))
    try:
        done = [pool.submit(one) for nr, name in enumerate(ready)
                for one in two_passes(found[name], *ready[name], options,
                                      deadline(nr), processes)]
        for one in done:
            one.result()
        return found, systems.table(place, options.build, options.systems,
                                    start + options.seconds, pool, processes,
                                    say)
    finally:
        # After an interruption the threads notice that their machines have
        # ended.
        processes.close()
        pool.shutdown(cancel_futures=True)


# --- this machine -------------------------------------------------------------

def native(options):
    """{row: {samples, why}} of the thread register's rows."""
    program = options.build / "bench/papers/arch/bench_thread_register"
    found = {}
    for row in NATIVE:
        call = lib_sides.Sides(options.build).command(
            "native", 1, [program, options.scale, *row.args])
        samples, impossible, errors = measure.in_turn(
            {"NPTL": lambda: measure.run(call)}, options.runs)
        figures = next(iter(samples["NPTL"].values()), [])
        why = {**impossible, **errors}.get("NPTL", "")
        found[row.name] = {"unit": row.unit, "samples": figures, "why": why}
    return found


# --- printing -----------------------------------------------------------------

def number(value):
    return "-" if value is None else report.number(value)


def print_table(tables):
    """Returns the columns. weft has one only on machines for which it has a
    port."""
    sides = (*rows.SIDES, rows.WEFT) if tables.weft else rows.SIDES
    heads = [SHORT[side] for side in sides]
    print(f"\n{tables.machine.name}: {tables.machine.title}, kernel "
          f"{tables.about.get('kernel', '?')}")
    if tables.why:
        print(f"  missing: {tables.why}")
        return
    width = 8 * len(sides)
    print(f"{'':<37}{'time':>{width}}{'instructions':>{width}}"
          f"{'system calls':>{width}}{'emulated':>{width}}\n{'':<37}"
          + "".join(f"{head:>8}" for head in heads) * 4)
    found = tables.as_json()["rows"]
    for name in (row.name for row in rows.ROWS if row.name in found):
        each = [found[name]["sides"].get(side, {}) for side in sides]
        kinds = [(one.get("kinds") or {}).get(kind)
                 for kind in ("call", "emulated") for one in each]
        cells = [number(one.get(figure)) for figure in ("median",
                                                        "instructions")
                 for one in each]
        cells += ["-" if kind is None else f"{kind:.2f}" for kind in kinds]
        print(f"{name:<34}{found[name]['unit']:<3}"
              + "".join(f"{cell:>8}" for cell in cells))


def interrupt(*_):
    raise KeyboardInterrupt


def main(argv):
    options = parse(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        return run(options)
    except KeyboardInterrupt:
        print("\narch: interrupted", file=sys.stderr)
        return 130


def run(options):
    here = lib_sides.machine()
    registers = native(options)
    print("this machine, ns: " + "; ".join(
        f"{name} {number(sorted(one['samples'])[len(one['samples']) // 2])}"
        for name, one in registers.items() if one["samples"]), flush=True)
    found, works_on = measured(options)
    for tables in found.values():
        print_table(tables)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/arch", "machine": here, "runs": options.runs,
        "scale": options.scale, "native": registers,
        "machines": {name: tables.as_json()
                     for name, tables in found.items()},
        "systems": works_on}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
