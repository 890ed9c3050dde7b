#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the system's Python with 2000 threads, natively and on weft, compares
the outputs, and shows both times.

usage: demo.py BUILD_DIR
"""

import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
PROGRAM = ["/usr/bin/python3", str(ROOT / "test/apps/threads2000.py")]
RUNS = 3
LIMIT_S = 120


def run(command):
    """Runs the program once. Returns (seconds, output); raises RuntimeError if
    it failed."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no end after {LIMIT_S} s: {' '.join(command)}")
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {' '.join(command)}\n"
                           f"{done.stdout}{done.stderr}")
    return seconds, done.stdout


def table(native_s, weft_s):
    rows = [("native threads", native_s, ""),
            ("on weft", weft_s, f"{native_s / weft_s:.1f} times faster")]
    return "\n".join(f"  {name:<16}{seconds:>7.2f} s   {note}".rstrip()
                     for name, seconds, note in rows)


def main(argv):
    weft = [str(pathlib.Path(argv[1]).resolve() / "weft"), "run", "--"]
    print(f"{PROGRAM[0]} with 2000 threads, median of {RUNS} runs:",
          flush=True)
    native_times, weft_times = [], []
    try:
        for _ in range(RUNS):
            seconds, expected = run(PROGRAM)
            native_times.append(seconds)
            seconds, output = run(weft + PROGRAM)
            weft_times.append(seconds)
            if output != expected:
                raise RuntimeError("the outputs differ:\n--- native\n"
                                   f"{expected}--- weft\n{output}")
    except RuntimeError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(table(statistics.median(native_times),
                statistics.median(weft_times)))
    print(f"  same output in all {2 * RUNS} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
