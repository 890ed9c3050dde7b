#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every case of the POSIX test programs in a process of its own, natively
and on weft, and compares how they end.

usage: test/posix/run.py [OPTIONS] [PROGRAM[:CASE]...]

PROGRAM is a path, or the name of a built program of test/posix; without any,
all are run.
"""

import argparse
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import runner  # noqa: E402

CASE_LIMIT_S = 20
LIST_LIMIT_S = 10


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    runner.add_weft_arguments(parser)
    parser.add_argument("--mode", choices=["native", "weft", "both"],
                        default="both")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM[:CASE]")
    return parser.parse_args(argv)


def built_programs(build):
    return sorted(p for p in (build / "test/posix").glob("posix_*")
                  if p.is_file())


def find(name, build):
    if pathlib.Path(name).is_file():
        return pathlib.Path(name).resolve()
    path = build / "test/posix" / f"posix_{name}"
    if not path.is_file():
        sys.exit(f"no such test program: {name}")
    return path


def cases_of(program):
    done = subprocess.run([program, "--list"], capture_output=True, text=True,
                          timeout=LIST_LIMIT_S, check=True)
    return done.stdout.split()


def selected(options):
    """Yields (program, case) for each case that is to run."""
    if not options.programs:
        for program in built_programs(options.build):
            yield from ((program, case) for case in cases_of(program))
    for argument in options.programs:
        name, _, case = argument.partition(":")
        program = find(name, options.build)
        for one in [case] if case else cases_of(program):
            yield program, one


def run_case(program, case, options):
    """Returns (verdict, {mode: result}). A case passes if it passes in each
    mode asked for. A case that natively fails or is skipped proves nothing."""
    results = {}
    modes = ["native", "weft"] if options.mode == "both" else [options.mode]
    for mode in modes:
        prefix = runner.weft_prefix(options) if mode == "weft" else []
        results[mode] = runner.run(prefix + [program, case], CASE_LIMIT_S)
        if results[mode].outcome() != "ok":
            break
    outcomes = {mode: result.outcome() for mode, result in results.items()}
    if outcomes.get("native") == "skip" or outcomes == {"weft": "skip"}:
        return "skipped", results
    good = list(outcomes.values()) == ["ok"] * len(modes)
    return ("passed" if good else "failed"), results


def report(program, case, results):
    for mode, result in results.items():
        if result.outcome() in ("ok", "skip"):
            continue
        print(f"FAIL {program.name}:{case}: {mode}: {result.outcome()} "
              f"after {result.seconds:.1f} s")
        shown = runner.text(result.stdout + result.stderr)
        if shown:
            print(shown)
        runner.print_trace(result)


def main(argv):
    options = parse(argv)
    if options.mode != "native":
        runner.require_weft(options)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    start = time.monotonic()
    for program, case in list(selected(options)) * options.repeat:
        verdict, results = run_case(program, case, options)
        counts[verdict] += 1
        report(program, case, results)
        if options.verbose and verdict != "failed":
            times = " ".join(f"{mode} {result.seconds:.2f} s"
                             for mode, result in results.items())
            print(f"{verdict} {program.name}:{case} {times}")
        sys.stdout.flush()
    print(", ".join(f"{number} {verdict}"
                    for verdict, number in counts.items()) +
          f" in {time.monotonic() - start:.1f}s")
    if counts["skipped"] and not counts["passed"] + counts["failed"]:
        # all skipped, as on a CPU without protection keys
        return runner.SKIP_STATUS
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
