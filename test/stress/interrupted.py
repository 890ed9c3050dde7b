#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Interrupts programs at a high rate and checks that it happened. The programs
are threads that hold values in all registers, and sections of code that are
single-stepped.

usage: test/stress/interrupted.py [OPTIONS] {registers,step}"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import runner  # noqa: E402

PREEMPTION_SIGNAL = 33
FAST = ["--preempt-every", "10us"]
LIMIT_S = 900
# On an idle machine there are thousands; a busy one must reach this number.
MIN_PREEMPTIONS = 300
MOST_RUNS = 10
PREEMPTIONS = re.compile(rb"preemptions: (\d+)")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--positions", type=int, default=1000, metavar="N",
                        help="interrupt each section in about N places")
    parser.add_argument("--vps", type=int, action="append",
                        help="instead of 1, 2 and 4; may be repeated")
    parser.add_argument("what", choices=["registers", "step"])
    return parser.parse_args(argv)


def weft(options, *arguments):
    return [options.build / "weft", "run", "--stats", *arguments, "--"]


def preemptions(result):
    found = PREEMPTIONS.search(result.stderr)
    return int(found[1]) if found else 0


def judge(name, result, min_preemptions):
    """Prints the result. Returns 0 if the program succeeded and was preempted
    often enough."""
    number = preemptions(result)
    outcome = result.outcome()
    if outcome == "ok" and number < min_preemptions:
        outcome = "too few"
    print(f"{name}: {outcome}, {number} preemptions, {result.seconds:.1f} s")
    if outcome == "skip":
        print(runner.text(result.stdout))
        sys.exit(runner.SKIP_STATUS)
    if outcome == "ok":
        return 0
    print(runner.text(result.stdout + result.stderr, 30))
    runner.print_trace(result)
    return 1


def judge_all(name, run):
    """Runs until there were enough preemptions: on a busy machine the monitor
    achieves few in one run."""
    number = 0
    for _ in range(MOST_RUNS):
        result = run()
        number += preemptions(result)
        if judge(name, result, 0):
            return 1
        if number >= MIN_PREEMPTIONS:
            return 0
    print(f"{name}: too few in {MOST_RUNS} runs, {number} preemptions")
    return 1


def registers(options):
    program = options.build / "test/stress/stress_registers"
    failed = judge("natively", runner.run([program], LIMIT_S), 0)
    for vps in options.vps or [1, 2, 4]:
        prefix = weft(options, "--vps", str(vps), "--preempt-every", "100us")
        failed |= judge_all(f"{vps} VPs",
                            lambda: runner.run(prefix + [program], LIMIT_S))
    return failed


def step(options):
    folder = options.build / "test/stress"
    program = folder / "step_program"
    failed = judge("natively", runner.run([folder / "step", program],
                                          LIMIT_S), 0)
    tracer = [folder / "step", "-s", PREEMPTION_SIGNAL,
              "-n", options.positions]
    for vps in options.vps or [1, 2, 4]:
        prefix = weft(options, "--vps", str(vps), *FAST)
        failed |= judge(f"{vps} VPs",
                        runner.run(tracer + prefix + [program], LIMIT_S),
                        MIN_PREEMPTIONS // 10)
    return failed


KINDS = {"registers": registers, "step": step}


def main(argv):
    options = parse(argv)
    failed = 0
    for _ in range(options.repeat):
        failed |= KINDS[options.what](options)
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
