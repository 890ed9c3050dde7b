#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The travelling salesman, exactly, by threads that share a work queue and
the bound: without threads, with native ones, on weft with one VP and with
all. The more cities, the more work for each thread: with few, threads cost
more than they gain. Then the same with each kind of lock of papers/locks.
"""

import argparse
import functools
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import figures  # noqa: E402
import lock_table  # noqa: E402
from bench.lib import measure, report, sides as lib_sides  # noqa: E402

# name: (side, VPs, or 0 for all CPUs, has threads)
VARIANTS = {
    "no threads": ("native", 0, False),
    "native": ("native", 0, True),
    "weft, 1 VP": ("weft", 1, True),
    "weft, all VPs": ("weft", 0, True),
}


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/tsp",
                                     description=__doc__)
    parser.add_argument("--cities", type=int, nargs=2, default=(6, 13),
                        metavar=("FROM", "TO"))
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=25,
                        help="length of a run in percent of 0.2 s, if one "
                        "search does not take longer (25)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/tsp.json")
    parser.add_argument("--plot", type=report.result_file,
                        default=ROOT / "bench/results/tsp.png")
    lock_table.add_options(parser)
    options = parser.parse_args(argv)
    lock_table.check_options(parser, options)
    options.program = options.build / "bench/papers/tsp/bench_tsp"
    return options


def measured(sides, options, cities):
    """Returns ({variant: milliseconds}, {variant: the reason for none}).
    Raises ValueError if the variants find different shortest tours."""
    runners = {}
    for name, (side, vps, has_threads) in VARIANTS.items():
        command = sides.command(side, vps, [
            options.program, cities, options.threads if has_threads else 0,
            options.scale])
        runners[name] = functools.partial(measure.run, command)
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    lengths = {length for figures in samples.values()
               for length in figures.get("length", ())}
    if len(lengths) > 1:
        raise ValueError(f"{cities} cities: shortest tours of {lengths}")
    times = {name: statistics.median(figures["search"]) / 1e6
             for name, figures in samples.items() if figures}
    return times, {**impossible, **errors}


def line(cities, times):
    cells = "".join(f"{report.number(times.get(name)):>15}"
                    for name in VARIANTS)
    ratios = ""
    for over, under in (("native", "weft, all VPs"),
                        ("weft, all VPs", "weft, 1 VP")):
        got = times.get(over), times.get(under)
        ratio = got[0] / got[1] if None not in got else None
        ratios += f"{report.number(ratio):>14}"
    return f"{cities:<8}{cells}{ratios}"


def run(sides, options):
    """Returns ({cities: {variant: ms}}, {what failed: why})."""
    names = "".join(f"{name:>15}" for name in VARIANTS)
    print(f"ms for one search, {options.threads} threads, median of "
          f"{options.runs}")
    print(f"{'cities':<8}{names}{'native/all':>14}{'all/1 VP':>14}",
          flush=True)
    table, failed = {}, {}
    for cities in range(options.cities[0], options.cities[1] + 1):
        table[cities], why = measured(sides, options, cities)
        print(line(cities, table[cities]), flush=True)
        for name, error in why.items():
            print(f"tsp: {cities} cities, {name}: {error}", file=sys.stderr)
            failed[f"{cities}, {name}"] = error
    return table, failed


def main(argv):
    options = parse(argv)
    sides = lib_sides.Sides(options.build)
    locks = lock_table.LockTable(options.program, sides, options)
    try:
        table, failed = run(sides, options)
        locks.run()
    except ValueError as error:
        print(f"tsp: {error}", file=sys.stderr)
        return 1
    failed.update(locks.errors)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/tsp", "machine": lib_sides.machine(),
        "threads": options.threads, "runs": options.runs, "unit": "ms",
        "cities": table, "lock_threads": options.lock_threads,
        "locks": locks.milliseconds, "lock_samples": locks.samples,
        "impossible": locks.impossible, "failed": failed}, indent=1) + "\n")
    title = (f"Travelling salesman, {options.threads} threads, "
             f"{lib_sides.machine()['cpus']} CPUs")
    why = figures.draw(options.plot, title, table, VARIANTS, locks)
    print(f"plot: {why or options.plot}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
