#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a suite of benchmarks: a folder below this folder that has a run.py.

usage: ./dev bench [SUITE] [ARGS]     SUITE is micro if not told otherwise

The suite papers runs all suites papers/NAME and makes one page of them.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def suites():
    """Returns {name: script}."""
    return {str(script.parent.relative_to(HERE)): script
            for script in sorted(HERE.glob("*/**/run.py"),
                                 key=lambda script: script.parent)}


def main(argv):
    found = suites()
    if argv and argv[0] in ("-h", "--help"):
        print(f"{__doc__.strip()}\n\nsuites: {', '.join(found)}\n"
              "./dev bench SUITE --help tells what each one's ARGS are.")
        return 0
    name, args = (argv[0], argv[1:]) if argv and argv[0] in found else \
        ("micro", argv)
    os.execv(sys.executable, [sys.executable, str(found[name]), *args])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
