# SPDX-License-Identifier: MIT
"""Programs that run on weft, and what another process sees of them."""

import os
import pathlib
import signal
import subprocess

import pytest

import outside

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
WEFT = BUILD / "weft"
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH",
            "MALLOC_PERTURB_")


def environment(extra=None):
    whole = {k: v for k, v in os.environ.items()
             if k not in SCRUBBED and not k.startswith("WEFT_")}
    whole.update(extra or {})
    return whole


class Program:
    """A program that answers each line of its input with one of its own."""

    def __init__(self, name, *args, options=(), native=False):
        on_weft = [] if native else [WEFT, "run", *options, "--"]
        self.process = subprocess.Popen(
            list(map(str, [*on_weft, BUILD / "test/see" / name, *args])),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1, env=environment(), start_new_session=True)
        self.pid = self.process.pid
        assert self.line() == "ready"

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        return self.line()

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.pid, signal.SIGKILL)  # its children, too
        except ProcessLookupError:
            pass
        self.process.wait()


@pytest.fixture
def program():
    """Starts programs: program("see_names", options=["--vps", "2"])."""
    started = []

    def start(*args, **options):
        started.append(Program(*args, **options))
        return started[-1]
    yield start
    for each in started:
        each.__exit__()


@pytest.fixture
def start():
    """Starts programs that print what they know: start("see_waits", 13)."""
    with outside.starter() as run:
        yield run
