#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""File I/O that blocks only its caller: a file is read and written in units of
8 to 256 KiB while another thread spins. The file system is local or as slow as
one in a network, and the data is in the page cache or not. The figures are how
long it takes, and how much of the wait the other thread can use.

One CPU for everything but the slow file system's server.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(pathlib.Path(__file__).resolve().parent)]

import figures  # noqa: E402
import slow  # noqa: E402
from bench.lib import measure, report, sides as lib_sides  # noqa: E402

COMBINATIONS = [(place, operation, cache) for place in ("local", "slow")
                for operation in ("read", "write") for cache in ("hit", "miss")
                if (place, operation, cache) != ("slow", "write", "hit")]
UNITS = (8, 16, 32, 64, 128, 256)
# The program's nice value when the I/O server is favoured, as in the paper.
NICE = 5
# Below this share of plain I/O's time there is no wait.
LEAST_WAIT = 0.1
BY_TIMER, BY_SOCKET = "model by timer", "model by socket"
NOTICES = re.compile(r"completions reported[^:]*: (\d+)")
USABLE_LESS, USABLE_LONG, LONG_US = 0.05, 0.97, 5000
LONGER, SHORT_US = 1.05, 1000


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/ptl-n",
                                     description=__doc__)
    parser.add_argument("combinations", nargs="*", metavar="COMBINATION",
                        help="of " + ", ".join(map("-".join, COMBINATIONS)))
    parser.add_argument("--units", help="KiB, with commas between "
                        f"({','.join(map(str, UNITS))})")
    parser.add_argument("--mib", type=int, default=10, help="the file's (10)")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--latency-us", type=int, default=500,
                        help="of the slow file system (500)")
    parser.add_argument("--bytes-per-us", type=int, default=12,
                        help="its bandwidth (12)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/ptl-n.json")
    parser.add_argument("--plot", type=report.result_file,
                        default=ROOT / "bench/results/ptl-n.png")
    options = parser.parse_args(argv)
    options.units = [int(unit) for unit in options.units.split(",")] \
        if options.units else list(UNITS)
    named = [tuple(name.split("-")) for name in options.combinations]
    unknown = [name for name in named if name not in COMBINATIONS]
    if unknown:
        parser.error(f"no {'-'.join(unknown[0])}")
    options.combinations = named or COMBINATIONS
    return options


# --- sides --------------------------------------------------------------------

def sides_of(options):
    """{side: (words before FILE, does the other thread spin)}."""
    build = options.build / "bench/papers/ptl-n"
    threads = [build / "bench_ptl_n_threads"]
    weft = options.build / "weft"
    offers = lib_sides.run_options(weft)

    def on_weft(io, *more):
        return [weft, "run", "--stats", "--vps", 1, "--io", io, *more, "--",
                *threads]

    def model(memory, rule, nice):
        return [build / "bench_ptl_n_model", memory, rule, nice]

    found = {"plain": (threads, False), "native": (threads, True)}
    for io in offers["io"].split("|"):
        found[f"weft {io} alone"] = (on_weft(io), False)
        found[f"weft {io}"] = (on_weft(io), True)
    if "io-nice" in offers:
        found["weft process favoured"] = (
            ["nice", "-n", NICE, *on_weft("process", "--io-nice", -NICE)],
            True)
    found |= {"model": (model("share", "ask", 0), True),
              "model favoured": (model("share", "ask", NICE), True),
              "model copies": (model("copy", "ask", NICE), True),
              "model tells": (model("share", "tell", NICE), True),
              BY_TIMER: (model("share", "timer", NICE), True),
              BY_SOCKET: (model("share", "socket", NICE), True)}
    return found


def is_about(side, combination):
    """Other ways to learn of a completion matter only if a read waits for one.
    A tick of the timer takes longer than most operations."""
    return side not in (BY_TIMER, BY_SOCKET) or \
        combination[1:] == ("read", "miss")


def one_run(words):
    """Returns the figures, and the number of reported completions."""
    result = measure.run([
        "taskset", "-c", str(lib_sides.one_cpu()), *map(str, words)])
    notices = NOTICES.search(result.stderr)
    if notices:
        result.figures["notices"] = float(notices.group(1))
    return result


# --- figures ------------------------------------------------------------------

def has_waits(medians):
    """Does plain I/O wait for anything?"""
    plain = medians.get("plain")
    return bool(plain) and plain["elapsed_us"] - plain["io_us"] > \
        LEAST_WAIT * plain["elapsed_us"]


def usable(medians, side):
    """Returns the share of the wait that was spent spinning, or None if there
    is no wait or no spinning. The I/O is subtracted at its native cost, since
    weft's further cost is not usable."""
    got, native = medians.get(side), medians.get("native")
    if not got or not native or not got["spin_us"] or not has_waits(medians):
        return None
    wait_us = got["elapsed_us"] - native["io_us"]
    return got["spin_us"] / wait_us if wait_us > 0 else None


