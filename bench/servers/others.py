# SPDX-License-Identifier: MIT
"""Redis, and programs that are no servers: clients of PostgreSQL, OpenMP and
BLAS. In a row about such a program, that program runs on weft."""

import glob
import os
import pathlib
import re
import shutil
import socket

from bench.servers.servers import MOST_CONNECTIONS, PYTHON, Failed, Server, \
    tool


class Redis(Server):
    """Redis with two threads that read and write, over a Unix socket."""
    programs = ("redis-server", "redis-benchmark")
    loads = {"get": "get", "set": "set"}
    REQUESTS_PER_SECOND = 30000

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket",
                self.folder / "socket", "--dir", self.folder,
                "--io-threads", "2", "--io-threads-do-reads", "yes",
                "--save", "", "--maxclients", 2 * MOST_CONNECTIONS]

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.folder / "socket"))
        return server

    def client(self, load, connections):
        """Returns redis-benchmark's command. That program has no option for a
        time."""
        return ["redis-benchmark", "-s", self.folder / "socket", "-q", "-n",
                self.REQUESTS_PER_SECOND * self.options.seconds, "-c",
                connections, "-t", self.loads[load]]

    def nr_requests(self, printed):
        return self.REQUESTS_PER_SECOND * self.options.seconds

    def rate(self, _nr, printed):
        return float(re.search(r"([\d.]+) requests per second", printed)[1])


class PostgresClients(Server):
    """pgbench with a thread for each connection. The server runs natively; it
    has processes and no threads."""
    loads = {"select": []}
    of_weft = "client_us"

    def __init__(self, prefix, folder, options):
        super().__init__([], folder, options)
        self.client_prefix = prefix
        self.bin = max(self.versions(), key=lambda path: int(path.parts[-3])
                       ).parent

    @staticmethod
    def versions():
        return list(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"))

    @classmethod
    def missing(cls):
        return None if cls.versions() else "there is no pgbench"

    def as_server(self):
        """Returns the words that change the user: PostgreSQL refuses to run as
        root."""
        if os.getuid() != 0:
            return []
        return ["setpriv", "--reuid=postgres", "--regid=postgres",
                "--clear-groups"]

    def give_away(self):
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")

    def prepare(self):
        self.give_away()
        tool(*self.as_server(), self.bin / "initdb", "-A", "trust",
             "-U", "postgres", "-D", self.folder / "data", cwd=self.folder)
        self.start()
        tool(self.bin / "pgbench", "-i", "-q", *self.address(), "postgres")
        self.end()

    def take_data(self, other):
        self.give_away()
        tool("cp", "-a", other.folder / "data", self.folder / "data")

    def command(self):
        return [*self.as_server(), self.bin / "postgres", "-D",
                self.folder / "data", "-k", self.folder, "-c",
                "listen_addresses=", "-c",
                f"max_connections={MOST_CONNECTIONS + 100}"]

    def connect(self):
        """Raises ConnectionError until the server has recovered its data."""
        try:
            tool(self.bin / "psql", "-c", "select 1", "postgres",
                 *self.address())
        except Failed as error:
            raise ConnectionError(str(error)) from None
        return socket.socket()

    def address(self):
        return ["-h", self.folder, "-U", "postgres"]

    def client(self, load, connections):
        return [*self.client_prefix, self.bin / "pgbench", "-n", "-S",
                "-M", "prepared", "-c", connections, "-j", connections, "-T",
                self.options.seconds, *self.address(), "postgres"]

    def nr_requests(self, printed):
        return int(re.search(r"actually processed: (\d+)", printed)[1])


class Program(Server):
    """A program that is no server and has no clients: its own threads compute.
    A request is one round."""
    of_weft = "client_us"

    def start(self):
        return self

    def words(self, threads):
        """The command, which prints the number of rounds."""
        raise NotImplementedError

    def client(self, load, connections):
        return [*self.prefix, *self.words(connections)]

    def nr_requests(self, printed):
        return int(float(printed.split()[-1]))


class OpenMP(Program):
    """OpenMP: short parallel regions with a barrier behind each."""
    loads = {"regions": []}
    SECONDS = 0.5  # its RUN_MS

    def words(self, threads):
        return [self.options.build.resolve() / "bench/fair/fair_openmp",
                threads]

    def rate(self, nr, _printed):
        return nr / self.SECONDS


class Blas(Program):
    """OpenBLAS, called by numpy: products of small matrices."""
    modules = ("numpy",)
    loads = {"product": []}
    SCRIPT = """\
import numpy, sys, time
matrix = numpy.ones((200, 200))
rounds, end = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    matrix @ matrix
    rounds += 1
print("rounds", rounds)
"""

    @classmethod
    def missing(cls):
        if not glob.glob("/usr/lib/*/openblas-pthread/libblas.so.3"):
            return "there is no OpenBLAS with threads"
        return super().missing()

    def words(self, threads):
        return ["env", f"OPENBLAS_NUM_THREADS={threads}", PYTHON, "-c",
                self.SCRIPT, self.options.seconds]
