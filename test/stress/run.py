#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repeats the stress programs and the real programs on weft, with 1, 2 and 4
VPs, with and without a high rate of preemption. It ends after a time or a
number of rounds; one round is every program in every configuration once.

usage: test/stress/run.py [OPTIONS] [TIME|ROUNDS]

TIME is a number with s, m or h: 90s, 10m, 2h. Default: 1 round.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import apps  # noqa: E402
import runner  # noqa: E402

LIMIT_S = 90
WATCHED_S = 10
FAST = "100us"
UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclasses.dataclass
class Stress:
    """A stress program; each run gets its own seed."""
    name: str
    path: pathlib.Path
    scale: int
    seed: int | None
    last: str = ""

    def missing(self):
        return None if self.path.is_file() else f"there is no {self.path}"

    def run(self, prefix):
        seed = random.getrandbits(48) if self.seed is None else self.seed
        self.last = f"seed {seed}"
        return runner.run(prefix + [self.path, seed, self.scale], LIMIT_S)

    def problem(self, result):
        if result.outcome() == "ok" and result.stdout.endswith(b"held\n"):
            return None
        return result.outcome()


@dataclasses.dataclass
class App:
    """A real program, compared with one native run."""
    app: object
    native: object = None
    last: str = ""

    @property
    def name(self):
        return self.app.name

    def missing(self):
        return self.app.missing()

    def run(self, prefix):
        if self.native is None:
            self.native = self.app.run([])
        return self.app.run(prefix)

    def problem(self, result):
        return apps.difference(self.native, result)


@dataclasses.dataclass
class Watched:
    """A program that makes, locks and ends threads, and is watched from
    outside: no row and no frame is impossible."""
    name: str
    build: pathlib.Path
    seconds: float
    last: str = ""

    def missing(self):
        program = self.build / "test/see/see_storm"
        return None if program.is_file() else f"there is no {program}"

    def run(self, prefix):
        return runner.run(
            ["env", f"WEFT_BUILD_DIR={self.build.resolve()}", sys.executable,
             HERE.parent / "see/storm.py", str(self.seconds), *prefix[2:-1]],
            self.seconds + LIMIT_S)

    def problem(self, result):
        self.last = result.stdout.decode(errors="replace").split("\n")[0]
        if result.outcome() == "ok" and result.stdout.endswith(b"held\n"):
            return None
        return result.outcome()


@dataclasses.dataclass
class Count:
    runs: int = 0
    hangs: int = 0
    failures: int = 0
    seconds: float = 0


def parse_amount(text):
    """(seconds, None) or (None, rounds)."""
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"neither time nor count: {text}")
    number, unit = match.groups()
    return (int(number) * UNITS[unit], None) if unit else (None, int(number))


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--programs", action="store_true",
                        help="only the stress programs, not the real ones")
    parser.add_argument("--vps", type=int, action="append",
                        help="instead of 1, 2 and 4; may be repeated")
    parser.add_argument("--preempt", choices=["both", "normal", "fast"],
                        default="both")
    parser.add_argument("--scale", type=int, default=100, metavar="PERCENT")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--stop", action="store_true",
                        help="end at the first failure")
    parser.add_argument("--json", metavar="FILE",
                        help="default: stress.json in the build folder")
    parser.add_argument("amount", nargs="?", type=parse_amount,
                        default=(None, 1), metavar="TIME|ROUNDS")
    return parser.parse_args(argv)


def find_jobs(options):
    built = sorted(path for path in
                   (options.build / "test/stress").glob("stress_*")
                   if path.is_file())
    jobs = [Stress(path.name.removeprefix("stress_"), path, options.scale,
                   options.seed) for path in built]
    jobs.append(Watched("see_storm", options.build,
                        WATCHED_S * options.scale / 100))
    if not options.programs:
        jobs += [App(app) for app in apps.all_apps(options.build, long=True)]
    if options.only:
        jobs = [job for job in jobs if job.name in options.only]
    for job in jobs:
        if job.missing():
            print(f"skip {job.name}: {job.missing()}")
    return [job for job in jobs if not job.missing()]


def configurations(options):
    for vps in options.vps or [1, 2, 4]:
        if options.preempt != "fast":
            yield f"{vps} vps", ["--vps", str(vps)]
        if options.preempt != "normal":
            yield (f"{vps} vps, {FAST}",
                   ["--vps", str(vps), "--preempt-every", FAST])


def run_one(job, arguments, weft, count):
    """Returns whether the run succeeded."""
    result = job.run(weft + arguments + ["--"])
    problem = job.problem(result)
    count.runs += 1
    count.seconds += result.seconds
    if not problem:
        return True
    if result.status is None:
        count.hangs += 1
    else:
        count.failures += 1
    print(f"FAIL {job.name} {' '.join(arguments)} {job.last}: {problem} "
          f"after {result.seconds:.1f} s")
    print(runner.text(result.stdout[-2000:] + result.stderr))
    runner.print_trace(result)
    sys.stdout.flush()
    return False


def repeat(jobs, options, counts):
    seconds, rounds = options.amount
    weft = [str(options.build.resolve() / "weft"), "run"]
    end = time.monotonic() + seconds if seconds else None
    nr = 0
    while end or nr < rounds:
        for name, arguments in configurations(options):
            for job in jobs:
                if end and time.monotonic() > end:
                    return
                count = counts.setdefault((job.name, name), Count())
                if not run_one(job, arguments, weft, count) and options.stop:
                    return
        nr += 1
        if end or rounds > 1:
            bad = sum(c.hangs + c.failures for c in counts.values())
            print(f"round {nr}: {bad} bad of "
                  f"{sum(c.runs for c in counts.values())} runs", flush=True)


def table(counts):
    lines = [f"{'program':<20}{'configuration':<16}{'runs':>6}{'hangs':>7}"
             f"{'failures':>10}{'s each':>9}"]
    for (program, configuration), c in sorted(counts.items()):
        lines.append(f"{program:<20}{configuration:<16}{c.runs:>6}"
                     f"{c.hangs:>7}{c.failures:>10}"
                     f"{c.seconds / c.runs:>9.2f}")
    return "\n".join(lines)


def main(argv):
    options = parse(argv)
    jobs = find_jobs(options)
    if not jobs:
        sys.exit("nothing to run; build first")
    runner.require_weft(options)
    counts, start = {}, time.monotonic()
    try:
        repeat(jobs, options, counts)
    except KeyboardInterrupt:
        print("interrupted")
    print(table(counts))
    if options.json != "":
        path = options.json or options.build / "stress.json"
        pathlib.Path(path).write_text(json.dumps(
            [{"program": program, "configuration": configuration,
              **dataclasses.asdict(count)}
             for (program, configuration), count in sorted(counts.items())],
            indent=1) + "\n")
    bad = sum(c.hangs + c.failures for c in counts.values())
    good = sum(c.runs for c in counts.values()) - bad
    print(f"{good} passed, {bad} failed, 0 skipped in "
          f"{time.monotonic() - start:.1f}s")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