def checks(medians, side, nr_units):
    """Returns {goal: is it met}."""
    found = {}
    got = medians[side]
    plain, native = medians.get("plain"), medians.get("native")
    if not plain or not native:
        return found
    # With a CPU that is awake.
    operation_us = native["elapsed_us"] / nr_units
    share, natives = usable(medians, side), usable(medians, "native")
    if share is not None and natives is not None:
        found["usable >= native - 5 points"] = share >= natives - USABLE_LESS
    if share is not None and operation_us >= LONG_US:
        found["usable >= 97 %"] = share >= USABLE_LONG
    if side.endswith("alone") and operation_us >= SHORT_US:
        found["elapsed <= 1.05 plain"] = \
            got["elapsed_us"] <= LONGER * plain["elapsed_us"]
    if "notices" in got and not has_waits(medians):
        found["no notice"] = got["notices"] == 0
    return found


def measured(options, found, path, combination, unit):
    """Returns (medians, samples, errors)."""
    _, operation, cache = combination
    runners = {}
    for side, (words, spins) in found.items():
        if not is_about(side, combination):
            continue
        runners[side] = functools.partial(one_run, [
            *words, path, options.mib, unit, operation, cache,
            "spin" if spins else "alone"])
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    medians = {side: {name: statistics.median(seen)
                      for name, seen in got.items()}
               for side, got in samples.items() if got}
    return medians, samples, {**impossible, **errors}


def show(combination, unit, medians, failed, results):
    print(f"\n{'-'.join(combination)}, units of {unit} KiB")
    print(f"{'':<24}{'elapsed ms':>11}{'x plain':>9}{'effective ms':>14}"
          f"{'usable %':>10}{'I/O CPU ms':>12}{'notices':>9}")
    plain = medians.get("plain", {}).get("elapsed_us")
    for side, got in medians.items():
        share = usable(medians, side)
        notices = got.get("notices")
        longer = got["elapsed_us"] / plain if plain else None
        print(f"{side:<24}{report.number(got['elapsed_us'] / 1e3):>11}"
              f"{report.number(longer):>9}"
              f"{report.number(got['spin_us'] / 1e3):>14}"
              f"{report.number(share * 100 if share else None):>10}"
              f"{report.number(got['io_us'] / 1e3):>12}"
              f"{'-' if notices is None else int(notices):>9}")
    for side, why in failed.items():
        print(f"{side:<24}{why}")
    for side, asked in results.items():
        if asked:
            print(f"{side}: " + ", ".join(
                f"{what} {'yes' if met else 'NO'}"
                for what, met in asked.items()))
    sys.stdout.flush()


# --- files --------------------------------------------------------------------

def local_file(options):
    path = options.build / "bench/papers/ptl-n/file"
    path.write_bytes(b"p" * (options.mib << 20))
    subprocess.run(["sync", str(path)], check=True)
    return path


def measure_all(options, found, paths):
    """{combination: {unit: {"medians", "samples", ...}}}."""
    rows = {}
    for combination in options.combinations:
        path = paths.get(combination[0])
        for unit in options.units if path else ():
            medians, samples, failed = measured(options, found, path,
                                                combination, unit)
            results = {side: checks(medians, side, (options.mib << 10) // unit)
                       for side in medians if side.startswith("weft")}
            show(combination, unit, medians, failed, results)
            rows.setdefault(combination, {})[unit] = {
                "medians": medians, "samples": samples, "targets": results,
                "usable": {side: usable(medians, side) for side in medians},
                "failed": failed}
    return rows


def write(options, rows, sides):
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/ptl-n", "machine": lib_sides.machine(),
        "runs": options.runs, "mib": options.mib,
        "latency_us": options.latency_us,
        "bytes_per_us": options.bytes_per_us,
        "rows": {"-".join(name): table for name, table in rows.items()}},
        indent=1) + "\n")
    tables = {name: {unit: row["medians"] for unit, row in table.items()}
              for name, table in rows.items()}
    why = figures.plot(options.plot, tables, sides)
    print(f"\nplot: {why or options.plot}")


def main(argv):
    options = parse(argv)
    found = sides_of(options)
    paths = {"local": local_file(options)}
    program = options.build / "bench/papers/ptl-n/bench_ptl_n_slowfs"
    others = os.sched_getaffinity(0) - {lib_sides.one_cpu()}
    why = slow.why_not(program)
    print(f"{options.mib} MiB, median of {options.runs}; slow file system: "
          f"{why or f'{options.latency_us} us, {options.bytes_per_us} MB/s'}")
    if why:
        rows = measure_all(options, found, paths)
    else:
        with slow.mounted(program, min(others or {lib_sides.one_cpu()}),
                          options.latency_us, options.bytes_per_us,
                          options.mib) as path:
            rows = measure_all(options, found, {**paths, "slow": path})
    write(options, rows, list(found))
    return 1 if any(row["failed"] for table in rows.values()
                    for row in table.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
