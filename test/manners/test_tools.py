# SPDX-License-Identifier: MIT
"""Preloaded libraries of the user, tracers, profilers, debuggers."""

import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest

from conftest import (LIBRARY, PROGRAM, WEFT, both, compile_c, environment,
                      library, need, need_ptrace, outcome, run,
                      statistics)

PYTHON = "/usr/bin/python3"
WAITS = """
import threading, time
done = []
def sleep():
    time.sleep(0.01)
    done.append(1)
threads = [threading.Thread(target=sleep) for _ in range(50)]
for t in threads: t.start()
for t in threads: t.join()
c = threading.Condition()
with c:
    print(len(done), c.wait(0.05), time.gmtime().tm_year)
"""


# --- preloads ---

def test_jemalloc():
    preload = {"LD_PRELOAD": library("libjemalloc.so.2")}
    assert both([PROGRAM, "work"], preload).stdout == "total 16000\n"
    both([PYTHON, "-c", WAITS], preload)
    maps = run([*WEFT, "/bin/sh", "-c", "cat /proc/self/maps"], preload).stdout
    assert "libjemalloc" in maps and str(LIBRARY) in maps


def test_jemalloc_on_weft_under_a_rain_of_preemptions():
    preload = {"LD_PRELOAD": library("libjemalloc.so.2")}
    native = run([PROGRAM, "work"], preload)
    weft = run([*WEFT, "--vps", "2", "--preempt-every", "100us", PROGRAM,
                "work"], preload)
    assert outcome(weft) == outcome(native)


@pytest.mark.parametrize("name", ["libfaketime.so.1", "libfaketimeMT.so.1"])
def test_faketime(name):
    """libfaketime replaces timed waits, too, and they work."""
    preload = {"LD_PRELOAD": library(name, f"faketime/{name}")}
    still = preload | {"FAKETIME": "2001-02-03 04:05:06"}
    assert both([PROGRAM, "year"], still).stdout == "total 16000\n2001\n"
    shifted = preload | {"FAKETIME": "-7000d"}
    result = both([PROGRAM, "timed"], shifted)
    assert result.stdout == "woken\ntimed out\n"


def test_order_of_preloads():
    jemalloc = library("libjemalloc.so.2")
    result = run([*WEFT, "/usr/bin/env"],
                 {"LD_PRELOAD": f"libm.so.6 {jemalloc}"})
    assert f"LD_PRELOAD=libm.so.6:{jemalloc}:{LIBRARY}" in \
        result.stdout.splitlines()


# --- tracers ---

def test_strace(tmp_path):
    log = tmp_path / "log"
    result = run([need("strace"), "-f", "-o", log, *WEFT, PROGRAM, "work"])
    need_ptrace(result.stderr)
    assert outcome(result) == (0, "total 16000\n", "")
    assert "exit_group(0" in log.read_text()
    result = run([need("strace"), "-f", "-o", log, *WEFT, PROGRAM,
                  "end-in-thread", "exit"])
    assert result.returncode == 3


def test_perf(tmp_path):
    data = tmp_path / "perf.data"
    perf = [need("perf"), "record", "-q", "-g", "-e", "cpu-clock", "-o", data,
            "--"]
    if run([*perf, "/bin/true"]).returncode != 0:
        pytest.skip("perf is not permitted")
    result = run([*perf, *WEFT, PROGRAM, "compute"])
    assert result.returncode == 0 and "done" in result.stdout
    report = run([perf[0], "report", "-i", data, "--stdio", "--no-children",
                  "-g", "none"])
    assert "manners_program" in report.stdout


def test_valgrind():
    valgrind = need("valgrind")
    # Around the command: valgrind does not follow the program.
    command = [valgrind, "-q", "--trace-children=no", "--log-file=/dev/null"]
    assert run([*command, *WEFT, PROGRAM, "work"]).stdout == "total 16000\n"
    # Inside: one clear line, once there are threads.
    result = run([*WEFT, valgrind, "-q", PROGRAM, "work"])
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.splitlines()[-1].startswith("weft: valgrind")
    assert run([*WEFT, valgrind, "-q", "/bin/true"]).returncode == 0


# --- debuggers ---

def gdb(*arguments):
    command = [need("gdb"), "-nx", "-batch", "-iex",
               "set debuginfod enabled off"]
    return run([*command, *arguments], stdout=subprocess.PIPE,
               stderr=subprocess.STDOUT).stdout


