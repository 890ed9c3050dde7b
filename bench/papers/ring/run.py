#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ring of threads, each waiting for its neighbour to write into its buffer.
They wait by real-time signals, by polling, by a polling agent that signals, or
in one of several other ways. On weft they also wait by wait words, where agents
switch straight to the thread.

The page names ways that cannot be created or take over 10 s a round. A way that
takes so long for some number of threads is not tried with more.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import figures  # noqa: E402
from bench.lib import measure, report, sides as lib_sides  # noqa: E402

COUNTS = (2, 3, 4, 5, 10, 100, 1000, 10000, 100000)
# name: (side, arguments of bench_ring_paper behind the number)
WAYS = {
    "signals": ("native", ("signal",)),
    "polling": ("native", ("poll",)),
    "agent + signal": ("native", ("agent_signal",)),
    "condition variables": ("native", ("cond",)),
    "futexes": ("native", ("futex",)),
    "words": ("weft", ("word",)),
    "words random": ("weft", ("word", "random")),
    "addresses": ("weft", ("address",)),
    "semaphores": ("weft", ("sem",)),
    "Go channels": ("go", ()),
}
HEADS = {"condition variables": "conds", "agent + signal": "agent+sig",
         "addresses": "address", "semaphores": "sems",
         "words random": "random", "Go channels": "Go"}
# (threads, VPs, way): times faster than signals, at least.
TARGETS = {(5, 1, "words"): 25, (5, 1, "semaphores"): 35,
           (1000, 1, "words"): 20, (1000, 1, "semaphores"): 40,
           (5, 2, "semaphores"): 110}
# The target with one VP: 100,000 threads may be this many times as slow as 5.
FEW, MANY, MANY_SLOWER = 5, 100000, 4
WIDTH = 10


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/ring",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=COUNTS)
    parser.add_argument("--ways", default=",".join(WAYS),
                        help="some of " + ",".join(WAYS))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=50,
                        help="length of a run in percent of 0.2 s (50)")
    parser.add_argument("--cpu", action="store_true",
                        help="CPU time in place of elapsed time with one CPU: "
                        "on a machine in use")
    parser.add_argument("--go", default="go", metavar="PATH")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/ring.json")
    parser.add_argument("--plot", type=report.result_file,
                        default=ROOT / "bench/results/ring.png")
    options = parser.parse_args(argv)
    unknown = set(options.ways.split(",")) - set(WAYS)
    if unknown:
        parser.error(f"no way is called {', '.join(sorted(unknown))}")
    options.ways = [way for way in WAYS if way in options.ways.split(",")]
    return options


def go_run(command):
    """Go's figure may have any name."""
    result = measure.run(command)
    if result.figures:
        result.figures = {"latency": next(iter(result.figures.values()))}
    return result


def runner(sides, options, way, nr, vps):
    side, args = WAYS[way]
    if side == "go":
        return functools.partial(go_run, sides.command(
            side, vps, [sides.go, options.scale, "ring", nr]))
    program = options.build / "bench/papers/ring/bench_ring_paper"
    clock = "cpu" if options.cpu and vps == 1 else "real"
    return functools.partial(
        measure.run, sides.command(side, vps,
                                   [program, options.scale, nr, *args]),
        env=lib_sides.environment(BENCH_CLOCK=clock))


def medians(samples):
    return {name: statistics.median(figures)
            for name, figures in samples.items()}


def cell(row, impossible, failed, way):
    if way in row:
        return report.number(row[way]["latency"])
    if way in failed:
        return "failed"
    if way in impossible:
        return ">10 s" if "10 s" in impossible[way] else "cannot"
    return "-"


