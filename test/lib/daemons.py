# SPDX-License-Identifier: MIT
"""Servers that go into the background. The command ends, and a file has the
number of the remaining process."""

import contextlib
import dataclasses
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import runner
from servers import ANSWER_LIMIT_S, Running, Server, Wrong, expect, \
    free_port, in_threads


def until(condition):
    end = time.monotonic() + ANSWER_LIMIT_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError("it did not come to pass")
        time.sleep(0.01)
    return value


@dataclasses.dataclass
class Orphan:
    """A process that is not a child of this one; its parent does not matter."""
    pid: int

    def poll(self):
        try:
            stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        except FileNotFoundError:
            return 0
        return 0 if stat.rpartition(")")[2].split()[0] in "ZX" else None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, limit_s):
        until(lambda: self.poll() is not None)
        return 0


class Daemon(Server):
    @contextlib.contextmanager
    def started(self, prefix, folder, log):
        path = self.address(folder)
        program = shutil.which(self.program, path="/usr/sbin:/usr/bin")
        command = [*prefix, program, *self.arguments(folder, path)]
        # The command ends, and no process of it keeps the output open.
        done = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
            env=runner.environment(), timeout=ANSWER_LIMIT_S)
        log.write(done.stdout)
        expect(done.returncode, 0)
        file = folder / "pid"
        until(lambda: file.exists() and file.read_text())
        orphan = Orphan(int(file.read_text()))
        session = os.getsid(orphan.pid)
        try:
            yield Running(orphan, path)
        except (TimeoutError, subprocess.TimeoutExpired):
            self.trace = runner.backtraces(session, command)
            raise
        finally:
            runner.kill_session(session)


class Rsyslog(Daemon):
    """rsyslog has threads for each input and several that write. It stores all
    messages of the clients, reopens its file, and writes everything before it
    ends."""

    CONFIGURATION = """\
global(workDirectory="{folder}")
module(load="imuxsock" sysSock.use="off")
input(type="imuxsock" socket="{path}" rateLimit.interval="0")
main_queue(queue.type="LinkedList" queue.size="20000" queue.workerThreads="4"
           queue.workerThreadMinimumMessages="50")
template(name="plain" type="string" string="%msg%\\n")
action(type="omfile" file="{folder}/messages" template="plain")
"""

    def arguments(self, folder, path):
        (folder / "c").write_text(
            self.CONFIGURATION.format(folder=folder, path=path))
        return ["-f", folder / "c", "-i", folder / "pid"]

    def load(self, start, folder):
        clients, each = 16, 1000 if self.long else 100
        messages, old = folder / "messages", folder / "old"

        def client(number):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
                log.connect(str(server.path))
                for i in range(each):
                    log.send(b"<13>weft: %d %d" % (number, i))

        with start() as server:
            until(server.path.exists)
            in_threads(clients, client)
            until(lambda: messages.exists() and
                  len(messages.read_bytes().splitlines()) == clients * each)
            messages.rename(old)
            server.process.send_signal(signal.SIGHUP)
            # Until it has reopened its file it writes to the old one.
            until(lambda: in_threads(1, client) or messages.exists())
            server.end(signal.SIGTERM)
        lines = old.read_text().splitlines()
        expect({line.strip() for line in lines} >=
               {f"{number} {i}" for number in range(clients)
                for i in range(each)}, True)
        return f"{clients * each} messages, SIGTERM"


class Sshd(Daemon):
    """sshd: clients log in by a key, run commands, send data through them, and
    use a terminal. On SIGHUP the server executes itself again."""

    CONFIGURATION = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
PidFile {folder}/pid
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
MaxStartups 100
"""

    def missing(self):
        if os.getuid() == 0 and not shutil.which("ssh"):
            return "there is no ssh"
        return super().missing()

    def address(self, folder):
        return free_port()

    def arguments(self, folder, path):
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                            "-f", folder / key], check=True)
        (folder / "c").write_text(
            self.CONFIGURATION.format(folder=folder, port=path))
        if os.getuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        return ["-f", folder / "c", "-E", folder / "log"]

    def ask(self, folder, port, command, data=b"", options=()):
        done = subprocess.run(
            ["ssh", "-q", "-F", "none", "-p", str(port), "-i", folder / "user",
             "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
             "-o", "UserKnownHostsFile=/dev/null", *options,
             f"{getpass.getuser()}@127.0.0.1", command], input=data,
            capture_output=True, timeout=ANSWER_LIMIT_S)
        return done.returncode, done.stdout

    def load(self, start, folder):
        data = bytes(range(256)) * 4096

        def client(number):
            ask = (folder, server.path)
            for _ in range(2):
                expect(self.ask(*ask, f"exit {number}"), (number, b""))
                expect(self.ask(*ask, "cat", data) == (0, data), True)
                expect(self.ask(*ask, "test -t 0 && echo tty", b"", ["-tt"]),
                       (0, b"tty\r\n"))

        with start() as server:
            with server.connect() as first:
                expect(first.line().startswith(b"SSH-2.0"), True)
            in_threads(8, client)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: b"SIGHUP" in (folder / "log").read_bytes())
            with server.connect():
                pass
            client(9)
            server.end(signal.SIGTERM)
        return "logins, SIGHUP, SIGTERM"
