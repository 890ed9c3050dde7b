# SPDX-License-Identifier: MIT
"""weft doctor PID says how a process runs on weft."""

import os
import shutil
import subprocess
import time

import pytest

from outside import BUILD, LIMIT_S, environment, weft


def rows(pid):
    """{name of a row: its texts}"""
    found = {}
    result = weft("doctor", pid)
    assert result.stderr == ""
    for line in result.stdout.splitlines():
        found.setdefault(line[:18].strip(), []).append(line[18:])
    return found


def await_rows(pid, is_there):
    """Returns the first rows of `weft doctor PID` for which is_there(rows) is
    true."""
    end = time.monotonic() + LIMIT_S
    while not is_there(found := rows(pid)):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def waits(uring, workers):
    return f"waits now: {uring} by uring, {workers} by workers"


@pytest.fixture
def refused(start, tmp_path):
    def run(*words, **options):
        nr = len(list(tmp_path.iterdir()))
        program = start("see_refused", tmp_path / f"lock{nr}", *words,
                        **options)
        program.tids = {}
        for line in program.read():
            tid, where = line.split()
            program.tids.setdefault(where, []).append(int(tid))
        return program
    return run


def test_the_backend_is_named(refused):
    program = refused(options=["--vps", "3"])
    found = await_rows(program.pid,
                       lambda r: r["I/O backend"] == [f"uring; {waits(2, 1)}"])
    assert found["process"] == [
        f"{program.pid} on weft 0.2.0, 3 virtual processors, 3 threads"]
    assert found["bound"] == ["no thread"]
    assert found["fell back"] == ["nothing"]


@pytest.mark.parametrize("io", ["workers", "process"])
def test_another_backend_was_asked_for(refused, io):
    program = refused(options=["--io", io])
    found = await_rows(program.pid, lambda r: r["I/O backend"][0].endswith(
        waits(0, 3)))
    assert found["I/O backend"] == [f"{io}, as WEFT_IO asks; {waits(0, 3)}"]
    assert found["fell back"] == ["nothing"]


FALLBACKS = {
    "io_uring": "io_uring is refused: I/O workers wait for descriptors",
    "membarrier": "membarrier is refused: threads that block in the kernel "
                  "hold up others",
    "guards": "MADV_GUARD_INSTALL is refused: vm.max_map_count limits the "
              "stacks",
    "cpu_timers": "timers of CPU time are refused: the monitor alone preempts",
}


@pytest.mark.parametrize("word", FALLBACKS)
def test_each_fallback_is_named(refused, word):
    program = refused(word)
    await_rows(program.pid,
               lambda r: r["fell back"] == [FALLBACKS[word]])


def test_workers_stand_in_for_io_uring(refused):
    program = refused("io_uring", "membarrier")
    found = await_rows(program.pid, lambda r: r["I/O backend"][0].endswith(
        waits(0, 3)))
    assert found["I/O backend"] == [
        f"workers, for want of io_uring; {waits(0, 3)}"]
    assert found["fell back"] == [FALLBACKS["io_uring"],
                                  FALLBACKS["membarrier"]]


def test_workers_stand_in_for_processes(refused):
    program = refused("processes", options=["--io", "process"])
    found = await_rows(program.pid, lambda r: r["I/O backend"][0].startswith(
        "workers, in place of process; "))
    assert found["fell back"] == ["processes that share memory are refused: "
                                  "I/O workers make the calls"]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("unshare"),
                    reason="only root can take /proc away")
def test_a_missing_proc_is_named(tmp_path):
    with subprocess.Popen(
            ["unshare", "-m", "sh", "-c", "umount -l /proc && exec \"$@\"",
             "sh", BUILD / "test/see/see_refused", tmp_path / "lock"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**environment(), "LD_PRELOAD": str(BUILD / "libweft.so.0"),
                 "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}) as process:
        while (line := process.stdout.readline()) != "ready\n":
            assert line
        await_rows(process.pid, lambda r: r["fell back"] == [
            "/proc cannot be read: threads that block in the kernel are "
            "noticed late"])
        process.stdin.close()


def test_bound_threads_are_named_with_the_reason(refused):
    program = refused("affinity", options=["--bound", "see_refused"])
    named = {why: [f"{tid} (see_refused)" for tid in program.tids[where]]
             for why, where in (("option", "pipe"), ("affinity", "affinity"))}
    everyone = named["option"] + [
        f"{tid} (see_refused)" for tid in program.tids["lock"]] + \
        named["affinity"]
    assert rows(program.pid)["bound"] == [
        "4 threads (option): --bound names their start routine: " +
        ", ".join(everyone)]
    program = refused("affinity")
    assert await_rows(program.pid, lambda r: len(r["bound"]) == 1)["bound"] == [
        "2 threads (affinity): they have CPUs of their own: " + ", ".join(
            f"{tid} (see_refused)" for tid in program.tids["affinity"])]


def test_a_process_that_cannot_be_read_is_an_error():
    for pid, text in ((os.getpid(), "runs without weft"),
                      (2 ** 22 + 1, "there is no such process")):
        found = weft("doctor", pid, check=False)
        assert (found.returncode, found.stdout) == (125, "")
        assert found.stderr.startswith(f"weft: {pid}: ")
        assert text in found.stderr or "weft" in found.stderr
        assert found.stderr.count("\n") == 1
