#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fairness: threads that compute beside threads that wait, natively and on
weft in turn, each on the same CPUs, with one VP and with two. Prints the
median of each figure, its target, and whether it is met; writes all samples to
a JSON file.

usage: bench/fair/run.py [--runs N] [--vps N] [--only NAME] [--json FILE]

Exit status 1 if a program failed. A figure that misses its target is shown and
is no failure, since a busy machine can cause that.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import report, sides as lib_sides  # noqa: E402

HERE = ROOT / "bench/fair"
PYTHON = "/usr/bin/python3"
LIMIT_S = 60
WAIT = re.compile(r"longest wait of a runnable thread, us: (\d+)")
WAIT_LIMIT_MS = 50


class Bound:
    """The target of a figure: at most, or at least, `limit` times native, or
    limit more than native, or limit alone."""

    def __init__(self, kind, limit, most=True):
        self.kind, self.limit, self.most = kind, limit, most

    def value(self, native, weft):
        if self.kind == "times":
            return weft / native if native else float("inf")
        return weft - native if self.kind == "more" else weft

    def is_met(self, native, weft):
        value = self.value(native, weft)
        return value <= self.limit if self.most else value >= self.limit

    def __str__(self):
        unit = {"times": " x native", "more": " + native", "alone": ""}
        return (f"{'<=' if self.most else '>='} {self.limit:g}"
                f"{unit[self.kind]}")


def most(limit):
    return Bound("times", limit)


def least(limit):
    return Bound("times", limit, most=False)


NOT_WORSE = least(0.9)
# For a time: weft's may be 1 / 0.9 of the native one.
NOT_LONGER = most(1 / 0.9)
SLEEPER = {"median_ms": Bound("more", 0.3), "p99_ms": most(1.5),
           "share": Bound("alone", 1.25), "work": None}

# Name, command, and the targets of the figures that it prints.
ROWS = [
    ("sleep 0.3 ms", ["fair_sleeper", "300"], SLEEPER),
    ("sleep 0.7 ms", ["fair_sleeper", "700"], SLEEPER),
    ("sleep 1 ms", ["fair_sleeper", "1000"], SLEEPER),
    ("memset, sleep 1 ms", ["fair_sleeper", "1000", "memset"],
     {"median_ms": Bound("more", 1), "p99_ms": most(2), "work": NOT_WORSE}),
    ("ping-pong", ["fair_ping_pong"], {"work": least(1), "rounds": least(5)}),
    ("python compute", [PYTHON, str(HERE / "compute.py")],
     {"work": NOT_WORSE, "mean_ms": NOT_LONGER}),
    ("python pool", [PYTHON, str(HERE / "pool.py")],
     {"map_ms": NOT_LONGER}),
    ("redis 2 io-threads", "redis 2", {"requests": NOT_WORSE}),
    ("redis 4 io-threads", "redis 4", {"requests": NOT_WORSE}),
    ("openmp 8 threads", ["fair_openmp", "8"], {"regions": NOT_WORSE}),
]


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--vps", type=int, action="append",
                        help="1 or 2; both if not given")
    parser.add_argument("--only", action="append", default=[],
                        help="rows whose name contains this")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/fair.json")
    return parser.parse_args(argv)


def prefix(options, kind, nr_cpus):
    """The beginning of the command: it sets the last nr_cpus CPUs, and runs
    weft on weft's side."""
    if kind == "native":
        return lib_sides.pinned(nr_cpus)
    return lib_sides.pinned(nr_cpus) + [
        str(options.build / "weft"), "run", "--stats", "--vps", str(nr_cpus),
        "--"]


def figures(text):
    return {name: float(value) for name, value in
            (line.split() for line in text.splitlines() if line)}


def longest_wait(stderr):
    waits = [int(us) / 1000 for us in WAIT.findall(stderr)]
    return {"wait_ms": max(waits)} if waits else {}


def run_program(start, command):
    if command[0].startswith("fair_"):
        command = [str(start["build"] / "bench/fair" / command[0])] + \
            command[1:]
    done = subprocess.run(start["prefix"] + command, capture_output=True,
                          text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-300:]}")
    return figures(done.stdout) | longest_wait(done.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, server):
    for _ in range(500):
        if server.poll() is not None:
            raise RuntimeError("redis-server ended")
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("redis-server does not listen")