class Ring:
    """Measures all ways with one number of VPs."""

    def __init__(self, sides, options, vps):
        self.sides, self.options, self.vps = sides, options, vps
        self.rows, self.samples, self.impossible, self.errors = {}, {}, {}, {}
        self.given_up = {}
        self.ways = [way for way in options.ways
                     if vps > 1 or way != "agent + signal"]

    def head(self):
        print(f"\nns one way, {self.vps} VP{'s' * (self.vps > 1)} and as many "
              f"CPUs, median of {self.options.runs}")
        print(f"{'threads':<9}" + "".join(f"{HEADS.get(way, way):>{WIDTH}}"
                                          for way in self.ways), flush=True)

    def measure(self, nr):
        runners = {way: runner(self.sides, self.options, way, nr, self.vps)
                   for way in self.ways if way not in self.given_up}
        samples, impossible, errors = measure.in_turn(runners,
                                                      self.options.runs)
        self.given_up.update({way: why for way, why in impossible.items()
                              if "10 s" in why})
        self.samples[nr] = {way: got for way, got in samples.items() if got}
        self.rows[nr] = {way: medians(got)
                         for way, got in self.samples[nr].items()
                         if way not in impossible and way not in errors}
        self.impossible[nr] = {**self.given_up, **impossible}
        self.errors[nr] = errors
        print(f"{nr:<9}" + "".join(
            f"{cell(self.rows[nr], self.impossible[nr], errors, way):>{WIDTH}}"
            for way in self.ways), flush=True)
        for way, why in errors.items():
            print(f"ring: {nr} threads, {way}: {why}", file=sys.stderr)

    def ratio(self, nr, way):
        row = self.rows.get(nr, {})
        if "signals" in row and way in row:
            return row["signals"]["latency"] / row[way]["latency"]
        return None

    def as_json(self):
        return {str(nr): {"medians": self.rows[nr],
                          "samples": self.samples[nr],
                          "impossible": self.impossible[nr],
                          "errors": self.errors[nr]} for nr in self.rows}


def check_targets(rings):
    checks = {}
    for (nr, vps, way), least in TARGETS.items():
        got = rings[vps].ratio(nr, way) if vps in rings else None
        if got is None:
            continue
        text = f"{way}, n = {nr}, VPs: {vps}"
        checks[text] = got >= least
        print(f"{text:<30}{report.number(got):>8} times faster than signals, "
              f"at least {least}: {'yes' if got >= least else 'NO'}")
    return checks


def check_growth(ring):
    few, many = (ring.rows.get(nr, {}).get("semaphores") for nr in (FEW, MANY))
    if not few or not many:
        return {}
    got = many["latency"] / few["latency"]
    text = f"semaphores, n = {MANY}, VPs: 1"
    print(f"{text:<30}{report.number(got):>8} times as slow as n = {FEW}, "
          f"at most {MANY_SLOWER}: {'yes' if got <= MANY_SLOWER else 'NO'}")
    return {text: got <= MANY_SLOWER}


def main(argv):
    options = parse(argv)
    cpus = len(os.sched_getaffinity(0))
    sides = lib_sides.Sides(options.build)
    if "Go channels" in options.ways:
        why = sides.build_go(options.go)
        print(f"go: {sides.go_version}" if not why else
              f"go: left out, {why}")
        if why:
            options.ways.remove("Go channels")
    rings = {vps: Ring(sides, options, vps) for vps in sorted({1, cpus})}
    for ring in rings.values():
        ring.head()
        for nr in options.threads:
            ring.measure(nr)
    print()
    checks = check_targets(rings) | check_growth(rings[1])
    print(f"{sum(checks.values())} of {len(checks)} targets met")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/ring", "machine": lib_sides.machine(),
        "go": sides.go_version, "runs": options.runs, "scale": options.scale,
        "unit": "ns", "rings": {str(vps): ring.as_json()
                                for vps, ring in rings.items()},
        "targets": checks}, indent=1) + "\n")
    why = figures.draw(options.plot, rings[1].rows, rings[max(rings)].rows,
                       cpus)
    print(f"plot: {why or options.plot}")
    return 1 if any(any(ring.errors.values())
                    for ring in rings.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
