#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Groups of threads of different kinds beside each other: how many steps each
group makes, natively and on weft in turn on the same CPUs, with one VP and
with two. Prints a pair if one group makes less than half of its native steps
and the other does not make up for it. Also prints it if a thread was without a
step for longer than 50 ms and twice as long as natively. All samples go to a
JSON file.

usage: bench/beside/run.py [--runs N] [--vps N] [--only KIND] [--json FILE]

A busy machine shows pairs that a quiet one does not: --runs 7 takes medians.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import report, sides as lib_sides  # noqa: E402

LIMIT_S = 60
LESS, MORE = 0.5, 2
LONG_MS = 50


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ms", type=int, default=400, help="of each run")
    parser.add_argument("--vps", type=int, action="append",
                        help="1 or 2; both if not given")
    parser.add_argument("--only", action="append", default=[],
                        help="pairs with this kind")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/beside.json")
    return parser.parse_args(argv)


def command(options, kind, nr_cpus):
    words = lib_sides.pinned(nr_cpus)
    if kind == "weft":
        words += [str(options.build / "weft"), "run", "--vps", str(nr_cpus),
                  "--"]
    return words + [str(options.build / "bench/beside/bench_beside")]


def measure(options, kind, nr_cpus, pair):
    """Returns [[steps per second, longest ms without a step] of each
    group]."""
    done = subprocess.run(
        command(options, kind, nr_cpus) + [*pair, str(options.ms)],
        capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return [[float(word) for word in line.split()]
            for line in done.stdout.splitlines()]


def medians(samples):
    return [[statistics.median(values) for values in zip(*group)]
            for group in zip(*samples)]


def is_passed_over(native, weft, other_ratio):
    """Returns whether weft gives a group too few steps, or lets a thread wait
    for too long. `native` and `weft` have the steps and the longest wait."""
    ratio = weft[0] / max(native[0], 1)
    if ratio < LESS and other_ratio < MORE:
        return True
    return weft[1] > LONG_MS and weft[1] > 2 * native[1]


def verdict(native, weft):
    """Returns the numbers (0, 1) of the groups that weft treats badly."""
    ratios = [w[0] / max(n[0], 1) for n, w in zip(native, weft)]
    return [g for g in (0, 1)
            if is_passed_over(native[g], weft[g], ratios[1 - g])]


def show(nr_cpus, pair, native, weft, groups):
    for g in groups:
        print(f"{pair[g]:<8} beside {pair[1 - g]:<8}{nr_cpus:>4}"
              f"{native[g][0]:>12.0f}{weft[g][0]:>12.0f}"
              f"{weft[g][0] / max(native[g][0], 1):>8.2f}"
              f"{native[g][1]:>10.1f}{weft[g][1]:>10.1f}", flush=True)


def compare(options, nr_cpus, pair):
    samples = {"native": [], "weft": []}
    for _ in range(options.runs):
        for kind, results in samples.items():
            results.append(measure(options, kind, nr_cpus, pair))
    native, weft = (medians(samples[kind]) for kind in ("native", "weft"))
    show(nr_cpus, pair, native, weft, verdict(native, weft))
    return samples


def main(argv):
    options = parse(argv)
    program = options.build / "bench/beside/bench_beside"
    kinds = subprocess.run([program], capture_output=True, text=True,
                           check=True).stdout.split()
    pairs = [pair for pair in itertools.combinations_with_replacement(kinds, 2)
             if not options.only or set(pair) & set(options.only)]
    results = {}
    print(f"{'passed over':<23}{'VPs':>4}{'native/s':>12}{'weft/s':>12}"
          f"{'ratio':>8}{'native ms':>10}{'weft ms':>10}")
    for nr_cpus in options.vps or (1, 2):
        for pair in pairs:
            results[f"{pair[0]}, {pair[1]}, {nr_cpus} VPs"] = \
                compare(options, nr_cpus, pair)
    print(f"{len(results)} pairs")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
