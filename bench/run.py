#!/usr/bin/env python3
"""Runs the micro benchmarks natively and on weft in turn, so that both meet
the same weather, and prints the median of each and how many times faster
weft is. Writes all samples to a JSON file.

usage: bench/run.py [--runs N] [--vps N] [--only NAME] [--scale PERCENT]
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_S = 120


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--vps", type=int)
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--scale", type=int, default=100,
                        help="operations per run, in percent")
    parser.add_argument("--json", type=pathlib.Path,
                        default=ROOT / "bench/results.json")
    return parser.parse_args(argv)


def programs(build, only):
    found = [p for p in sorted((build / "bench/micro").glob("bench_*"))
             if p.is_file() and os.access(p, os.X_OK)]
    return [p for p in found if not only or only in p.name]


def measure(command):
    """{name: ns per operation} of one run; None in place of the dictionary
    if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    return {name: float(ns) for name, ns in
            (line.split() for line in done.stdout.splitlines())}


def collect(program, options):
    """{name: {"native": [ns...], "weft": [ns...]}}, number of failures."""
    weft = [str(options.build / "weft"), "run"]
    if options.vps:
        weft += ["--vps", str(options.vps)]
    call = [str(program), str(options.scale)]
    commands = {"native": call, "weft": weft + ["--"] + call}
    samples, nr_failures = {}, 0
    for _ in range(options.runs):
        for kind, command in commands.items():
            result = measure(command)
            if result is None:
                nr_failures += 1
                print(f"failed: {' '.join(command)}", file=sys.stderr)
                continue
            for name, ns in result.items():
                both = samples.setdefault(name, {"native": [], "weft": []})
                both[kind].append(ns)
    return samples, nr_failures


def row(name, both):
    medians = {kind: statistics.median(both[kind]) if both[kind] else None
               for kind in ("native", "weft")}
    cells = "".join(f"{'-' if ns is None else format(ns, '.1f'):>12}"
                    for ns in medians.values())
    ratio = ""
    if None not in medians.values() and medians["weft"] > 0:
        ratio = f"{medians['native'] / medians['weft']:.2f}"
    return f"{name:<26}{cells}{ratio:>10}"


def main(argv):
    options = parse(argv)
    found = programs(options.build, options.only)
    if not found:
        print("no benchmark is built; run ./dev bench", file=sys.stderr)
        return 1
    print(f"{'ns per operation':<26}{'native':>12}{'weft':>12}{'ratio':>10}")
    results, nr_failures = {}, 0
    for program in found:
        samples, failed = collect(program, options)
        nr_failures += failed
        for name, both in samples.items():
            print(row(name, both), flush=True)
        results.update(samples)
    options.json.write_text(json.dumps({
        "machine": {"cpus": os.cpu_count(), "kernel": platform.release(),
                    "libc": " ".join(platform.libc_ver())},
        "vps": options.vps,
        "ns_per_op": results,
    }, indent=1) + "\n")
    return 1 if nr_failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
