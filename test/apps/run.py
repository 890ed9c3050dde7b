#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real programs natively once and then on weft, and compares what they
print and how they end. A program that does not end is a hang, and its threads'
backtraces are kept.

usage: test/apps/run.py [--only NAME]... [--vps N] [--preempt-every TIME]
                        [--repeat N] [--quick] [--save] [--list]
"""

import argparse
import dataclasses
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import apps  # noqa: E402
import runner  # noqa: E402
import tried  # noqa: E402


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    runner.add_weft_arguments(parser)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--quick", action="store_true",
                        help="one short run on weft of each instead of three")
    parser.add_argument("--save", action="store_true",
                        help="keep the results in test/tried.json")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(argv)


def check(app, options, tally):
    reason = app.missing()
    if reason:
        tally.skipped += 1
        print(f"skip {app.name}: {reason}")
        return
    native = app.run([])
    repeat = options.repeat or (1 if options.quick else 3)
    for _ in range(repeat):
        counters = tried.Counters()
        result = app.run(runner.weft_prefix(options, counters.options()))
        problem = apps.difference(native, result)
        if options.save and native.outcome() == "ok":
            tried.save(app.name, result=problem or tried.AS_NATIVELY,
                       package=tried.package(apps.program_of(app)),
                       threads=counters.threads())
        if not problem:
            tally.passed += 1
            print(f"ok {app.name}: native {native.seconds:.2f} s, "
                  f"weft {result.seconds:.2f} s", flush=True)
            continue
        tally.failed += 1
        print(f"FAIL {app.name}: {problem}")
        shown = result if native.outcome() == "ok" else native
        print(runner.text(shown.stdout[-2000:] + shown.stderr), flush=True)
        runner.print_trace(shown)


def main(argv):
    options = parse(argv)
    known = apps.all_apps(options.build, long=not options.quick)
    if options.list:
        print("\n".join(app.name for app in known))
        return 0
    unknown = set(options.only or []) - {app.name for app in known}
    if unknown:
        sys.exit(f"no such program: {' '.join(sorted(unknown))}")
    runner.require_weft(options)
    tally, start = Tally(), time.monotonic()
    for app in known:
        if not options.only or app.name in options.only:
            check(app, options, tally)
    print(f"{tally} in {time.monotonic() - start:.1f}s")
    if tally.failed:
        return 1
    return 0 if tally.passed else runner.SKIP_STATUS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
