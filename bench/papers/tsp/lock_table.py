# SPDX-License-Identifier: MIT
"""The salesman with each kind of lock, and with more locking: for each city
that a thread visits, it locks and unlocks as many times as the option says."""

import functools
import statistics
import sys

from bench.lib import measure, report

# Names of ../locks/locks.h.
LOCKS = ("mutex", "semaphore", "plain", "peterson", "bakery", "fast")
# name: (side, VPs, or 0 for all CPUs)
VARIANTS = {
    "native": ("native", 0),
    "weft, 1 VP": ("weft", 1),
    "weft, all VPs": ("weft", 0),
}
WIDTH = 12


def add_options(parser):
    parser.add_argument("--locks", default=",".join(LOCKS),
                        help="kinds of locks, some of %(default)s, or none")
    parser.add_argument("--lock-cities", type=int, nargs=2, default=(6, 11),
                        metavar=("FROM", "TO"))
    parser.add_argument("--lock-threads", type=int, default=2,
                        help="with each kind of lock (2: the most that "
                        "Peterson's is for)")
    parser.add_argument("--pairs", type=int, nargs="+", default=(0, 1),
                        help="pairs of lock and unlock for each city that is "
                        "visited (0 1)")


def check_options(parser, options):
    """Makes a list of the names of locks."""
    names = [] if options.locks == "none" else options.locks.split(",")
    unknown = set(names) - set(LOCKS)
    if unknown:
        parser.error(f"no lock is called {', '.join(sorted(unknown))}")
    options.locks = [lock for lock in LOCKS if lock in names]


def medians(rows):
    return {variant: {lock: statistics.median(samples)
                      for lock, samples in row.items()}
            for variant, row in rows.items()}


class LockTable:
    """milliseconds: {pairs: {cities: {variant: {lock: ms}}}}, the medians of
    samples: the same with lists."""

    def __init__(self, program, sides, options):
        self.program, self.sides, self.options = program, sides, options
        self.milliseconds, self.samples = {}, {}
        self.impossible, self.errors = {}, {}

    def command(self, variant, lock, cities, pairs):
        side, vps = VARIANTS[variant]
        return self.sides.command(side, vps, [
            self.program, cities, self.options.lock_threads,
            self.options.scale, lock, pairs])

    def measure(self, cities, pairs):
        runners = {
            (variant, lock): functools.partial(
                measure.run, self.command(variant, lock, cities, pairs))
            for variant in VARIANTS for lock in self.options.locks}
        samples, impossible, errors = measure.in_turn(runners,
                                                      self.options.runs)
        self.impossible.update(
            {", ".join(key): why for key, why in impossible.items()})
        self.errors.update(
            {f"{cities} cities, {pairs} pairs, {', '.join(key)}": why
             for key, why in errors.items()})
        lengths = {length for figures in samples.values()
                   for length in figures.get("length", ())}
        if len(lengths) > 1:
            raise ValueError(f"{cities} cities: shortest tours of {lengths}")
        rows = {variant: {} for variant in VARIANTS}
        for (variant, lock), figures in samples.items():
            if figures and (variant, lock) not in errors:
                rows[variant][lock] = [ns / 1e6 for ns in figures["search"]]
        return rows

    def print_rows(self, cities, rows):
        for variant, row in rows.items():
            cells = "".join(
                f"{self.cell(row, variant, lock):>{WIDTH}}"
                for lock in self.options.locks)
            print(f"{cities:<8}{variant:<14}{cells}", flush=True)

    def cell(self, row, variant, lock):
        if lock in row:
            return report.number(row[lock])
        is_impossible = f"{variant}, {lock}" in self.impossible
        return "cannot" if is_impossible else "failed"

    def run(self):
        first, last = self.options.lock_cities
        for pairs in self.options.pairs if self.options.locks else ():
            print(f"\nms for one search, {self.options.lock_threads} threads, "
                  f"by the kind of lock; for each city that is visited: "
                  f"{pairs} lock{'s' * (pairs != 1)}")
            heads = "".join(f"{lock:>{WIDTH}}" for lock in self.options.locks)
            print(f"{'cities':<22}{heads}", flush=True)
            table = self.milliseconds[pairs] = {}
            samples = self.samples[pairs] = {}
            for cities in range(first, last + 1):
                samples[cities] = self.measure(cities, pairs)
                table[cities] = medians(samples[cities])
                self.print_rows(cities, table[cities])
        for key, why in sorted(self.impossible.items()):
            print(f"cannot: {key}: {why}")
        for key, why in self.errors.items():
            print(f"tsp: {key}: {why}", file=sys.stderr)
