#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One operation at a time: native threads, weft and goroutines in turn.

With one VP every side has one CPU (taskset, GOMAXPROCS=1), with two (rows
that end in 2vp, scaling) all CPUs and GOMAXPROCS=2.
"""

import argparse
import functools
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402
from bench.micro.rows import CASES  # noqa: E402


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench micro",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="a row's name, or how several begin; all that "
                        "need neither minutes nor gigabytes if none is given")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--runs", type=int, help="of each side (7)")
    parser.add_argument("--scale", type=int,
                        help="length of a run in percent of the usual (100)")
    parser.add_argument("--quick", action="store_true",
                        help="3 runs of a tenth of the length")
    parser.add_argument("--cpu", action="store_true",
                        help="CPU time in place of elapsed time for what "
                        "keeps one CPU busy: on a machine in use")
    parser.add_argument("--sides", default=",".join(lib_sides.NAMES),
                        help="some of native,weft,go")
    parser.add_argument("--go", default="go", metavar="PATH",
                        help="the Go compiler")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/micro.json")
    options = parser.parse_args(argv)
    options.runs = options.runs or (3 if options.quick else 7)
    options.scale = options.scale or (10 if options.quick else 100)
    options.sides = options.sides.split(",")
    unknown = set(options.sides) - set(lib_sides.NAMES)
    if unknown:
        parser.error(f"no side is called {', '.join(sorted(unknown))}")
    return options


def selected(wanted):
    """The named cases; raises ValueError for an unknown name."""
    if not wanted:
        return [case for case in CASES if not case.is_big]
    found = set()
    for name in wanted:
        exact = {case.name for case in CASES if case.name == name}
        named = exact or {case.name for case in CASES
                          if case.name.startswith(name)}
        if not named:
            raise ValueError(f"no row begins with '{name}'; try --list")
        found |= named
    return [case for case in CASES if case.name in found]


def runner(case, side, sides, options):
    """The function that measures this case on that side once, or None."""
    if side == "go":
        if not case.go or not sides.go_version:
            return None
        call = [sides.go, options.scale, *case.go]
    elif case.timed:
        call = case.command
    elif side == "native" and case.native:
        call = [sides.program(case.native), options.scale, *case.args]
    else:
        call = [sides.program(case.program), options.scale, *case.args]
    command = sides.command(side, case.vps, call)
    if case.timed:
        return functools.partial(measure.timed, case.name, command, case.timed)
    clock = "cpu" if options.cpu and case.is_busy and case.vps == 1 else "real"
    return functools.partial(measure.run, command,
                             env=lib_sides.environment(BENCH_CLOCK=clock))


def rows_of(case, sides, options):
    """Measures a case: its rows."""
    runners = {side: runner(case, side, sides, options)
               for side in options.sides}
    runners = {side: run for side, run in runners.items() if run}
    samples, impossible, errors = measure.in_turn(runners, options.runs,
                                                  case.discard)
    for side, error in errors.items():
        print(f"{case.name}: {side} failed: {error}", file=sys.stderr)
    figures = {name: {} for name in case.targets}
    for side, by_name in samples.items():
        for name, numbers in by_name.items():
            figures[case.row_of(name)][side] = numbers
    return [report.Row(name, case.unit_of(name), case.vps, by_side,
                       case.targets[name], case.higher_is_better,
                       impossible, errors)
            for name, by_side in figures.items()]


def main(argv):
    options = parse(argv)
    try:
        cases = selected(options.rows)
    except ValueError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if options.list:
        for case in CASES:
            print(case.name + (" (only if named)" if case.is_big else ""))
        return 0
    sides = lib_sides.Sides(options.build)
    if "go" in options.sides and any(case.go for case in cases):
        why = sides.build_go(options.go)
        print(f"go: {sides.go_version}" if not why else
              f"go: left out, {why}", flush=True)
    if not sides.go_version:
        options.sides = [side for side in options.sides if side != "go"]
    print(report.header(options.sides), flush=True)
    rows = []
    for case in cases:
        if case.vps > len(os.sched_getaffinity(0)):
            print(f"{case.name:<24}needs {case.vps} CPUs")
            continue
        for row in rows_of(case, sides, options):
            print(report.line(row, options.sides), flush=True)
            rows.append(row)
    print(report.summary(rows))
    report.write_json(options.json, {
        "suite": "micro", "machine": lib_sides.machine(),
        "go": sides.go_version, "runs": options.runs, "scale": options.scale,
        "clock": "cpu" if options.cpu else "real"}, rows)
    return 1 if any(row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
