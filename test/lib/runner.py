# SPDX-License-Identifier: MIT
"""Runs a command with a time limit, natively or on weft, and reports how it
ended.

A command that exceeds the limit hangs: gdb, if installed, writes its threads'
backtraces to a file, then the command is killed."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
SKIP_STATUS = 77
TRACE_SHOWN = 20000  # characters
# Meson sets LD_LIBRARY_PATH for programs with libraries beside them.
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH")


@dataclasses.dataclass
class Result:
    """How a command ended. `status` is negative for a signal, as in the
    subprocess module; None means a hang with the log `trace`."""
    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    trace: str = ""

    def outcome(self):
        if self.status is None:
            return "hang"
        if self.status < 0:
            return signal.Signals(-self.status).name
        if self.status == 0:
            return "ok"
        return "skip" if self.status == SKIP_STATUS else f"exit {self.status}"


def add_weft_arguments(parser):
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--vps", type=int)
    parser.add_argument("--preempt-every", metavar="TIME")
    parser.add_argument("--bound", metavar="PATTERN")
    parser.add_argument("--io", metavar="BACKEND")


def backends(build):
    """Returns all values of --io that the command accepts."""
    shown = subprocess.run([build / "weft", "run", "--help"], text=True,
                           capture_output=True, check=True).stdout
    return re.search(r"^ *--io (\S+)", shown, re.M)[1].split("|")


def weft_prefix(options, more=()):
    """The command in front of a program that makes it run on weft, with `more`
    options of weft's."""
    prefix = [str(options.build.resolve() / "weft"), "run"]
    if options.vps:
        prefix += ["--vps", str(options.vps)]
    if options.preempt_every:
        prefix += ["--preempt-every", options.preempt_every]
    if options.bound:
        prefix += ["--bound", options.bound]
    if options.io:
        prefix += ["--io", options.io]
    return [*prefix, *more, "--"]


def require_weft(options):
    """Ends the program if nothing runs on weft: then nothing is tested."""
    weft = str(options.build / "weft")
    try:
        done = subprocess.run([weft, "run", "--", "true"], env=environment(),
                              capture_output=True, text=True, timeout=30)
    except OSError as error:
        sys.exit(f"{weft}: {error.strerror}; run ./dev build")
    if done.returncode != 0:
        sys.exit(f"{weft} run true: status {done.returncode}\n{done.stderr}")


def environment(extra=None):
    kept = {name: value for name, value in os.environ.items()
            if name not in SCRUBBED and not name.startswith("WEFT_")}
    # ThreadSanitizer lets each process with threads sleep for a second at its
    # end, to find further races.
    return {"TSAN_OPTIONS": "atexit_sleep_ms=0"} | kept | (extra or {})


def session_processes(session):
    """Pids of the session that started with the command, which is how its
    children are found after their parent's end."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                pid = int(entry.name)
                if os.getsid(pid) == session:
                    yield pid
            except ProcessLookupError:
                continue


def backtraces(session, command):
    """Writes backtraces of all threads; returns the file's name."""
    with tempfile.NamedTemporaryFile("w", prefix="weft-hang-", suffix=".log",
                                     delete=False) as log:
        log.write(f"{' '.join(map(str, command))}\n")
        log.flush()
        for pid in session_processes(session):
            log.write(f"\n== process {pid}\n")
            log.flush()
            if not shutil.which("gdb"):
                log.write("no gdb\n")
                continue
            try:
                subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx",
                                "-ex", "set debuginfod enabled off",
                                "-ex", "thread apply all bt 30"],
                               stdin=subprocess.DEVNULL, stdout=log,
                               stderr=subprocess.STDOUT, timeout=60)
            except subprocess.TimeoutExpired:
                log.write("gdb did not end\n")
        return log.name


def print_trace(result):
    """Prints where the threads were, if the command hung: the file may be out
    of reach for the reader of this output."""
    if result.trace:
        print(f"    backtraces: {result.trace}")
        shown = pathlib.Path(result.trace).read_text(errors="replace")
        print(shown[:TRACE_SHOWN])


def kill_session(session):
    for pid in list(session_processes(session)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, limit_s, env=None, cwd=None, stdin=None):
    """Runs a command in its own session, and then kills the rest of the
    session."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            list(map(str, command)), stdout=out, stderr=err, cwd=cwd,
            stdin=stdin or subprocess.DEVNULL, env=environment(env),
            start_new_session=True)
        trace = ""
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
            trace = backtraces(process.pid, command)
        seconds = time.monotonic() - start
        kill_session(process.pid)
        process.wait()
        out.seek(0)
        err.seek(0)
        return Result(status, out.read(), err.read(), seconds, trace)


def text(output, nr_lines=8):
    """The last lines of an output, indented."""
    lines = output.decode(errors="replace").splitlines()[-nr_lines:]
    return "\n".join(f"    {line}" for line in lines)
