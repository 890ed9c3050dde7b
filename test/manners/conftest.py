# SPDX-License-Identifier: MIT
"""Helpers for the tests in this folder, which run programs natively and on
weft."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
PROGRAM = BUILD / "test/manners/manners_program"
FILTER = BUILD / "test/lib/filter"
LIBRARY = BUILD / "libweft.so.0"
WEFT = [BUILD / "weft", "run"]
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH",
            "MALLOC_PERTURB_")
LIMIT_S = 60


def environment(extra=None):
    whole = {k: v for k, v in os.environ.items()
             if k not in SCRUBBED and not k.startswith("WEFT_")}
    whole.update(extra or {})
    return {k: v for k, v in whole.items() if v is not None}


def run(command, env=None, **options):
    """Runs the command and returns its result. A hang is an error. `env` is
    added to the environment."""
    if "stdout" not in options and "capture_output" not in options:
        options["capture_output"] = True
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(list(map(str, command)), env=environment(env),
                          text=True, timeout=LIMIT_S, **options)


def outcome(result):
    return result.returncode, result.stdout, result.stderr


def both(command, env=None, options=(), **more):
    """Runs the command natively and on weft, and checks that status and output
    are equal. Returns the result on weft."""
    native = run(command, env, **more)
    weft = run([*WEFT, *options, "--", *command], env, **more)
    assert outcome(weft) == outcome(native)
    return weft


def need(tool):
    """The tool's path; the test is skipped without it."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


def need_ptrace(error):
    """Skips the test if the tracer's stderr says that it may not trace. strace
    also names ptrace in warnings."""
    if "ptrace" in error.lower() and "not permitted" in error:
        pytest.skip("ptrace is not permitted")


def library(*names):
    """The path of a library that exists, by name or by pattern."""
    for name in names:
        for folder in ("/usr/lib", "/usr/lib64"):
            for path in sorted(pathlib.Path(folder).glob(f"*/{name}")):
                return str(path)
    pytest.skip(f"{names[0]} is not installed")


def statistics(result):
    """Returns {text: value} of the --stats output."""
    rows = {}
    for line in result.stderr.splitlines():
        text, _, value = line.removeprefix("weft: ").rpartition(": ")
        if value.isdigit():
            rows[text] = int(value)
    return rows


def compile_c(folder, source, *flags, name="program"):
    """Compiles a small program; None if the compiler cannot."""
    program = folder / name
    done = subprocess.run([need("gcc"), "-x", "c", "-", "-o", program, *flags],
                          input=source, text=True, capture_output=True)
    return program if done.returncode == 0 else None
