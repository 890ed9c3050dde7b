# SPDX-License-Identifier: MIT
"""Runs commands and collects the figures that they print.

A command prints lines "NAME FIGURE". If it cannot do its task it prints
"impossible: WHY" and exits with status 77.
"""

import dataclasses
import os
import resource
import select
import statistics
import subprocess
import time

from bench.lib.sides import environment

LIMIT_S = 180
IMPOSSIBLE = 77


@dataclasses.dataclass
class Result:
    figures: dict = dataclasses.field(default_factory=dict)
    impossible: str = ""
    error: str = ""
    stderr: str = ""


def parse(text):
    """Returns {name: figure}; raises ValueError."""
    figures = {}
    for line in text.splitlines():
        name, figure = line.split()
        figures[name] = float(figure)
    if not figures:
        raise ValueError("no figure")
    return figures


def allow_descriptors(nr):
    """Lets the process have `nr` descriptors and some more, if the hard limit
    allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = nr + 1024
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def run(command, limit_s=LIMIT_S, env=None):
    """Runs a command once and returns a Result."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=limit_s, env=env or environment(),
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Result(error=f"no end after {limit_s} s")
    except OSError as error:
        return Result(error=str(error))
    if done.returncode == IMPOSSIBLE:
        why = done.stdout.strip().splitlines()[-1:] or [""]
        return Result(impossible=why[0].removeprefix("impossible: "))
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        return Result(error=f"status {done.returncode} {last[0]}".strip())
    try:
        return Result(figures=parse(done.stdout), stderr=done.stderr)
    except ValueError:
        return Result(error=f"unexpected output {done.stdout[:80]!r}")


def has_ended(process, limit_s):
    """Waits for the process. Popen.wait with a limit would check after 0.5 ms,
    1.5, 3.5 and so on, and not between."""
    descriptor = os.pidfd_open(process.pid)
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        return bool(waiting.poll(limit_s * 1000))
    finally:
        os.close(descriptor)


def timed(name, command, times, limit_s=LIMIT_S):
    """Returns the median of several runs of a command, in ms, as the figure
    `name`."""
    figures = []
    for _ in range(times):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   env=environment())
        if not has_ended(process, limit_s):
            process.kill()
            process.wait()
            return Result(error=f"no end after {limit_s} s")
        status = process.wait()
        if status != 0:
            return Result(error=f"status {status}")
        figures.append((time.monotonic() - start) * 1e3)
    return Result(figures={name: statistics.median(figures)})


def in_turn(runners, runs, discard=0):
    """Calls each side's runner in turn, `runs` times, so that all sides run
    under the same conditions. runners: {side: function that returns a Result}.
    Returns ({side: {name: [figure...]}}, {side: why impossible}, {side:
    error}). A side that failed once is not run again."""
    samples = {side: {} for side in runners}
    impossible, errors = {}, {}
    for nr in range(discard + runs):
        for side, runner in runners.items():
            if side in impossible or side in errors:
                continue
            result = runner()
            if result.impossible:
                impossible[side] = result.impossible
            elif result.error:
                errors[side] = result.error
            elif nr >= discard:
                for name, figure in result.figures.items():
                    samples[side].setdefault(name, []).append(figure)
    return samples, impossible, errors
