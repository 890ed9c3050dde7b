# SPDX-License-Identifier: MIT
"""Servers with many threads, under load. Every value that is read back is
checked, and so is how the server ends. Clients run natively."""

import contextlib
import dataclasses
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import runner

ANSWER_LIMIT_S = 60
START_LIMIT_S = 30


class Wrong(Exception):
    """The server's answer is not the expected one."""


def expect(actual, expected):
    if actual != expected:
        raise Wrong(f"{actual!r:.200}, not {expected!r:.200}")


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Connection:
    """A connection of a client, to the path of a socket or to a port."""

    def __init__(self, address):
        is_port = isinstance(address, int)
        self.socket = socket.socket(socket.AF_INET if is_port
                                    else socket.AF_UNIX)
        self.socket.settimeout(ANSWER_LIMIT_S)
        self.socket.connect(("127.0.0.1", address) if is_port
                            else str(address))
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        return self.file.readline().rstrip(b"\r\n")

    def read(self, size):
        return self.file.read(size)


def in_threads(count, body):
    """Runs body(number) in threads; raises the first exception of any of
    them."""
    raised = []

    def run(number):
        try:
            body(number)
        except (OSError, Wrong) as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,))
               for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@dataclasses.dataclass
class Running:
    """A server process in its own session, and how to end it."""
    process: subprocess.Popen
    path: pathlib.Path | int  # a port

    def connect(self):
        end = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return Connection(self.path)
            except OSError:
                if self.process.poll() is not None:
                    raise Wrong("it ended at once") from None
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def end(self, number=None):
        if number:
            self.process.send_signal(number)
        return self.process.wait(ANSWER_LIMIT_S)


@dataclasses.dataclass
class Server:
    """A server under load. The tests compare the report that load() returns."""
    name: str
    program: str
    long: bool = False

    def missing(self):
        found = shutil.which(self.program, path="/usr/bin:/usr/sbin:/bin")
        return None if found else f"there is no {self.program}"

    def address(self, folder):
        path = folder / "socket"
        path.unlink(missing_ok=True)
        return path

    @contextlib.contextmanager
    def started(self, prefix, folder, log):
        path = self.address(folder)
        command = prefix + [self.program, *self.arguments(folder, path)]
        process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, cwd=folder, env=runner.environment(),
            start_new_session=True)
        try:
            yield Running(process, path)
        except (TimeoutError, subprocess.TimeoutExpired):
            self.trace = runner.backtraces(process.pid, command)
            raise
        finally:
            runner.kill_session(process.pid)
            process.wait()

    def run(self, prefix):
        begin = time.monotonic()
        status, report, self.trace = 0, "", ""
        with tempfile.TemporaryDirectory(prefix="weft-server-") as name, \
                tempfile.TemporaryFile() as log:
            folder = pathlib.Path(name)
            try:
                report = self.load(
                    lambda: self.started(prefix, folder, log), folder)
            except (TimeoutError, subprocess.TimeoutExpired) as error:
                status, report = None, f"no answer: {error}"
            except (OSError, Wrong) as error:
                status, report = 1, f"{type(error).__name__}: {error}"
            log.seek(0)
            return runner.Result(status, report.encode() + b"\n", log.read(),
                                 time.monotonic() - begin, self.trace)
