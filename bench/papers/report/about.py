# SPDX-License-Identifier: MIT
"""The machine and the versions that a result was measured with, and what says
that the machine was too busy to trust it.
"""

import datetime
import hashlib
import os
import pathlib
import re
import resource
import statistics
import subprocess

from bench.lib import sides

# Above these limits a result is shown with a warning. If other programs use a
# tenth of the CPU time, medians shift by about a tenth.
BUSY_LOAD = 0.5                 # load average for each CPU, before the run
BUSY_OTHERS = 0.1               # of all CPU time during an experiment
WIDE_SPREAD = 0.25              # (high - low) / value, the median of all cells


def output_of(*command):
    """Returns the first line that the command prints, or ""."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=20, cwd=sides.ROOT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.strip().splitlines() or [""])[0] \
        if done.returncode == 0 else ""


def cpu_model():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:model name|uarch|cpu model)\s*:\s*(.+)$", text,
                      re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def compiler(build):
    """Returns the compiler with which the build folder was configured."""
    try:
        text = (build / "meson-logs/meson-log.txt").read_text(errors="replace")
    except OSError:
        return "unknown"
    found = re.search(r"^C compiler for the host machine: .*\"(.+)\"", text,
                      re.MULTILINE)
    return found.group(1) if found else "unknown"


def library(build):
    """Says whether two results were made by the same library."""
    path = build / "libweft.so"
    if not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def describe(build):
    machine = sides.machine()
    return {
        "cpu": cpu_model(), "cpus": machine["cpus"], "arch": machine["arch"],
        "kernel": machine["kernel"], "libc": machine["libc"],
        "compiler": compiler(build),
        "weft": output_of(str(build / "weft"), "--version") or "unknown",
        "commit": output_of("git", "describe", "--always", "--dirty")
        or "unknown",
        "library": library(build),
        "date": datetime.datetime.now().isoformat(" ", "minutes"),
    }


class Others:
    """Measures the CPU time of all programs except this one's children, from
    its creation to share()."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        """Returns (all, busy, ours) in seconds."""
        line = pathlib.Path("/proc/stat").read_text().splitlines()[0]
        # Guests are left out, because their time is in user and nice.
        ticks = [int(word) for word in line.split()[1:9]]
        idle = sum(ticks[3:5])
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        per_s = os.sysconf("SC_CLK_TCK")
        return (sum(ticks) / per_s, (sum(ticks) - idle) / per_s,
                used.ru_utime + used.ru_stime)

    def share(self):
        """Returns the part of all CPU time that other programs used, from 0 to
        1."""
        whole, busy, ours = (now - then
                             for now, then in zip(self.now(), self.start))
        return max(0.0, (busy - ours) / whole) if whole > 0 else 0.0


def spread(records):
    """Returns {experiment: the median of (high - low) / value}."""
    found = {}
    for one in records:
        value, low, high = (one.get(k) for k in ("value", "low", "high"))
        if value and low is not None and high is not None:
            found.setdefault(one.get("experiment"), []).append(
                (high - low) / abs(value))
    return {name: statistics.median(each) for name, each in found.items()}


def warnings(records, states, cpus):
    """Returns the reasons to distrust these results, as sentences. states:
    {experiment: the state that runner.py has stored}."""
    found = []
    for name, state in states.items():
        load, others = state.get("load"), state.get("others")
        if load is not None and load > BUSY_LOAD * cpus:
            found.append(f"{name}: the machine was busy before the run (load "
                         f"average {load:.1f} on {cpus} CPUs).")
        if others is not None and others > BUSY_OTHERS:
            found.append(f"{name}: other programs took {others:.0%} of the CPU "
                         "time during the run.")
    for name, width in spread(records).items():
        if width > WIDE_SPREAD:
            found.append(f"{name}: the samples differ much; low and high are "
                         f"{width:.0%} apart in the middle cell.")
    return found