def run_redis(start, io_threads):
    """Returns requests per second; the load comes from all CPUs."""
    port = free_port()
    server = subprocess.Popen(
        start["prefix"] + ["redis-server", "--port", str(port), "--save", "",
                           "--appendonly", "no", "--io-threads", io_threads,
                           "--io-threads-do-reads", "yes"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_port(port, server)
        done = subprocess.run(
            ["redis-benchmark", "-p", str(port), "-t", "set,get", "-n",
             "40000", "-c", "50", "-P", "4", "-q", "--csv"],
            capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            raise RuntimeError(f"redis-benchmark: {done.stderr[-300:]}")
    finally:
        server.terminate()
        try:
            _, stderr = server.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()
            raise
    rates = re.findall(r'^"(?:SET|GET)","([0-9.]+)"', done.stdout, re.M)
    if len(rates) != 2:
        raise RuntimeError(f"redis-benchmark printed {done.stdout[-300:]}")
    return {"requests": statistics.harmonic_mean(map(float, rates))} | \
        longest_wait(stderr)


def measure(options, kind, nr_cpus, command):
    start = {"prefix": prefix(options, kind, nr_cpus), "build": options.build}
    if isinstance(command, str):
        return run_redis(start, command.split()[1])
    return run_program(start, command)


def collect(options, nr_cpus, name, command):
    """{figure: {"native": [...], "weft": [...]}}, number of failures."""
    samples, nr_failures = {}, 0
    for _ in range(options.runs):
        for kind in ("native", "weft"):
            try:
                result = measure(options, kind, nr_cpus, command)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                nr_failures += 1
                print(f"failed: {name}, {kind}: {error}", file=sys.stderr)
                continue
            for figure, value in result.items():
                both = samples.setdefault(figure, {"native": [], "weft": []})
                both[kind].append(value)
    return samples, nr_failures


def line(name, nr_cpus, figure, both, bound):
    cells = f"{name:<20}{nr_cpus:>3}  {figure:<16}"
    if figure == "wait_ms":
        weft = max(both["weft"])
        met = "met" if weft <= WAIT_LIMIT_MS else "MISSED"
        return (f"{cells}{'':>12}{weft:>12.2f}{'':>9}  "
                f"<= {WAIT_LIMIT_MS}, all runs: {met}")
    if not both["native"] or not both["weft"]:
        return f"{cells}{'-':>12}{'-':>12}{'-':>9}"
    native, weft = (statistics.median(both[kind])
                    for kind in ("native", "weft"))
    ratio = weft / native if native else float("inf")
    cells += f"{native:>12.2f}{weft:>12.2f}{ratio:>9.2f}"
    if bound is None:
        return cells
    return f"{cells}  {bound}: " \
        f"{'met' if bound.is_met(native, weft) else 'MISSED'}"


def is_possible(options, command):
    if isinstance(command, str):
        missing = [tool for tool in ("redis-server", "redis-benchmark")
                   if not shutil.which(tool)]
    else:
        path = options.build / "bench/fair" / command[0]
        missing = [] if path.exists() else [command[0]]
    if missing:
        print(f"skipped: no {' and no '.join(missing)}", file=sys.stderr)
    return not missing


def main(argv):
    options = parse(argv)
    nr_allowed = len(os.sched_getaffinity(0))
    results, nr_failures = {}, 0
    print(f"{'':<20}{'VPs':>3}  {'':<16}{'native':>12}{'weft':>12}"
          f"{'ratio':>9}  asked")
    for nr_cpus in options.vps or (1, 2):
        if nr_cpus > nr_allowed:
            print(f"skipped: {nr_cpus} VPs on {nr_allowed} CPU",
                  file=sys.stderr)
            continue
        for name, command, bounds in ROWS:
            if options.only and not any(o in name for o in options.only):
                continue
            if not is_possible(options, command):
                continue
            samples, failed = collect(options, nr_cpus, name, command)
            nr_failures += failed
            for figure in [*bounds, "wait_ms"]:
                if figure in samples:
                    print(line(name, nr_cpus, figure, samples[figure],
                               bounds.get(figure)), flush=True)
            results[f"{name}, {nr_cpus} VPs"] = samples
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "machine": {"cpus": os.cpu_count(), "kernel": platform.release(),
                    "libc": " ".join(platform.libc_ver())},
        "samples": results,
    }, indent=1) + "\n")
    return 1 if nr_failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
