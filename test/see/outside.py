# SPDX-License-Identifier: MIT
"""Helpers for the tests that look at a process from outside."""

import contextlib
import json
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
WEFT = BUILD / "weft"
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH")
LIMIT_S = 120


def environment():
    return {k: v for k, v in os.environ.items()
            if k not in SCRUBBED and not k.startswith("WEFT_")}


class Program:
    """A program on weft, and what it has printed."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid
        self.lines = []

    def read(self, nr=None):
        """Reads nr lines, or those before "ready"."""
        while len(self.lines) != nr:
            line = self.process.stdout.readline().rstrip("\n")
            if line == "ready":
                break
            assert line, "the program has ended"
            self.lines.append(line)
        return self.lines


@contextlib.contextmanager
def starter():
    """Yields a function that starts a program of this folder on weft."""
    with contextlib.ExitStack() as stack:
        def run(name, *args, options=(), path=None, before=()):
            process = subprocess.Popen(
                [*before, WEFT, "run", *options,
                 path or BUILD / "test/see" / name, *map(str, args)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=environment())
            stack.callback(process.wait)
            stack.callback(process.stdout.close)
            stack.callback(process.kill)
            stack.callback(process.stdin.close)
            return Program(process)
        yield run


def weft(*args, check=True):
    return subprocess.run([WEFT, *map(str, args)], text=True, check=check,
                          capture_output=True, env=environment(),
                          timeout=LIMIT_S)


def dump(which, *options):
    """The JSON of `weft threads`."""
    text = weft("threads", "--json", *options, which).stdout
    return json.loads(text)["threadDump"]


def await_dump(pid, is_there):
    """Returns the first dump of the process for which is_there(threads) is
    true. There is none before the process has made a thread."""
    end = time.monotonic() + LIMIT_S
    while True:
        done = weft("threads", "--json", pid, check=False)
        if done.returncode == 0:
            found = json.loads(done.stdout)["threadDump"]
            if is_there(found["threads"]):
                return found
        assert time.monotonic() < end, done.stderr + done.stdout[:2000]
        time.sleep(0.02)
