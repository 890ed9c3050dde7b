#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Power against latency: how long threads wait for a word to change, and how
much CPU time that costs, with 0 to n polling agents.

Another process changes a word every so often, and threads pass it on by wait
words and answer; or threads pass a token around a ring without a pause. With 0
agents a virtual processor (VP) that has nothing to run sleeps at once. The last
column, adaptive, is weft's own choice.
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

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

THREADS = 5
# The pauses between two changes of the word, from often to hardly ever.
PAUSES_US = (15, 100, 1000, 10000, 200000)
# Short cases have this many times the runs: a hand-over between CPUs takes 100
# or 150 ns, and which one differs between processes.
MORE_IF_SHORT, SHORT_US = 5, 1000
RING = f"a ring of {THREADS} threads"
ADAPTIVE = "adaptive"
# Limits for adaptive: how many times as slow as one agent when words change
# often, and the extra CPU seconds over no agent when they hardly ever change.
ADAPTIVE_SLOWER, ADAPTIVE_CPU = 1.1, 0.01


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers/power",
                                     description=__doc__.split("\n\n")[0])
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("--vps", type=int, nargs="+",
                        default=sorted({cpus, 2 * cpus}),
                        help="numbers of VPs: as many as CPUs and twice as "
                        "many if none is given")
    parser.add_argument("--pauses", type=int, nargs="+", default=PAUSES_US,
                        metavar="US", help="between two changes of the word "
                        f"({' '.join(map(str, PAUSES_US))})")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=50,
                        help="length of a run in percent of 2000 words, or of "
                        "0.2 s in the ring (50)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/power.json")
    return parser.parse_args(argv)


def word_case(pause_us):
    return f"a word every {pause_us} us"


def cases(options):
    """Returns {case: (command, factor for the number of runs)}."""
    folder = options.build / "bench/papers"
    found = {RING: ([folder / "ring/bench_ring_paper", options.scale, THREADS,
                     "word"], 1)}
    for pause_us in options.pauses:
        found[word_case(pause_us)] = (
            [folder / "power/bench_outside", options.scale, THREADS, pause_us],
            MORE_IF_SHORT if pause_us < SHORT_US else 1)
    return found


def policies(vps):
    """Returns {number of agents that poll, or adaptive: options of weft}."""
    found = {"0": ["--wait", "park"]}
    for nr in range(1, vps + 1):
        found[str(nr)] = ["--wait", "poll", "--agents", str(nr)]
    return {**found, ADAPTIVE: []}


def measured(sides, options, vps, case):
    """Runs all policies, and prints a line for each. Returns {policy:
    {"medians", "samples"} or {"error"}}."""
    command, times = cases(options)[case]
    # The words before the options.
    front = sides.command("weft", vps, [])[:-1]
    runners = {name: functools.partial(
        measure.run, [*front, *args, "--", *map(str, command)])
        for name, args in policies(vps).items()}
    samples, impossible, errors = measure.in_turn(runners,
                                                  options.runs * times)
    errors = {**impossible, **errors}
    print(f"\n{case}, {vps} VP{'s' * (vps > 1)}\n"
          f"{'agents':<12}{'ns one way':>12}{'CPU s/s':>10}")
    rows = {}
    for name, got in samples.items():
        if name in errors:
            print(f"{name:<12}{'failed':>12}  {errors[name]}", flush=True)
            rows[name] = {"error": errors[name]}
            continue
        medians = {figure: statistics.median(each)
                   for figure, each in got.items()}
        print(f"{name:<12}{report.number(medians['latency']):>12}"
              f"{report.number(medians['cpu']):>10}", flush=True)
        rows[name] = {"medians": medians, "samples": got}
    return rows


def check(rows, pauses):
    """Checks the goals of adaptive, with as many VPs as CPUs."""
    def figure(pause_us, policy, name):
        return rows.get(word_case(pause_us), {}).get(policy, {}).get(
            "medians", {}).get(name)

    checks = {}
    ours, best = (figure(min(pauses), policy, "latency")
                  for policy in (ADAPTIVE, "1"))
    if ours and best:
        slower = ours / best
        checks["adaptive beside 1 agent, often"] = slower <= ADAPTIVE_SLOWER
        print(f"adaptive is {slower:.2f} times as slow as 1 agent when words "
              f"change often, at most {ADAPTIVE_SLOWER}: "
              f"{'yes' if slower <= ADAPTIVE_SLOWER else 'NO'}")
    ours, best = (figure(max(pauses), policy, "cpu")
                  for policy in (ADAPTIVE, "0"))
    if ours is not None and best is not None:
        more = ours - best
        checks["adaptive beside 0 agents, rarely"] = more <= ADAPTIVE_CPU
        print(f"adaptive uses {more:.4f} CPUs more than 0 agents when they "
              f"hardly ever do, at most {ADAPTIVE_CPU}: "
              f"{'yes' if more <= ADAPTIVE_CPU else 'NO'}")
    return checks


def main(argv):
    options = parse(argv)
    sides = lib_sides.Sides(options.build)
    tables = {vps: {case: measured(sides, options, vps, case)
                    for case in cases(options)} for vps in options.vps}
    print()
    checks = check(tables.get(len(os.sched_getaffinity(0)), {}),
                   options.pauses)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({
        "suite": "papers/power", "machine": lib_sides.machine(),
        "runs": options.runs, "scale": options.scale,
        "vps": {str(vps): table for vps, table in tables.items()},
        "targets": checks}, indent=1) + "\n")
    return 1 if any("error" in row for table in tables.values()
                    for rows in table.values() for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
