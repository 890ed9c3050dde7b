# SPDX-License-Identifier: MIT
"""A program on its own terminal: a test sends lines and waits for answers."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

from conftest import LIMIT_S, ROOT, environment

sys.path.insert(0, str(ROOT / "test/lib"))

import runner  # noqa: E402

STOP, INTERRUPT, QUIT, END = "\x1a", "\x03", "\x1c", "\x04"


def take_terminal():
    """Runs in the child process before its exec: makes the terminal of its
    standard input its controlling terminal, and lets Ctrl-C and Ctrl-\\ end the
    program. A shell without job control may have started the tests in the
    background, with SIGINT and SIGQUIT ignored, and the program would inherit
    that."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


class Terminal:
    def __init__(self, command, prompt, env=None):
        self.prompt = prompt
        self.seen = ""
        self.master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
            preexec_fn=take_terminal,
            env=environment({"TERM": "dumb", "HISTFILE": None} | (env or {})))
        os.close(slave)

    def send(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern):
        """Returns the output up to the pattern's end, and forgets it."""
        end = time.monotonic() + LIMIT_S
        while not (match := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], \
                f"no {pattern!r} in {self.seen!r}"
            self.seen += os.read(self.master, 4096).decode().replace("\r", "")
        before = self.seen[:match.end()]
        self.seen = self.seen[match.end():]
        return before

    def do(self, command):
        """Returns the output of a command until the next prompt."""
        self.send(command + "\n")
        return self.expect(self.prompt)

    def end(self):
        return self.process.wait(LIMIT_S)

    def hang_up(self):
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def processes(self):
        return list(runner.session_processes(self.process.pid))


@contextlib.contextmanager
def terminal(command, prompt, env=None):
    """Yields a terminal on which the command has printed its first prompt.
    Kills the terminal's processes afterwards."""
    started = Terminal(command, prompt, env)
    try:
        started.expect(prompt)
        yield started
    finally:
        runner.kill_session(started.process.pid)
        started.process.wait()
        started.hang_up()
