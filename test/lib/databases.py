# SPDX-License-Identifier: MIT
"""MariaDB with a thread for each connection."""

import os
import resource
import shutil
import signal
import subprocess
import time

import runner
from servers import ANSWER_LIMIT_S, START_LIMIT_S, Server, Wrong, expect, \
    in_threads

ACCOUNTS = 20
EACH = 1000


class MariaDB(Server):
    """Many clients transfer money between accounts in transactions, then
    sysbench runs an OLTP load. The server is ended by SIGTERM and, while it
    works, by SIGKILL. No transfer may be half done."""

    def missing(self):
        for program in (self.program, "mariadb", "mariadb-install-db",
                        "sysbench"):
            if not shutil.which(program, path="/usr/bin:/usr/sbin:/bin"):
                return f"there is no {program}"
        return None

    def arguments(self, folder, path):
        return ["--no-defaults", "--datadir", folder / "data", "--socket",
                path, "--skip-networking", "--pid-file", folder / "pid",
                "--thread-handling=one-thread-per-connection",
                "--max-connections=1200", "--innodb-buffer-pool-size=64M",
                "--max-prepared-stmt-count=1000000",
                *(["--user=root"] if os.getuid() == 0 else [])]

    def tool(self, *command, text=None):
        done = subprocess.run(list(map(str, command)), input=text, text=True,
                              capture_output=True, env=runner.environment(),
                              timeout=3 * ANSWER_LIMIT_S)
        if done.returncode != 0:
            raise Wrong(f"{command[0]}: {done.stdout[-200:]}"
                        f"{done.stderr[-200:]}")
        return done.stdout

    def sql(self, server, text):
        return self.tool("mariadb", "--no-defaults", "-N", "-u", "root", "-S",
                         server.path, "test", text=text)

    def install(self, folder):
        self.tool("mariadb-install-db", "--no-defaults",
                  f"--datadir={folder / 'data'}",
                  "--auth-root-authentication-method=normal",
                  *(["--user=root"] if os.getuid() == 0 else []))

    def wait_until_up(self, server):
        end = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return self.sql(server, "select 1")
            except Wrong:
                if server.process.poll() is not None or \
                        time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def make_accounts(self, server):
        rows = ",".join(f"({i}, {EACH})" for i in range(ACCOUNTS))
        self.sql(server, "create table account (id int primary key, v int) "
                         f"engine=innodb; insert into account values {rows}; "
                         "create table done (client int, n int) engine=innodb")

    def transfers(self, client, count):
        for n in range(count):
            low, high = sorted(((client + n) % ACCOUNTS,
                                (client * 7 + n * 3 + 1) % ACCOUNTS))
            yield (f"start transaction; "
                   f"update account set v = v - 1 where id = {low}; "
                   f"update account set v = v + 1 where id = {high}; "
                   f"insert into done values ({client}, {n}); commit;")

    def client(self, server, number, count):
        self.sql(server, "\n".join(self.transfers(number, count)))

    def sysbench(self, server, threads):
        common = ["sysbench", "oltp_read_write", "--db-driver=mysql",
                  f"--mysql-socket={server.path}", "--mysql-user=root",
                  "--mysql-db=test", "--tables=2",
                  f"--table-size={20 * threads + 1000}"]
        self.tool(*common, "prepare")
        self.tool(*common, f"--threads={threads}", "--time=0",
                  f"--events={2 * threads}", "run")
        self.tool(*common, "cleanup")

    def check(self, server):
        """Checks the rules that hold whenever no transfer is in flight."""
        expect(self.sql(server, "select sum(v) from account").strip(),
               str(ACCOUNTS * EACH))
        expect(self.sql(server, "check table account, done").count("OK"), 2)

    def load(self, start, folder):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
        clients, count = (64, 100) if self.long else (16, 10)
        self.install(folder)
        with start() as server:
            self.wait_until_up(server)
            self.make_accounts(server)
            in_threads(clients, lambda n: self.client(server, n, count))
            self.check(server)
            done = self.sql(server, "select count(*) from done").strip()
            for threads in (16, 256, 1000) if self.long else (16,):
                self.sysbench(server, threads)
            report = f"{done} done, SIGTERM {server.end(signal.SIGTERM)}"
        with start() as server:
            self.wait_until_up(server)
            self.killed_at_work(server)
        with start() as server:
            self.wait_until_up(server)
            self.check(server)
            return f"{report}, then {server.end(signal.SIGTERM)}"

    def killed_at_work(self, server):
        def client(number):
            try:
                self.client(server, 100 + number, 1000)
            except Wrong:
                pass  # the server has ended

        def kill_or_be_client(number):
            if number > 0:
                return client(number)
            begun = "select count(*) from done where client >= 100"
            while int(self.sql(server, begun)) < 50:
                time.sleep(0.01)
            server.end(signal.SIGKILL)

        in_threads(9, kill_or_be_client)
