# SPDX-License-Identifier: MIT
"""Servers as the benchmark starts them, and the clients that load them. All
processes of a server are in one session, and the benchmark reads the session's
CPU time."""

import contextlib
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

from bench.lib import measure, sides as lib_sides

START_LIMIT_S = 60
TOOL_LIMIT_S = 120
MOST_CONNECTIONS = 1000
PATH = "/usr/bin:/usr/sbin:/bin"
PYTHON = "/usr/bin/python3"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A server or a client failed to do its task."""


def tool(*command, **more):
    """Returns the output of a command."""
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, timeout=TOOL_LIMIT_S,
                              env=lib_sides.environment(), **more)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]}: no end") from None
    if done.returncode != 0:
        raise Failed(f"{command[0]}: status {done.returncode} "
                     f"{(done.stdout + done.stderr).strip()[-300:]}")
    return done.stdout


def processes(session):
    """Returns {pid: (user, system) CPU seconds} for the processes of a
    session."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        if int(words[3]) == session:
            found[int(stat.parent.name)] = \
                (int(words[11]) * TICK_S, int(words[12]) * TICK_S)
    return found


def idle_seconds():
    """Returns the idle time of all CPUs."""
    words = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()
    return (int(words[4]) + int(words[5])) * TICK_S


class Server:
    """A running server. `programs` have to be installed; `loads` has the
    client's arguments for each load. `of_weft`: the figure of what runs on
    weft."""
    programs = ()
    modules = ()
    loads = {}
    of_weft = "server_us"
    has_targets = False

    def __init__(self, prefix, folder, options):
        self.prefix, self.folder, self.options = prefix, folder, options
        self.process = None

    @classmethod
    def missing(cls):
        for program in cls.programs:
            if not shutil.which(program, path=PATH):
                return f"there is no {program}"
        for module in cls.modules:
            if subprocess.run([PYTHON, "-c", f"import {module}"], check=False,
                              capture_output=True).returncode != 0:
                return f"{PYTHON} has no {module}"
        return None

    def prepare(self):
        """Makes the data. Not all servers need any before they start."""

    def take_data(self, other):
        """Copies the data of another server, which has ended."""

    def command(self):
        raise NotImplementedError

    def connect(self):
        raise NotImplementedError

    def client(self, load, connections):
        """Returns the client's command."""
        raise NotImplementedError

    def nr_requests(self, printed):
        raise NotImplementedError

    def rate(self, nr, _printed):
        """Requests per second."""
        return nr / self.options.seconds

    def start(self):
        words = [str(word) for word in [*self.prefix, *self.command()]]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder, env=lib_sides.environment(PATH=PATH),
                start_new_session=True,
                preexec_fn=functools.partial(measure.allow_descriptors,
                                             4 * MOST_CONNECTIONS))
        end = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self.connect().close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise Failed("it does not start: " + (
                        self.folder / "log").read_text()[-300:]) from None
                time.sleep(0.05)

    def end(self):
        if self.process is None or self.process.returncode is not None:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(START_LIMIT_S)
        for pid in processes(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def run(self, load, connections):
        """Runs the client once; returns a Result."""
        before = self.clocks()
        begin = time.monotonic()
        try:
            printed = tool(*self.client(load, connections), preexec_fn=(
                functools.partial(measure.allow_descriptors, connections)))
            seconds = time.monotonic() - begin
            nr = self.nr_requests(printed)
            if nr == 0:
                raise Failed("no request was served")
        except Failed as error:
            return measure.Result(error=str(error))
        time.sleep(0.1)  # the server notices that its clients have left
        figures = self.figures(before, nr, seconds)
        return measure.Result(figures={
            "requests": self.rate(nr, printed), **figures})

    def figures(self, before, nr, seconds):
        """Returns the figures of CPU time for `nr` requests since `before`."""
        user_s, system_s, client_s, idle_s = (
            after - earlier for after, earlier in zip(self.clocks(), before))
        cpus = len(os.sched_getaffinity(0))
        seconds_there = seconds + 0.1
        others_s = cpus * seconds_there - idle_s - user_s - system_s - client_s
        return {"server_us": (user_s + system_s) / nr * 1e6,
                "system_us": system_s / nr * 1e6,
                "client_us": client_s / nr * 1e6,
                "server_cpus": (user_s + system_s) / seconds,
                "idle_cpus": min(idle_s / seconds_there, cpus),
                "other_cpus": max(others_s / seconds_there, 0)}

    def clocks(self):
        """Returns CPU seconds until now: the server's in user mode and in the
        kernel, its clients', and the idle time of all CPUs."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        server = processes(self.process.pid).values() if self.process else []
        return (sum(user for user, _ in server),
                sum(system for _, system in server),
                used.ru_utime + used.ru_stime, idle_seconds())


class MariaDB(Server):
    """MariaDB: a thread for each connection, over a Unix socket. The tables fit
    into memory; a committed transaction is on the disk."""
    has_targets = True
    programs = ("mariadbd", "mariadb-install-db", "mariadb", "sysbench")
    # {load: (sysbench's script, its name for requests)}
    loads = {
        "point": ("oltp_point_select", "queries"),
        "read": ("oltp_read_only", "queries"),
        "write": ("oltp_read_write", "queries"),
    }
    TABLES = ("--tables=4", "--table-size=10000")

    def root(self):
        return ["--user=root"] if os.getuid() == 0 else []

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data",
                f"--socket={self.folder}/socket", "--skip-networking",
                f"--pid-file={self.folder}/pid",
                "--thread-handling=one-thread-per-connection",
                f"--max-connections={MOST_CONNECTIONS + 100}",
                "--back-log=1000", "--table-open-cache=4096",
                "--innodb-buffer-pool-size=128M",
                "--max-prepared-stmt-count=1000000", *self.root()]

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.folder / "socket"))
        return server

    def sysbench(self, script):
        return ["sysbench", script, "--db-driver=mysql",
                f"--mysql-socket={self.folder}/socket", "--mysql-user=root",
                "--mysql-db=test", *self.TABLES]

    def prepare(self):
        """Makes the data while the server does not run."""
        tool("mariadb-install-db", "--no-defaults", "--skip-test-db",
             f"--datadir={self.folder}/data",
             "--auth-root-authentication-method=normal", *self.root())
        self.start()
        tool("mariadb", "--no-defaults", "-u", "root", "-S",
             self.folder / "socket", "-e", "create database test")
        tool(*self.sysbench("oltp_read_write"), "prepare")
        self.end()

    def take_data(self, other):
        shutil.copytree(other.folder / "data", self.folder / "data")

    def client(self, load, connections):
        return [*self.sysbench(self.loads[load][0]), f"--threads={connections}",
                f"--time={self.options.seconds}", "--db-ps-mode=auto", "run"]

    def nr_requests(self, printed):
        return int(re.search(r"queries: +(\d+)", printed)[1])
