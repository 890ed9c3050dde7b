#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program natively and on weft, in several ways, and compares what it
prints and how it ends.

usage: test/regress/run.py [--build BUILD] [--repeat N] PROGRAM...
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import runner  # noqa: E402

LIMIT_S = 30
MODES = (
    [],
    ["--vps", "1"],
    ["--vps", "4"],
    ["--vps", "1", "--preempt-every", "100us"],
    ["--vps", "4", "--preempt-every", "100us"],
    ["--bound", "regress_"],
)
# For tests of threads that are only preempted if an option asks for it. Modes
# with this option are left out.
LEFT_OUT = {"regress_interrupted_calls": "--preempt-every",
            "regress_interrupted_in_queue": "--bound"}
# Guarantees of weft only, for example fair mutexes, with the line of output
# that shows them.
WEFTS_OWN = {"regress_interrupted_in_queue": b"it had its turns\n",
             "regress_bound_waits_beside_setgid": b"no call has ended early\n"}
# Further modes that some tests need.
MORE = {"regress_ids_while_ending": (["--vps", "4", "--io", "process"],),
        "regress_others_close": (["--io", "workers"],),
        "regress_copies_close": (["--io", "workers"],),
        "regress_wait_of_closed": (["--io", "workers"],
                                   ["--io", "process"]),
        "regress_rest_to_same_file": (["--vps", "2"],
                                      ["--vps", "2", "--io", "workers"])}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    return parser.parse_args(argv)


def complain(name, result, expected):
    print(f"FAIL {name}: {result.outcome()} after {result.seconds:.1f} s")
    print(runner.text(result.stdout + result.stderr))
    if expected is not None and result.stdout != expected:
        print("  natively:")
        print(runner.text(expected))
    runner.print_trace(result)


def failures(program, build):
    expected = WEFTS_OWN.get(program.name)
    if expected is None:
        native = runner.run([program], LIMIT_S)
        if native.outcome() == "skip":
            print(f"skipped {program.name}: {native.stdout.decode().strip()}")
            return 0
        if native.outcome() != "ok" or not native.stdout:
            complain(f"{program.name} natively", native, None)
            return 1
        expected = native.stdout
    failed = 0
    for mode in (*MODES, *MORE.get(program.name, ())):
        if LEFT_OUT.get(program.name) in mode:
            continue
        command = [build / "weft", "run", *mode, "--", program]
        result = runner.run(command, LIMIT_S)
        if result.outcome() != "ok" or result.stdout != expected:
            name = " ".join([program.name, *mode])
            complain(name, result, expected)
            failed += 1
    return failed


def main(argv):
    options = parse(argv)
    failed = 0
    for program in options.programs * options.repeat:
        failed += failures(program.resolve(), options.build)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
