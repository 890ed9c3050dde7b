#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a Promela model in all its states, and that the model can fail.

usage: run.py MODEL.pml...

The model must hold as it stands, and with each `#ifdef VARIANT_name` in it: no
assertion fails and no state is stuck; as it stands, every statement is
reached. With each `#ifdef BUG_name` it must fail. Exit status 77 if spin or a
C compiler is missing.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMPILER = ["gcc", "-w", "-DSAFETY", "-DMEMLIM=2048", "-DNOBOUNDCHECK"]
# With fewer states the optimizing compiler takes longer than it saves.
FEW_STATES = 300000
DEPTH = 3000000
SKIPPED = 77

DEFINE = re.compile(r"^\s*#\s*(?:el)?if.*?\b((?:BUG|VARIANT)_\w+)", re.M)
ERRORS = re.compile(r"errors: (\d+)")
STATES = re.compile(r"^\s*([0-9.e+]+) states, stored", re.M)
UNREACHED = re.compile(r'^\s+(\S+:\d+), state \d+, "(.*)"$', re.M)
FAILURE = re.compile(r"^pan:\d+: (.*?)(?: \(at depth \d+\))?$", re.M)


INCOMPLETE = ("max search depth too small", "MEMLIM", "out of memory")


def verify(model, define, is_small):
    """Runs the model with a define, if any; (output, seconds)."""
    defines = [f"-D{define}"] if define else []
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(model, folder)
        for command in (["spin", "-a", *defines, model.name],
                        [*COMPILER, "-O0" if is_small else "-O1",
                         "-o", "pan", "pan.c"],
                        ["./pan", f"-m{DEPTH}"]):
            done = subprocess.run(command, cwd=folder, text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode != 0 and command[0] != "./pan":
                return f"{' '.join(command)}:\n{done.stdout}", 0
    return done.stdout, time.monotonic() - begin


def judge(output, define):
    """Returns (the error or None, a line that says what was found)."""
    bug = define is not None and define.startswith("BUG_")
    errors = ERRORS.search(output)
    states = STATES.search(output)
    if errors is None or states is None:
        return "spin did not finish", output
    failure = FAILURE.search(output)
    summary = f"{int(float(states[1])):,} states"
    if failure:
        summary += f", {failure[1]}"
    if int(errors[1]) > 0:
        return None if bug else "the model fails", summary
    if any(sign in output for sign in INCOMPLETE):
        return "the search is not complete", summary
    if bug:
        return "the model does not find this bug", summary
    unreached = define is None and [f"{place} {statement}"
                 for place, statement in UNREACHED.findall(output)
                 if statement != "-end-"]
    if unreached:
        return "never reached: " + "; ".join(unreached), summary
    return None, summary


def verify_all(model, pool):
    """Yields (define, output, seconds) of the model as it stands, then with
    each define."""
    output, seconds = verify(model, None, False)
    yield None, output, seconds
    states = STATES.search(output)
    is_small = states is not None and float(states[1]) < FEW_STATES
    defines = sorted(set(DEFINE.findall(model.read_text())))
    results = pool.map(lambda define: verify(model, define, is_small), defines)
    for define, (output, seconds) in zip(defines, results):
        yield define, output, seconds


def main(argv):
    if not shutil.which("spin") or not shutil.which(COMPILER[0]):
        print("spin or gcc is missing")
        return SKIPPED
    nr_wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for model in map(pathlib.Path, argv[1:]):
            for define, output, seconds in verify_all(model, pool):
                wrong, summary = judge(output, define)
                verdict = f"WRONG: {wrong}; " if wrong else ""
                name = model.stem + (f" with {define}" if define else "")
                print(f"{name}: {verdict}{summary} [{seconds:.1f} s]",
                      flush=True)
                nr_wrong += wrong is not None
    return 1 if nr_wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
