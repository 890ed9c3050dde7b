# SPDX-License-Identifier: MIT
"""The servers Redis and memcached under load."""

import random
import signal
import subprocess
import time

import runner
from servers import ANSWER_LIMIT_S, Connection, Server, expect, in_threads


class Redis(Server):
    """Redis with four I/O threads. redis-benchmark is its load; then known keys
    are read back. SHUTDOWN and SIGTERM end the server."""

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
    """memcached with eight threads and 24 connections, each with its own
    keys."""

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
