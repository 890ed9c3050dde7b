#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that wait by yielding the CPU again and again: by a sleep of 0, by a
yield, by a wait with a deadline in the past, or by calls that do not yield.

Four writers and four readers of a bounded lock-free queue back off while it is
full or empty (wall time); one thread polls a flag with nothing else to run (CPU
time). Native threads and weft in turn, on the same CPUs.
"""

import argparse
import functools
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

THREADS = 4
SIDES = ("native", "weft")
# A wait must take at most 1.5 times as long as natively, or 1.5 times the CPU
# time.
NEAR = report.Target(native=1 / 1.5)
# Without a sleep, 20,000 events take less time than the kernel needs to spread
# the threads over the CPUs: the medians of two runs differ by a factor of 2.
LONGER = 50
SLEEPS = ("nanosleep", "usleep", "clock_nanosleep", "deadline",
          "thrd_sleep")
# These calls do not yield natively either, so weft must not be slower.
NOT_SLOWER = report.Target(native=1 / 1.05)
QUEUES = {"nanosleep": NEAR, "usleep": NEAR, "clock_nanosleep": NEAR,
          "deadline": NEAR, "thrd_sleep": NEAR, "sched_yield": NEAR,
          "thrd_yield": NEAR, "timedwait": NEAR, "poll": NOT_SLOWER,
          "trylock": NOT_SLOWER, "pause": NOT_SLOWER}
FLAGS = ("nanosleep", "usleep", "clock_nanosleep")
# {row: (program of this folder, its interpreter)}
SCRIPTS = {"python_sleep": ("queue.py", "/usr/bin/python3"),
           "java_yield": ("Queue.java", "java")}


def rows():
    """Returns {name: (figure, target)}."""
    found = {f"queue_{kind}": ("wall_ms", target)
             for kind, target in QUEUES.items()}
    found |= {f"flag_{kind}": ("cpu_ms", NEAR) for kind in FLAGS}
    found |= {name: ("wall_ms", NEAR) for name in SCRIPTS}
    return found


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench backoff",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="of " + ", ".join(rows()))
    parser.add_argument("--runs", type=int, default=7, help="of each side (7)")
    parser.add_argument("--events", type=int, default=20000,
                        help="that each thread passes (20000); "
                        f"{LONGER} times as many where no thread sleeps")
    parser.add_argument("--ms", type=int, default=1000,
                        help="until the flag is set (1000)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/backoff.json")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(rows())
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}")
    options.rows = options.rows or list(rows())
    return options


def call(options, name):
    """Returns the words of the program's command, or the reason for its
    absence."""
    program = options.build / "bench/backoff/bench_backoff"
    what, _, kind = name.partition("_")
    if what == "queue":
        times = 1 if kind in SLEEPS else LONGER
        return [program, what, kind, THREADS, options.events * times]
    if what == "flag":
        return [program, what, kind, options.ms]
    script, interpreter = SCRIPTS[name]
    found = shutil.which(interpreter)
    if found is None:
        return f"no '{interpreter}' is installed"
    # An interpreter takes longer for each event.
    return [found, HERE / script, THREADS, max(options.events // 10, 1)]


def run(options, name, side, figure):
    words = call(options, name)
    if isinstance(words, str):
        return measure.Result(impossible=words)
    result = measure.run(lib_sides.Sides(options.build).command(side, 0, words))
    result.figures = {key: value for key, value in result.figures.items()
                      if key == figure}
    return result


def measured(options, name):
    figure, target = rows()[name]
    runners = {side: functools.partial(run, options, name, side, figure)
               for side in SIDES}
    samples, impossible, errors = measure.in_turn(runners, options.runs, 1)
    figures = {side: found.get(figure, []) for side, found in samples.items()}
    return report.Row(name, "ms CPU" if figure == "cpu_ms" else "ms", 0,
                      figures, target, False, impossible, errors)


def main(argv):
    options = parse(argv)
    found = []
    print(report.header(SIDES), flush=True)
    for name in options.rows:
        found.append(measured(options, name))
        print(report.line(found[-1], SIDES), flush=True)
    print(report.summary(found))
    report.write_json(options.json, {
        "suite": "backoff", "machine": lib_sides.machine(),
        "runs": options.runs, "threads": THREADS,
        "events": options.events}, found)
    return 1 if any(row.errors for row in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
