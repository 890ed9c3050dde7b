#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost to lock and to unlock a lock that no other thread wants, each
on its own: table 1 of the paper on virtual processors, and the locks that it
leaves open, which need neither the kernel nor special instructions.
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

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

SEVERAL = max(2, len(os.sched_getaffinity(0)))
# The paper's figures in us, on its machine: to lock and to unlock.
PAPER_US = {"kernel semaphore": (58, 58), "plain variable": (36, 40)}


@dataclasses.dataclass(frozen=True)
class Way:
    """A kind of lock of locks.h, made for so many threads, on that side."""
    kind: str
    side: str = "native"
    vps: int = 1
    threads: int = 2


WAYS = {
    "no lock: the calls": Way("none", threads=1),
    "libc mutex": Way("mutex"),
    "weft mutex, 1 VP": Way("mutex", "weft"),
    f"weft mutex, {SEVERAL} VPs": Way("mutex", "weft", SEVERAL),
    "kernel semaphore": Way("semaphore"),
    "the same on weft, 1 VP": Way("semaphore", "weft"),
    "plain variable": Way("plain", "weft"),
    "Peterson, 2 threads": Way("peterson"),
    "bakery, 2 threads": Way("bakery"),
    "bakery, 8 threads": Way("bakery", threads=8),
    "fast mutex, 2 threads": Way("fast"),
    "fast mutex, 8 threads": Way("fast", threads=8),
}


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/locks",
                                     description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=100,
                        help="length of a run in percent of 0.2 s (100)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/locks.json")
    return parser.parse_args(argv)


def measured(sides, options):
    """Returns ({way: {name: [figure...]}}, {way: why impossible}, {way:
    error})."""
    program = options.build / "bench/papers/locks/bench_locks"
    runners = {
        name: functools.partial(measure.run, sides.command(
            way.side, way.vps,
            [program, options.scale, way.kind, way.threads]))
        for name, way in WAYS.items()}
    return measure.in_turn(runners, options.runs)


def medians(samples):
    return {name: statistics.median(figures)
            for name, figures in samples.items()}


def line(name, row, why):
    if not row:
        return f"{name:<25}{why}"
    paper = PAPER_US.get(name, (None, None))
    return (f"{name:<25}{report.number(row['lock']):>9}"
            f"{report.number(row['unlock']):>9}"
            f"{row['lock_fences']:>8.0f} +{row['unlock_fences']:>2.0f}"
            f"{report.number(paper[0]):>12}{report.number(paper[1]):>9}")


def ratio_line(rows):
    """Compares the paper's two locks: how many times as much the kernel's lock
    costs."""
    kernel, plain = (rows.get(name) for name in PAPER_US)
    if not kernel or not plain:
        return ""
    paper = [over / under for over, under in zip(*PAPER_US.values())]
    ours = [kernel[name] / plain[name] if plain[name] else None
            for name in ("lock", "unlock")]
    return ("\nkernel semaphore / plain variable: "
            f"lock {report.number(ours[0])}, unlock {report.number(ours[1])} "
            f"times; the paper: {paper[0]:.1f} and {paper[1]:.1f}")


def main(argv):
    options = parse(argv)
    samples, impossible, errors = measured(lib_sides.Sides(options.build),
                                           options)
    rows = {name: medians(got) for name, got in samples.items()
            if got and name not in errors}
    print(f"ns, without contention, median of {options.runs}; "
          "fences: lock + unlock\n"
          f"{'':<25}{'lock':>9}{'unlock':>9}{'fences':>12}"
          f"{'paper, us':>12}{'':>9}")
    for name in WAYS:
        print(line(name, rows.get(name),
                   "failed" if name in errors else impossible.get(name)))
    print(ratio_line(rows))
    for name, error in errors.items():
        print(f"locks: {name}: {error}", file=sys.stderr)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/locks", "machine": lib_sides.machine(),
        "runs": options.runs, "scale": options.scale, "unit": "ns",
        "rows": {name: {**dataclasses.asdict(way),
                        "medians": rows.get(name, {}),
                        "samples": samples[name],
                        "impossible": impossible.get(name, ""),
                        "error": errors.get(name, "")}
                 for name, way in WAYS.items()},
        "paper_us": PAPER_US}, indent=1) + "\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
