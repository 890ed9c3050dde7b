# SPDX-License-Identifier: MIT
"""A running emulated machine. Its kernel rests before the first program is
measured.

    with Emulator(ready, image, folder, counts=True) as machine:
        machine.run(["/bin/bench_uncontended", "10", "mutex"])

`counts`: the machine's clock counts instructions, NS_OF_INSTRUCTION each, and
the log of interrupts can be switched on."""

import os
import select
import socket
import subprocess
import time

from bench.papers.arch import children, output, rest

BOOT_S = 180
# Malta's kernel computes for a second of its clock when it starts: 125 million
# instructions. The timer's interrupts are 500,000 instructions apart.
SHIFT = 3
NS_OF_INSTRUCTION = 1 << SHIFT
# The emulated clock may be slower than the real one, and the machine busy.
LIMIT_FACTOR = 5
# If the clock counts instructions, riscv64's UART sometimes loses an interrupt,
# and the console stands still. Input wakes it; the guest ignores empty lines.
REMIND_S = 5
PROMPT = b"(qemu) "


class Ended(Exception):
    """The machine no longer answers."""


class Lines:
    """Reads lines from a descriptor, with a limit of time."""

    def __init__(self, descriptor):
        self.descriptor, self.rest = descriptor, b""
        self.waiting = select.poll()
        self.waiting.register(descriptor, select.POLLIN)

    def until(self, found, limit_s, remind=None):
        """Returns found(lines so far) once that is not None. Calls remind
        after each REMIND_S without a byte."""
        lines, end = [], time.monotonic() + limit_s
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise Ended(f"no answer after {limit_s:.0f} s")
            if not self.waiting.poll(min(left, REMIND_S) * 1000):
                if remind is not None:
                    remind()
                continue
            more = os.read(self.descriptor, 65536)
            if not more:
                last = (lines or [self.rest.decode(errors="replace")])[-1]
                raise Ended(f"the emulator ended: {last.strip()[:100]}")
            *whole, self.rest = (self.rest + more).split(b"\n")
            lines += [line.decode(errors="replace") for line in whole]
            result = found(lines)
            if result is not None:
                return result


class Monitor:
    """The emulator's monitor console."""

    def __init__(self, connection):
        self.connection = connection
        connection.settimeout(30)
        self.await_prompt()

    def await_prompt(self):
        text = b""
        while not text.endswith(PROMPT):
            more = self.connection.recv(4096)
            if not more:
                raise Ended("the emulator's monitor ended")
            text += more

    def command(self, text):
        try:
            self.connection.sendall(text.encode() + b"\n")
            self.await_prompt()
        except OSError as error:
            raise Ended(f"the emulator's monitor: {error}") from error


class Emulator:
    """`boot_s`: the time for the kernel to start and to come to rest."""

    def __init__(self, ready, image, folder, counts=False, cpus=1,
                 boot_s=BOOT_S, processes=None):
        self.ready, self.counts, self.limit_s = ready, counts, boot_s
        self.processes = processes or children.Children()
        self.log = folder / f"{ready.machine.name}.log"
        ours, theirs = socket.socketpair()
        options = ["-smp", str(cpus), "-kernel", str(ready.kernel), "-initrd",
                   str(image), "-append", self.kernel_options(), "-chardev",
                   f"socket,id=monitor,fd={theirs.fileno()}", "-mon",
                   "chardev=monitor", "-serial", "stdio"]
        if counts:
            self.log.write_text("")
            # Malta's kernel measures its timer by the real-time clock.
            options += ["-icount", f"shift={SHIFT}", "-rtc", "clock=vm", "-D",
                        str(self.log)]
        elif cpus > 1:
            options += ["-accel", "tcg,thread=multi"]
        try:
            self.process = self.processes.start(
                ready.command(*options), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()], env=ready.environment)
        except children.Closed as why:
            ours.close()
            raise Ended(str(why)) from None
        finally:
            theirs.close()
        self.monitor_end = ours
        self.lines = Lines(self.process.stdout.fileno())

    def kernel_options(self):
        return f"console={self.ready.machine.console} quiet loglevel=1 panic=-1"

    def __enter__(self):
        try:
            start = time.monotonic()
            self.kernel, self.cpu = self.lines.until(self.is_ready,
                                                     self.limit_s)
            self.boot_s = time.monotonic() - start
            self.monitor = Monitor(self.monitor_end)
            self.await_rest(start + self.limit_s)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    @staticmethod
    def is_ready(lines):
        why = output.failed(lines)
        if why:
            raise Ended(f"the guest failed: {why}")
        return output.ready(lines)

    def await_rest(self, end):
        one = rest.Rest()
        while not one.is_reached(self.ticks()):
            if time.monotonic() > end:
                raise Ended(f"its kernel did not rest in {self.limit_s:.0f} s")
            time.sleep(rest.SAMPLE_S)

    def ticks(self):
        """Returns rest.Ticks of its CPUs."""
        return self.ask("ticks", output.ticks, BOOT_S)

    def stop(self):
        self.processes.end(self.process)
        self.process.stdin.close()
        self.process.stdout.close()
        self.monitor_end.close()
        # The pass that takes times has no log, and may end first.
        if self.counts:
            self.log.unlink(missing_ok=True)

    def run(self, words, environment=None, limit_s=20, verb="run"):
        """The program's output.Answer. With the verb "count" it has the number
        of system calls."""
        named = [f"{name}={value}"
                 for name, value in (environment or {}).items()]
        line = " ".join([verb, str(limit_s), "LD_LIBRARY_PATH=/lib", *named,
                         *map(str, words)])
        return self.ask(line, output.answer, limit_s * LIMIT_FACTOR)

    def ask(self, line, found, limit_s):
        """Sends the guest a line and waits for the result of `found` on its
        answer."""
        self.send(line)
        return self.lines.until(found, limit_s, lambda: self.send(""))

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Ended(f"the emulator ended: {error}") from error

    def count(self, words, environment=None, limit_s=20):
        """(the Answer with the number of system calls, the log of interrupts
        meanwhile)"""
        self.monitor.command("log int")
        try:
            start = self.log.stat().st_size
            answer = self.run(words, environment, limit_s, "count")
        finally:
            self.monitor.command("log none")
        with self.log.open(errors="replace") as file:
            file.seek(start)
            return answer, file.read()
