#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two MPI ranks with many threads each: thread i of both ranks send one byte to
and fro by MPI_Send and MPI_Recv. The figure is the elapsed time per round trip
of any thread, in us. In the row "16 with 20 us", 16 threads of each rank
compute for 20 us before each message.

Sides, in turn:
  native   native threads
  library  native threads, and libweft-mpi.so preloaded
  plain    weft run
  weft     weft run --mpi

A side that does not end in --limit seconds is shown as impossible. cpu_us in
the JSON file is the CPU time of both ranks for a round trip.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import groups, measure, report, sides as lib_sides  # noqa: E402

SIDES = ("native", "library", "plain", "weft")
MPIEXEC = {"mpich": ["mpiexec.mpich"],
           "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to",
                       "none"]}
# Open MPI refuses root without these.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# mpiexec gets a signal at the limit, ends its ranks, and has so long for it.
END_S = 10
# timeout(1)'s status at the limit.
TIMED_OUT = "status 124"
# Not slower, as far as the noise of a virtual machine shows.
NOT_SLOWER = 0.9


@dataclasses.dataclass(frozen=True)
class Case:
    threads: int
    compute_us: int = 0
    target: report.Target = report.Target()

    @property
    def name(self):
        if self.compute_us:
            return f"{self.threads} with {self.compute_us} us"
        return f"{self.threads} thread{'s' if self.threads > 1 else ''}"


CASES = (
    Case(1, target=report.Target(native=NOT_SLOWER)),
    Case(4, target=report.Target(native=NOT_SLOWER)),
    Case(16, target=report.Target(native=30)),
    Case(64, target=report.Target(native=30)),
    Case(256, target=report.Target(library=2)),
    Case(1000),
    Case(4000),
    Case(16, 20, report.Target(library=NOT_SLOWER)),
    Case(16, 200, report.Target(library=NOT_SLOWER)),
)


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="./dev bench mpi", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--ms", type=int, default=500,
                        help="length of each run (500)")
    parser.add_argument("--limit", type=int, default=60,
                        help="seconds that a run may take (60)")
    parser.add_argument("--only", action="append", default=[], metavar="ROW",
                        help="rows that have this in their name: 'mpich, 16 '")
    parser.add_argument("--sides", default=",".join(SIDES),
                        help=f"of {', '.join(SIDES)}")
    parser.add_argument("--favoured", action="store_true",
                        help="in a control group that other programs take "
                        "hardly any CPU time from; needs root")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/mpi.json")
    options = parser.parse_args(argv)
    options.sides = options.sides.split(",")
    unknown = [side for side in options.sides if side not in SIDES]
    if unknown:
        parser.error(f"unknown side '{unknown[0]}'; there are "
                     f"{', '.join(SIDES)}")
    return options


def prefix(side, build):
    library = build / "libweft-mpi.so.0"
    return {"native": [],
            "library": ["env", f"LD_PRELOAD={library}"],
            "plain": [build / "weft", "run", "--"],
            "weft": [build / "weft", "run", "--mpi", "--"]}[side]


def run_side(side, mpi, case, options):
    build = options.build.resolve()
    program = build / f"bench/mpi/bench_mpi_{mpi}"
    if not program.exists() or not shutil.which(MPIEXEC[mpi][0]):
        return measure.Result(impossible=f"no {mpi} is installed")
    words = ["timeout", "-k", END_S, options.limit, *MPIEXEC[mpi], "-n", "2",
             *prefix(side, build), program, case.threads, options.ms,
             case.compute_us]
    result = measure.run([str(word) for word in words],
                         limit_s=options.limit + 2 * END_S,
                         env=lib_sides.environment(**SETTINGS))
    if result.error.startswith(TIMED_OUT):
        return measure.Result(impossible=f"no end after {options.limit} s")
    return result


def measured(mpi, case, options):
    """Returns the row, and the samples of CPU time."""
    samples, impossible, errors = measure.in_turn(
        {side: functools.partial(run_side, side, mpi, case, options)
         for side in options.sides}, options.runs)
    row = report.Row(
        f"{mpi}, {case.name}", "us", 0,
        {side: found.get("round_trip_us", [])
         for side, found in samples.items()},
        case.target, impossible=impossible, errors=errors)
    return row, {side: found.get("cpu_us", [])
                 for side, found in samples.items()}


def show(row, sides):
    print(report.line(row, sides), flush=True)
    for side, why in [*row.impossible.items(), *row.errors.items()]:
        print(f"  {side}: {why}", flush=True)


def measured_rows(options):
    rows, cpu = [], {}
    print(report.header(options.sides))
    for mpi in MPIEXEC:
        for case in CASES:
            name = f"{mpi}, {case.name}"
            if options.only and not any(o in name for o in options.only):
                continue
            row, cpu[name] = measured(mpi, case, options)
            show(row, options.sides)
            rows.append(row)
    return rows, cpu


def main(argv):
    options = parse(argv)
    print(f"{len(os.sched_getaffinity(0))} CPUs for both ranks; median of "
          f"{options.runs} runs of {options.ms} ms")
    with groups.favoured() if options.favoured else \
            contextlib.nullcontext(True) as is_allowed:
        if not is_allowed:
            sys.exit("no control group can be made")
        rows, cpu = measured_rows(options)
    print(report.summary(rows))
    report.write_json(options.json, {
        "suite": "mpi", "machine": lib_sides.machine(), "runs": options.runs,
        "ms": options.ms, "limit_s": options.limit,
        "is_favoured": options.favoured, "cpu_us": cpu}, rows)
    return 1 if any(row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
