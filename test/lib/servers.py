"""Servers with many threads, under load: every value that is read back is
checked, and how the server ends. Clients run natively."""

import contextlib
import dataclasses
import pathlib
import random
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
    """The server said something else than it should."""


def expect(actual, expected):
    if actual != expected:
        raise Wrong(f"{actual!r:.200}, not {expected!r:.200}")


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_LIMIT_S)
        self.socket.connect(str(path))
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
    """Runs body(number) in threads; raises what the first of them raised."""
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
    """A server process in a session of its own, and its end."""
    process: subprocess.Popen
    path: pathlib.Path

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
    """What is compared is the report that load() returns."""
    name: str
    program: str
    long: bool = False

    def missing(self):
        found = shutil.which(self.program, path="/usr/bin:/usr/sbin:/bin")
        return None if found else f"there is no {self.program}"

    @contextlib.contextmanager
    def started(self, prefix, folder, log):
        path = folder / "socket"
        path.unlink(missing_ok=True)
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


class Redis(Server):
    """Four I/O threads under redis-benchmark; then known keys, and the end by
    SHUTDOWN and by SIGTERM."""

    def arguments(self, folder, path):
        return ["--port", "0", "--unixsocket", path, "--dir", folder,
                "--io-threads", "4", "--io-threads-do-reads", "yes",
                "--save", "", "--appendonly", "yes"]

    def benchmark(self, path):
        requests = 5000 if self.long else 1000
        done = subprocess.run(
            ["redis-benchmark", "-s", path, "-n", str(requests), "-c", "20",
             "-P", "8", "-q", "-t", "set,get,incr,lpush,sadd"],
            env=runner.environment(), capture_output=True,
            timeout=3 * ANSWER_LIMIT_S)
        expect((done.returncode, done.stderr), (0, b""))

    def known_keys(self, path, client):
        rounds = 500 if self.long else 50
        with Connection(path) as redis:
            for i in range(rounds):
                key = b"key:%d:%d" % (client, i)
                redis.send(b"SET %s v%d\r\nINCRBY sum %d\r\nGET %s\r\n" %
                           (key, i * client, i, key))
                expect(redis.line(), b"+OK")
                expect(redis.line()[:1], b":")
                redis.line()
                expect(redis.line(), b"v%d" % (i * client))

    def ask(self, redis, command):
        redis.send(command + b"\r\n")
        answer = redis.line()
        if answer.startswith(b"$"):
            answer = redis.line()
        return answer.decode()

    def load(self, start, folder):
        report = []
        with start() as server, server.connect() as redis:
            self.benchmark(server.path)
            in_threads(8, lambda n: self.known_keys(server.path, n))
            report += [self.ask(redis, command) for command in
                       (b"GET sum", b"GET counter:__rand_int__",
                        b"LLEN mylist", b"UNLINK mylist")]
            redis.send(b"SHUTDOWN NOSAVE\r\n")
            report.append(f"SHUTDOWN {server.end()}")
        with start() as server, server.connect() as redis:
            while (answer := self.ask(redis, b"GET sum")).startswith("-"):
                time.sleep(0.01)
            report += [answer, self.ask(redis, b"DBSIZE"),
                       self.ask(redis, b"FLUSHALL ASYNC"),
                       f"SIGTERM {server.end(signal.SIGTERM)}"]
        return "\n".join(report)


class Memcached(Server):
    """Eight threads and 24 connections, each with keys of its own."""

    def arguments(self, folder, path):
        return ["-u", "root", "-s", path, "-t", "8", "-m", "64"]

    def get(self, cache, keys, values):
        cache.send(b"get " + b" ".join(keys) + b"\r\n")
        for key in keys:
            word, name, _, size = cache.line().split()
            expect((word, name), (b"VALUE", key))
            expect(cache.read(int(size) + 2), values[key] + b"\r\n")
        expect(cache.line(), b"END")

    def client(self, path, number):
        source = random.Random(number)
        values = {}
        with Connection(path) as cache:
            for i in range(1000 if self.long else 60):
                key = b"key-%d-%d" % (number, source.randrange(100))
                value = source.randbytes(source.choice((1, 100, 6000)))
                cache.send(b"set %s 0 0 %d\r\n%s\r\nincr sum %d\r\n" %
                           (key, len(value), value, number))
                expect(cache.line(), b"STORED")
                expect(cache.line().isdigit(), True)
                values[key] = value
                self.get(cache, [source.choice(list(values))], values)
                if i % 10 == 0:
                    self.get(cache, list(values)[:20], values)

    def load(self, start, folder):
        with start() as server, server.connect() as cache:
            cache.send(b"set sum 0 0 1\r\n0\r\n")
            expect(cache.line(), b"STORED")
            in_threads(24, lambda n: self.client(server.path, n))
            cache.send(b"get sum\r\n")
            expect(cache.line()[:9], b"VALUE sum")
            total = cache.line().decode().strip()
            return f"sum {total}\nSIGTERM {server.end(signal.SIGTERM)}"


class Nginx(Server):
    """One process whose thread pool reads the files."""

    CONFIGURATION = """\
daemon off; master_process off; pid pid; error_log stderr warn;
thread_pool default threads=16;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path t; proxy_temp_path t;
  fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
  server {{
    listen unix:{path}; root {folder};
    aio threads; sendfile off; output_buffers 2 32k;
  }}
}}
"""

    def arguments(self, folder, path):
        (folder / "c").write_text(
            self.CONFIGURATION.format(folder=folder, path=path))
        return ["-p", folder, "-c", folder / "c"]

    def fetch(self, path, name, content):
        with Connection(path) as http:
            http.send(b"GET /%s HTTP/1.0\r\n\r\n" % name)
            expect(http.line(), b"HTTP/1.1 200 OK")
            while http.line():
                pass
            expect(http.read(-1) == content, True)

    def load(self, start, folder):
        source = random.Random(1)
        files = {b"file%d" % i: source.randbytes(100000 * i + 7)
                 for i in range(8)}
        for name, content in files.items():
            (folder / name.decode()).write_bytes(content)
        folder.chmod(0o755)

        def client(number):
            for _ in range(20 if self.long else 2):
                for name, content in files.items():
                    self.fetch(server.path, name, content)

        with start() as server:
            server.connect().socket.close()
            in_threads(16, client)
            return f"SIGQUIT {server.end(signal.SIGQUIT)}"


def all_servers(long):
    return [
        Redis("redis", "redis-server", long),
        Memcached("memcached", "memcached", long),
        Nginx("nginx", "nginx", long),
    ]
