#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The priority of the I/O servers: small reads, small reads under a mutex that
another thread wants, large reads and large writes at once, beside a thread that
computes, on one CPU. Which nice value of the I/O servers suits which of these?

The program runs at nice 5, so that servers at io-nice -5 have the priority of
other programs.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT),
                str(pathlib.Path(__file__).resolve().parents[1] / "ptl-n")]

import slow  # noqa: E402
from bench.lib import measure, report, sides as lib_sides  # noqa: E402

# The program's nice value, and the servers' values relative to it.
NICE = 5
IO_NICE = (5, 0, -5, -10, -20)
FIGURES = {"small_us": "small, us", "small_p99_us": "p99",
           "turn_us": "turn, us", "read_mb": "read MB/s",
           "write_mb": "write MB/s", "compute": "compute"}


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/priorities",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--io-nice", type=int, nargs="+", default=IO_NICE,
                        metavar="N", help=f"({' '.join(map(str, IO_NICE))})")
    parser.add_argument("--ms", type=int, default=1000,
                        help="length of a run (1000)")
    parser.add_argument("--mib", type=int, default=10, help="the file's (10)")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--latency-us", type=int, default=500,
                        help="of the slow file system (500)")
    parser.add_argument("--bytes-per-us", type=int, default=12,
                        help="its bandwidth (12)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/priorities.json")
    return parser.parse_args(argv)


def sides_of(options):
    """Returns {side: words in front of the program}."""
    weft = options.build / "weft"
    found = {"native": []}
    for nice in options.io_nice:
        found[f"io-nice {nice}"] = [weft, "run", "--vps", 1, "--io", "process",
                                    "--io-nice", nice, "--"]
    return found


def measured(options, place, path, copy):
    """Runs all sides with the file there. Returns {"medians", "samples",
    "failed"}."""
    program = options.build / "bench/papers/priorities/bench_mixed"
    runners = {side: functools.partial(measure.run, [
        "taskset", "-c", str(lib_sides.one_cpu()), "nice", "-n", str(NICE),
        *map(str, [*front, program, path, options.mib, copy, options.ms])])
        for side, front in sides_of(options).items()}
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    failed = {**impossible, **errors}
    medians = {side: {name: statistics.median(each)
                      for name, each in got.items()}
               for side, got in samples.items() if got}
    print(f"\n{place} file system\n{'':<14}"
          + "".join(f"{head:>12}" for head in FIGURES.values()))
    for side, got in medians.items():
        print(f"{side:<14}" + "".join(f"{report.number(got[name]):>12}"
                                      for name in FIGURES))
    for side, why in failed.items():
        print(f"{side:<14}{why}")
    sys.stdout.flush()
    return {"medians": medians, "samples": samples, "failed": failed}


def local_file(options):
    path = options.build / "bench/papers/priorities/file"
    with path.open("wb") as file:
        file.write(b"p" * (options.mib << 20))
        os.fsync(file.fileno())
    return path


def main(argv):
    options = parse(argv)
    path = local_file(options)
    copy = path.with_name("copy")
    program = options.build / "bench/papers/ptl-n/bench_ptl_n_slowfs"
    others = os.sched_getaffinity(0) - {lib_sides.one_cpu()}
    why = slow.why_not(program)
    print(f"{options.ms} ms, median of {options.runs}; slow file system: "
          f"{why or f'{options.latency_us} us, {options.bytes_per_us} MB/s'}")
    rows = {"local": measured(options, "local", path, copy)}
    if not why:
        with slow.mounted(program, min(others or {lib_sides.one_cpu()}),
                          options.latency_us, options.bytes_per_us,
                          options.mib) as slow_path:
            rows["slow"] = measured(options, "slow", slow_path, copy)
    copy.unlink(missing_ok=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/priorities", "machine": lib_sides.machine(),
        "runs": options.runs, "ms": options.ms, "nice": NICE,
        "slow": why or "mounted", "rows": rows}, indent=1) + "\n")
    return 1 if any(row["failed"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
