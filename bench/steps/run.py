#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of an operation on weft, counted one by one.

A program of `micro` runs with one VP. The benchmark stops it and steps its
first kernel thread through some tens of operations, while its other kernel
threads are stopped. The figures are the same however busy the machine is. An
instruction with a repeat prefix counts once for each repetition.
"""

import argparse
import bisect
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

# {row: program of micro, its arguments, the function that each one calls}
ROWS = {
    "yield": ("yield", [1000, 2], "sched_yield"),
    "ping_pong_cond": ("ping_pong_cond", [1000], "pthread_cond_wait"),
    "ping_pong_sem": ("ping_pong_sem", [1000], "sem_wait"),
    "create_join": ("create_join", [1000, 1], "pthread_create"),
    "fork_join_fib": ("fork_join", [1000], "pthread_create"),
}
LIMIT_S = 120


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench steps",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--steps", type=int, default=100000,
                        help="of each row (100000)")
    parser.add_argument("--functions", action="store_true",
                        help="by function, too")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/steps.json")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(ROWS)}")
    return options


class Symbols:
    """The functions of an object by address, without the suffixes that
    optimizers add."""

    def __init__(self, path):
        found = {}
        for table in ([], ["-D"]):
            text = subprocess.run(["nm", "--defined-only", *table, path],
                                  capture_output=True, text=True,
                                  check=False).stdout
            for line in text.splitlines():
                address, kind, name = line.split()
                if kind in "tTwWi":
                    short = re.sub(r"[.@].*", "", name)
                    found.setdefault(int(address, 16), set()).add(short)
        self.names = found
        self.addresses = sorted(found)

    def at(self, address):
        i = bisect.bisect_right(self.addresses, address)
        return min(self.names[self.addresses[i - 1]]) if i else "?"

    def address_of(self, name):
        return next((a for a, names in self.names.items() if name in names),
                    None)


class Trace:
    def __init__(self, text):
        maps, _, steps = text.partition("\n\n")
        self.steps = [int(line, 16) for line in steps.split()]
        self.objects = []  # (start, end, load address, path)
        base = {}
        for line in maps.splitlines():
            fields = line.split()
            if len(fields) < 6 or not fields[5].startswith("/"):
                continue
            start, end = (int(x, 16) for x in fields[0].split("-"))
            base.setdefault(fields[5], start - int(fields[2], 16))
            self.objects.append((start, end, base[fields[5]], fields[5]))

    def symbols(self):
        """{path: Symbols} of the objects with counted instructions."""
        places = {self.find(step) for step in set(self.steps)} - {None}
        return {path: Symbols(path) for path in {p for p, _ in places}}

    def find(self, address):
        """Returns (path of the object, address in its file), or None."""
        for start, end, base, path in self.objects:
            if start <= address < end:
                return path, address - base
        return None


def count(text, function):
    """Returns the instructions of one operation: their number, and {function:
    number}."""
    trace = Trace(text)
    symbols = trace.symbols()
    library = next(path for path in symbols if path.endswith("/libweft.so.0"))
    begin = symbols[library].address_of(function)
    places = {address: trace.find(address) for address in set(trace.steps)}
    calls = [i for i, step in enumerate(trace.steps)
             if places[step] == (library, begin)]
    if len(calls) < 2:
        raise ValueError(f"{function} was not called twice")
    nr = len(calls) - 1
    functions = collections.Counter()
    for step in trace.steps[calls[0]:calls[-1]]:
        place = places[step]
        functions[symbols[place[0]].at(place[1]) if place else "?"] += 1
    return (calls[-1] - calls[0]) / nr, \
        {name: times / nr for name, times in functions.most_common()}


def measure_row(options, name):
    """Returns (instructions, instructions by function), or a string with the
    reason of a failure."""
    program, args, function = ROWS[name]
    sides = lib_sides.Sides(options.build)
    command = [options.build / "bench/steps/bench_step", options.steps,
               *sides.command("weft", 1, [sides.program(program), *args])]
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, timeout=LIMIT_S,
                              env=lib_sides.environment(), check=False)
    except OSError as error:
        return f"impossible: {error}"
    if done.returncode == measure.IMPOSSIBLE:
        return done.stdout.strip().splitlines()[-1]
    if done.returncode != 0:
        return f"failed: {done.stderr.strip()}"
    return count(done.stdout, function)


def main(argv):
    options = parse(argv)
    found, failed = {}, False
    print(f"{'':<24}{'instructions':>12}")
    for name in options.rows or ROWS:
        result = measure_row(options, name)
        if isinstance(result, str):
            print(f"{name:<24}{result}")
            failed = failed or result.startswith("failed")
            continue
        total, functions = result
        print(f"{name:<24}{total:>12.0f}", flush=True)
        if options.functions:
            for function, times in functions.items():
                if times >= 1:
                    print(f"    {function:<32}{times:>8.1f}")
        found[name] = {"instructions": total, "functions": functions}
    report.write_json(options.json, {
        "suite": "steps", "machine": lib_sides.machine(),
        "steps": options.steps, "operations": found}, [])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
