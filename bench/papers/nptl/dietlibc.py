# SPDX-License-Identifier: MIT
"""A second LinuxThreads, written by others: dietlibc's threads have a manager,
processes without CLONE_THREAD, and signals to block and to wake. It runs one
program only, witness.c.

    why = dietlibc.built(program)       "" if program is there now
"""

import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent / "witness.c"


def built(program):
    """Compiles the program with dietlibc. Returns why that cannot be, or ""."""
    if shutil.which("diet") is None:
        return "dietlibc-dev is not installed"
    # The warnings are about dietlibc's own functions.
    done = subprocess.run(
        ["diet", "gcc", "-w", "-O2", "-D_GNU_SOURCE", "-o", program, SOURCE,
         "-lpthread"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return "does not build: " + (done.stderr.splitlines() or ["?"])[-1]
