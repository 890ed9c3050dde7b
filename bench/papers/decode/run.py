#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decoding while reading: a file of sound is read in units and decoded, by one
thread, or by one that reads and one that decodes. How much of the waiting for
the file do two threads hide? The decoders take half as long as the reading, as
long, and twice as long.

One CPU for everything but the slow file system's server. At best two threads
take as long as the longer of reading and decoding alone.
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

# Time of decoding divided by the time of reading.
SHARES = (0.5, 1, 2)
# Reads before the decoder's work is chosen; the shortest one counts.
TRIES = 3
# The program's nice value when the I/O server is favoured.
NICE = 5
READ, DECODE, PLAIN = "read only", "decode only", "plain"


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/decode",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--units", type=int, nargs="+", default=(16, 64, 256),
                        metavar="KIB", help="(16 64 256)")
    parser.add_argument("--mib", type=int, default=10, help="the file's (10)")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--latency-us", type=int, default=500,
                        help="of the slow file system (500)")
    parser.add_argument("--bytes-per-us", type=int, default=12,
                        help="its bandwidth (12)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/decode.json")
    return parser.parse_args(argv)


def sides_of(options):
    """Returns {side: words in front of the program} for the sides with two
    threads."""
    weft = options.build / "weft"
    offers = lib_sides.run_options(weft)
    found = {"native": []}
    for io in offers["io"].split("|"):
        found[f"weft {io}"] = [weft, "run", "--vps", 1, "--io", io, "--"]
    found["weft process favoured"] = [
        "nice", "-n", NICE, weft, "run", "--vps", 1, "--io", "process",
        "--io-nice", -NICE, "--"]
    return found


class Decode:
    """The runs with one file, which is read in units of one size."""

    def __init__(self, options, path, unit):
        self.options, self.path, self.unit = options, path, unit
        self.program = options.build / "bench/papers/decode/bench_decode"

    def run(self, front, cache, passes, how):
        call = [*front, self.program, self.path, self.options.mib, self.unit,
                cache, passes, how]
        return measure.run(["taskset", "-c", str(lib_sides.one_cpu()),
                            *map(str, call)])

    def passes(self):
        """Returns {share: passes} from the times of a read and of a pass here.
        Raises ValueError if the program fails."""
        reading = [self.run([], "miss", 0, "plain") for _ in range(TRIES)]
        one = self.run([], "hit", 1, "plain")
        for result in (*reading, one):
            if not result.figures:
                raise ValueError(f"{self.program} failed: {result.error}")
        ratio = min(result.figures["elapsed_us"] for result in reading) / \
            one.figures["decode_us"]
        return {share: max(1, round(share * ratio)) for share in SHARES}

    def measure(self, passes):
        """Runs all sides. Returns (medians, samples, failed)."""
        runners = {READ: functools.partial(self.run, [], "miss", 0, "plain"),
                   DECODE: functools.partial(self.run, [], "hit", passes,
                                             "plain"),
                   PLAIN: functools.partial(self.run, [], "miss", passes,
                                            "plain")}
        for side, front in sides_of(self.options).items():
            runners[side] = functools.partial(self.run, front, "miss", passes,
                                              "threads")
        samples, impossible, errors = measure.in_turn(runners,
                                                      self.options.runs)
        medians = {side: {name: statistics.median(each)
                          for name, each in got.items()}
                   for side, got in samples.items() if got}
        errors |= wrong_sums(medians)
        return medians, samples, {**impossible, **errors}


def wrong_sums(medians):
    """Returns {side: why} for the sides that decoded wrong samples."""
    right = medians.get(PLAIN, {}).get("sum")
    return {side: "its samples differ" for side, got in medians.items()
            if side != READ and right is not None and got["sum"] != right}


def hidden(medians, side):
    """Returns which part of the time that can be hidden is hidden, or None. At
    best the longer of reading and decoding remains."""
    if not {READ, DECODE, PLAIN, side} <= medians.keys():
        return None
    read, decode, plain, got = (medians[name]["elapsed_us"]
                                for name in (READ, DECODE, PLAIN, side))
    most = plain - max(read, decode)
    return (plain - got) / most if most > 0 else None


def show(name, medians, failed):
    print(f"\n{name}\n{'':<24}{'elapsed ms':>11}{'x plain':>9}{'hidden %':>10}")
    plain = medians.get(PLAIN, {}).get("elapsed_us")
    for side, got in medians.items():
        if side in failed:
            continue
        elapsed = got["elapsed_us"]
        share = None if side in (READ, DECODE, PLAIN) else \
            hidden(medians, side)
        print(f"{side:<24}{report.number(elapsed / 1e3):>11}"
              f"{report.number(elapsed / plain if plain else None):>9}"
              f"{'-' if share is None else f'{share * 100:.0f}':>10}")
    for side, why in failed.items():
        print(f"{side:<24}{why}")
    sys.stdout.flush()


def measure_all(options, paths):
    """{row: {"medians", "samples", "hidden", "failed"}}"""
    rows = {}
    for place, path in paths.items():
        for unit in options.units:
            decode = Decode(options, path, unit)
            for share, passes in decode.passes().items():
                name = (f"{place}, {unit} KiB, decoding takes {share:g} of "
                        "reading")
                medians, samples, failed = decode.measure(passes)
                show(name, medians, failed)
                rows[name] = {
                    "medians": medians, "samples": samples, "failed": failed,
                    "passes": passes,
                    "hidden": {side: hidden(medians, side)
                               for side in sides_of(options)}}
    return rows


def local_file(options):
    path = options.build / "bench/papers/decode/file"
    path.write_bytes(bytes(i * i * 7 >> 4 & 255 for i in range(1 << 20))
                     * options.mib)
    return path


def main(argv):
    options = parse(argv)
    paths = {"local": local_file(options)}
    program = options.build / "bench/papers/ptl-n/bench_ptl_n_slowfs"
    others = os.sched_getaffinity(0) - {lib_sides.one_cpu()}
    why = slow.why_not(program)
    print(f"{options.mib} MiB, median of {options.runs}; slow file system: "
          f"{why or f'{options.latency_us} us, {options.bytes_per_us} MB/s'}")
    if why:
        rows = measure_all(options, paths)
    else:
        with slow.mounted(program, min(others or {lib_sides.one_cpu()}),
                          options.latency_us, options.bytes_per_us,
                          options.mib) as path:
            rows = measure_all(options, {**paths, "slow": path})
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/decode", "machine": lib_sides.machine(),
        "runs": options.runs, "mib": options.mib, "slow": why or "mounted",
        "rows": rows}, indent=1) + "\n")
    return 1 if any(row["failed"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