def core_pattern():
    try:
        return pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    except OSError:
        return "?"


@pytest.mark.parametrize("where", ["thread", "main"])
@pytest.mark.parametrize("vps", ["1", "2"])
def test_core_file(tmp_path, where, vps):
    """The first thing that gdb shows is the frame of the fault."""
    need("gdb")
    if not re.fullmatch(r"[\w.-]+", core_pattern()):
        pytest.skip(f"cores go to '{core_pattern()}'")

    def allow():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    try:
        result = run([*WEFT, "--vps", vps, PROGRAM, "crash", where],
                     cwd=tmp_path, preexec_fn=allow)
    except subprocess.SubprocessError:
        pytest.skip("core files are forbidden here")
    assert result.returncode == -signal.SIGSEGV
    cores = list(tmp_path.iterdir())
    if not cores:
        pytest.skip("the kernel wrote no core file")
    shown = gdb("-ex", "bt", PROGRAM, cores[0])
    assert "SIGSEGV" in shown
    frames = re.findall(r"^#(\d)  .*?\b(crash_here|crash|main)\b", shown, re.M)
    assert frames[:3] == [("0", "crash_here"), ("0", "crash_here"),
                          ("1", "crash")]


def start_waiting():
    child = subprocess.Popen([*WEFT, "--vps", "2", PROGRAM, "wait"],
                             env=environment(), text=True, bufsize=1,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == "total 16000\n"
    assert child.stdout.readline() == "ready\n"
    return child


def test_gdb_attach():
    """A debugger attaches and detaches, while threads run and while they wait;
    then the run continues normally."""
    need("gdb")
    child = start_waiting()
    attach = ("-p", child.pid, "-ex", "thread apply all bt")
    shown = gdb(*attach)
    if "ptrace: Operation not permitted" in shown:
        child.kill()
        pytest.skip("ptrace is not permitted")
    assert "wait_and_work" in shown
    child.stdin.write("x" * 2000)
    child.stdin.flush()
    for _ in range(3):
        gdb(*attach)
    out, _ = child.communicate("y", timeout=60)
    assert child.returncode == 0
    assert out == "total 16000\n" * 2001


def test_gdb_run():
    """Under gdb from the start: a breakpoint in a thread, stepping, the end."""
    need("gdb")
    shown = gdb("-ex", "set startup-with-shell off",
                "-ex", f"set environment LD_PRELOAD {LIBRARY}",
                "-ex", "break crash_here", "-ex", "run", "-ex", "bt",
                "-ex", "next", "-ex", "kill", "--args", PROGRAM, "crash")
    if "ptrace" in shown and "not permitted" in shown:
        pytest.skip("ptrace is not permitted")
    assert re.search(r"^#1 .*\bcrash \(", shown, re.M)
    assert re.search(r"SIGSEGV.*\n.*crash_here|crash_here[^\n]*\n[^\n]*\n?"
                     r".*SIGSEGV", shown) or "SIGSEGV" in shown


IN_AN_EMULATOR = """
    #include <pthread.h>
    #include <stdio.h>
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    static long turn, nr_turns;
    static void *take_turns(void *arg)
    {
        for (int i = 0; i < 200; i++) {
            pthread_mutex_lock(&mutex);
            while (turn != (long)arg)
                pthread_cond_wait(&cond, &mutex);
            turn = (turn + 1) % 4;
            nr_turns++;
            pthread_cond_broadcast(&cond);
            pthread_mutex_unlock(&mutex);
        }
        return NULL;
    }
    int main(void)
    {
        pthread_t threads[4];
        for (long i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, take_turns, (void *)i);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        return printf("%ld\\n", nr_turns) < 0;
    }
"""


@pytest.mark.parametrize("vps", ["1", "2"])
def test_threads_in_an_emulator(tmp_path, vps):
    """qemu-user makes a thread for each of the program's, and its futex calls
    are compiled into generated code."""
    qemu = need(f"qemu-{os.uname().machine}")
    program = compile_c(tmp_path, IN_AN_EMULATOR, "-pthread")
    result = run([*WEFT, "--no-children", "--stats", "--vps", vps, qemu,
                  program])
    assert (result.returncode, result.stdout) == (0, "800\n"), result.stderr
    assert statistics(result)["threads made"] >= 4
