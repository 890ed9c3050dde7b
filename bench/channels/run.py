#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two processes send 8 bytes to and fro: over channels, pipes, Unix sockets,
message queues, futexes and real-time signals; and, as the lower bound, a cache
line that goes between two spinning cores.

Each process runs on a CPU of its own, then both on one. Prints the median
one-way latency, how many times that of the channel it is, and the CPU time of
both processes for each message.
"""

import argparse
import functools
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

WAYS = ("bare", "channel", "channel on weft", "pipe", "unix", "mqueue",
        "futex", "signal")
# {(way, placement): the least factor by which it is slower than a channel}
FASTER_THAN = {("pipe", "apart"): 50, ("futex", "together"): 1.5}
BARE_AT_MOST = 1.7
LIMIT_S = 60


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench channels",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--messages", type=int, default=20000,
                        help="of each run, there and back (20000)")
    parser.add_argument("--cpu", action="store_true",
                        help="ratios of CPU time where both are on one CPU: "
                        "on a machine in use")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/channels.json")
    return parser.parse_args(argv)


def places():
    """Returns {name: the two CPUs}."""
    cpus = sorted(os.sched_getaffinity(0))
    found = {"together": (cpus[-1], cpus[-1])}
    return {"apart": (cpus[-2], cpus[-1]), **found} if len(cpus) > 1 else found


def runner(way, cpus, options):
    name, _, on_weft = way.partition(" on ")
    program = options.build / "bench/channels/bench_channels"
    command = [program, name, *cpus, options.messages]
    if on_weft:
        command = [options.build / "weft", "run", "--vps", "1", "--", *command]
    return functools.partial(measure.run, [str(word) for word in command],
                             limit_s=LIMIT_S)


def checks(medians, place, figure):
    """{text: met} of the targets that could be measured."""
    found = {}
    channel = medians.get("channel")
    if channel is None:
        return found
    for (way, where), times in FASTER_THAN.items():
        if where == place and way in medians:
            found[f"{place}: channel {times:g} times faster than {way}"] = \
                medians[way][figure] >= times * channel[figure]
    if "bare" in medians:
        found[f"{place}: channel at most {BARE_AT_MOST:g} times bare"] = \
            channel[figure] <= BARE_AT_MOST * medians["bare"][figure]
    return found


def show(place, medians, impossible, errors, figure):
    print(f"\n{place:<20}{'one way, ns':>12}{'x channel':>11}{'CPU, ns':>10}")
    channel = medians.get("channel", {}).get(figure)
    for way in WAYS:
        if way in medians:
            median = medians[way]
            ratio = median[figure] / channel if channel else None
            print(f"{way:<20}{report.number(median['one_way_ns']):>12}"
                  f"{report.number(ratio):>11}"
                  f"{report.number(median['cpu_ns']):>10}")
        else:
            print(f"{way:<20}  {errors.get(way) or impossible.get(way)}")


def main(argv):
    options = parse(argv)
    results, targets, failed = {}, {}, False
    for place, cpus in places().items():
        samples, impossible, errors = measure.in_turn(
            {way: runner(way, cpus, options) for way in WAYS}, options.runs)
        medians = {way: {name: statistics.median(figures)
                         for name, figures in found.items()}
                   for way, found in samples.items() if found}
        figure = "cpu_ns" if options.cpu and place == "together" \
            else "one_way_ns"
        show(place, medians, impossible, errors, figure)
        targets |= checks(medians, place, figure)
        results[place] = {"samples": samples, "medians": medians,
                          "impossible": impossible, "errors": errors}
        failed = failed or bool(errors)
    print()
    for text, met in targets.items():
        print(f"{text}: {'yes' if met else 'NO'}")
    report.write_json(options.json, {
        "suite": "channels", "machine": lib_sides.machine(),
        "runs": options.runs, "messages": options.messages,
        "clock": "cpu" if options.cpu else "real", "targets": targets,
        "places": results}, [])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
