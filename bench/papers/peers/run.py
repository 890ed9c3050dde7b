#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peers' threads beside weft's and the kernel's: a ring of threads, a
yield, a switch by a mutex, a semaphore and a condition variable, a creation and
a join.

A peer that is not installed is left out, with a note. One that you have built
yourself joins by --peer NAME=PATH if it has the peers' command line: PERCENT
ROW COUNT. With one CPU all sides have the same one, then all have all CPUs.
"""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, peers, report  # noqa: E402
from bench.lib import sides as lib_sides  # noqa: E402

NATIVE, WEFT = "native", "weft"
ONE_CPU, ALL_CPUS = "1 CPU", "all CPUs"
HEADS = {"Boost.Fiber": "Boost", "State Threads": "State", "GNU Pth": "Pth"}
NO_FIGURE_ON_ALL = "its threads share one kernel thread"


@dataclasses.dataclass(frozen=True)
class Row:
    """`program` below bench/, with `count` where it takes one; `peer`: the
    row of the peers' command line."""
    name: str
    program: str
    peer: str
    count: int = 2
    takes_count: bool = True

    @property
    def args(self):
        return (self.count,) if self.takes_count else ()


ROWS = {row.name: row for row in (
    Row("ring of 5", "micro/bench_ring_sem", "ring", 5),
    Row("ring of 1000", "micro/bench_ring_sem", "ring", 1000),
    Row("yield of 2", "micro/bench_yield", "yield", 2),
    Row("yield of 1000", "micro/bench_yield", "yield", 1000),
    Row("switch by mutex", "papers/nptl/bench_turns_mutex", "turns_mutex",
        takes_count=False),
    Row("switch by semaphore", "micro/bench_ping_pong_sem", "ping_pong_sem",
        takes_count=False),
    Row("switch by condition", "micro/bench_ping_pong_cond", "ping_pong_cond",
        takes_count=False),
    Row("create and join 1", "micro/bench_create_join", "create_join", 1),
    Row("create and join 1000", "micro/bench_create_join", "create_join",
        1000),
)}


def own_peer(text):
    """Returns the peer that NAME=PATH describes, for argparse."""
    name, is_pair, path = text.partition("=")
    if not is_pair or not name or name in (NATIVE, WEFT):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PATH")
    if not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"'{path}' cannot be executed")
    return name, peers.Peer((os.path.abspath(path),))


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/peers",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="of " + ", ".join(f'"{row}"' for row in ROWS))
    parser.add_argument("--peers", default=",".join(peers.BUILDERS),
                        help="some of " + ",".join(peers.BUILDERS))
    parser.add_argument("--peer", type=own_peer, action="append", default=[],
                        metavar="NAME=PATH", help="a program of your own")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=50,
                        help="length of a run in percent of 0.2 s (50)")
    parser.add_argument("--limit", type=float, default=20, metavar="S",
                        help="a side that takes longer for a run has no "
                        "figure (20)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/peers.json")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}")
    options.rows = [row for name, row in ROWS.items()
                    if not options.rows or name in options.rows]
    named = options.peers.split(",") if options.peers else []
    unknown = set(named) - set(peers.BUILDERS)
    if unknown:
        parser.error(f"no peer is called {', '.join(sorted(unknown))}")
    options.peers = named
    return options


def one_run(command, limit_s):
    """Returns the one figure as "cost". A command that takes too long is
    impossible."""
    result = measure.run(command, limit_s=limit_s)
    if result.error.startswith("no end"):
        result.impossible = f"a run takes more than {limit_s:g} s"
        result.error = ""
    result.figures = {"cost": figure for figure in result.figures.values()}
    return result


class Table:
    """Measures all rows with one CPU or with all."""

    def __init__(self, options, found, missing, cpus):
        self.options, self.found, self.missing = options, found, missing
        self.cpus, self.vps = cpus, 1 if cpus == ONE_CPU else 0
        self.sides = lib_sides.Sides(options.build)
        self.names = [NATIVE, WEFT, *found]
        self.rows = {}

    def command(self, side, row):
        scale = self.options.scale
        if side in self.found:
            call = [*self.found[side].command, scale, row.peer, row.count]
            side = NATIVE  # a peer runs natively, on the given CPUs
        else:
            call = [self.options.build / "bench" / row.program, scale,
                    *row.args]
        return self.sides.command(side, self.vps, call)

    def head(self):
        print(f"\nns, {self.cpus}, median of {self.options.runs}\n{'':<22}"
              + "".join(f"{HEADS.get(name, name):>9}" for name in self.names)
              + f"{'native/w.':>11}{'best/w.':>9}", flush=True)

    def measure(self, row):
        left_out = dict(self.missing)
        if self.cpus == ALL_CPUS:
            left_out |= {name: NO_FIGURE_ON_ALL
                         for name, peer in self.found.items()
                         if peer.has_one_cpu}
        runners = {name: functools.partial(one_run, self.command(name, row),
                                           self.options.limit)
                   for name in self.names if name not in left_out}
        samples, impossible, errors = measure.in_turn(runners,
                                                      self.options.runs)
        samples = {name: got["cost"] for name, got in samples.items() if got}
        self.rows[row.name] = {
            "unit": "ns", "samples": samples,
            "medians": {name: statistics.median(got)
                        for name, got in samples.items()},
            "impossible": {**left_out, **impossible}, "errors": errors}
        self.show(row.name)
        for name, why in errors.items():
            print(f"peers: {row.name}, {self.cpus}, {name}: {why}",
                  file=sys.stderr)

    def show(self, name):
        row = self.rows[name]
        cells = [report.number(row["medians"].get(side))
                 if side not in row["errors"] else "failed"
                 for side in self.names]
        best = best_peer(row["medians"])
        ratios = [ratio(row["medians"], NATIVE), ratio(row["medians"], best)]
        print(f"{name:<22}" + "".join(f"{cell:>9}" for cell in cells)
              + f"{ratios[0]:>11}{ratios[1]:>9}  {best or ''}".rstrip(),
              flush=True)


def best_peer(medians):
    """The fastest side that is neither native nor weft, or None."""
    others = {name: cost for name, cost in medians.items()
              if name not in (NATIVE, WEFT)}
    return min(others, key=others.get) if others else None


def ratio(medians, over):
    if over not in medians or not medians.get(WEFT):
        return "-"
    return report.number(medians[over] / medians[WEFT])


def main(argv):
    options = parse(argv)
    found, missing = peers.build_all(options.build, options.peers)
    found |= dict(options.peer)
    print("\n".join(peers.lines(found, missing)), flush=True)
    tables = {}
    for cpus in (ONE_CPU, ALL_CPUS):
        table = Table(options, found, missing, cpus)
        table.head()
        for row in options.rows:
            table.measure(row)
        tables[cpus] = table.rows
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/peers", "machine": lib_sides.machine(),
        "runs": options.runs, "scale": options.scale,
        "versions": {name: peer.version for name, peer in found.items()},
        "missing": missing, "cpus": tables}, indent=1) + "\n")
    return 1 if any(row["errors"] for rows in tables.values()
                    for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
