# SPDX-License-Identifier: MIT
"""Debuggers show all threads of the cores that weft core makes."""

import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import time

import pytest

import debuggers
from outside import BUILD, LIMIT_S, WEFT, await_dump, dump, environment, weft

PROGRAM = BUILD / "test/see/see_crash"
WAITS = BUILD / "test/see/see_waits"
PT_NOTE, HEADER = 4, struct.Struct("<IIQQQQQQ")
DEPTHS = 5
# A stack of 64 KiB keeps the kernel's cores small.
SMALL = ["--stack-size", "64K", "--vps", "1"]


def rows_of(lines):
    """{tid: (function, value of `mine`)}"""
    return {int(tid): (function, int(mine)) for tid, function, mine in
            (line.split() for line in lines)}


def crashed(folder, nr, on_weft=True):
    """The core that the kernel writes of a crash, and the threads."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    if pattern[0] in "|/" or not os.access(folder, os.W_OK):
        pytest.skip(f"the kernel writes no core here: {pattern}")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("no core may be written")

    def allow():
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    runner = [WEFT, "run", *SMALL] if on_weft else []
    with subprocess.Popen([*runner, PROGRAM, str(nr)], cwd=folder, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=environment(), preexec_fn=allow) as process:
        lines = []
        while lines[-1:] != ["ready\n"]:
            lines.append(process.stdout.readline())
            assert lines[-1], "the program has ended"
        process.stdin.write("crash\n")
        process.stdin.flush()
        assert process.wait(LIMIT_S) == -11
        core, = folder.glob("core*")
        return core.rename(folder / "kernel"), rows_of(lines[:-1]), process.pid


def check_stacks(stacks, rows, first):
    """Checks that the core has exactly these threads, each in its function and
    at its depth."""
    own = {tid: called for tid, called in stacks.items() if tid in rows}
    assert own.keys() == rows.keys()
    for tid, called in own.items():
        function, number = rows[tid]
        assert function in called, (tid, called)
        if function == "wait":
            assert called.count("descend") == 1 + number % DEPTHS
    assert "main" in stacks[first]
    for tid, called in stacks.items():
        if tid not in rows and tid != first:
            assert not {"wait", "compute", "fall", "main"} & set(called)


@pytest.mark.parametrize("nr", [3, 1000])
def test_a_crash_has_all_threads(tmp_path, nr):
    core, rows, first = crashed(tmp_path, nr)
    before = debuggers.gdb_stacks(PROGRAM, core)
    assert sum("descend" in called for called in before.values()) == 0
    done = weft("core", core)
    assert f"of {nr + 4} threads\n" in done.stderr
    check_stacks(debuggers.gdb_stacks(PROGRAM, core), rows, first)
    values = debuggers.gdb_values(PROGRAM, core, "mine")
    assert {tid: int(value) for tid, value in values.items()
            if tid in rows} == {tid: row[1] for tid, row in rows.items()}
    bases = debuggers.gdb_values(PROGRAM, core, "$fs_base", "/x")
    assert {tid: bases[tid] for tid in rows} == {
        t["tid"]: t["pthread"] for t in dump(core)["threads"]
        if t["tid"] in rows}
    # The debugger begins with the thread that crashed.
    assert "fall (" in debuggers.gdb(PROGRAM, core, "bt 1")


def test_a_preempted_thread_has_its_floating_registers(tmp_path):
    core, rows, _ = crashed(tmp_path, 3)
    weft("core", core)
    values = debuggers.gdb_values(PROGRAM, core, "$xmm7.v2_int64[0]")
    for tid, (function, number) in rows.items():
        if function == "compute":
            assert int(values[tid]) == number


def test_a_thread_that_ran_has_a_stack(tmp_path):
    core, rows, _ = crashed(tmp_path, 3)
    falling = next(tid for tid in rows if rows[tid][0] == "fall")
    row, = [t for t in dump(core)["threads"] if t["tid"] == falling]
    assert row["state"] == "running"
    assert int(row["registers"]["rip"], 16) > 0
    if "without libdw" not in weft("stacks", "--help").stdout:
        text = weft("stacks", f"--tid={falling}", core).stdout
        assert "\n    fall+" in text


def test_only_notes_are_added(tmp_path):
    core, _, _ = crashed(tmp_path, 100)
    old = core.read_bytes()
    weft("core", core)
    new = core.read_bytes()
    nr, = struct.unpack_from("<H", old, 56)
    at, = [at for at in range(64, 64 + 56 * nr, 56)
           if HEADER.unpack_from(old, at)[0] == PT_NOTE]
    assert new[:at] == old[:at]
    assert new[at + 56:len(old)] == old[at + 56:]
    _, _, offset, _, _, size, _, _ = HEADER.unpack_from(new, at)
    assert offset >= len(old) and offset + size == len(new)
    # It is not done twice.
    assert ": added 0 of 104 threads\n" in weft("core", core).stderr
    assert core.read_bytes() == new


def filtered(core, *arguments, temporary="/var/tmp"):
    with open(core, "rb") as file, subprocess.Popen(
            ["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        return subprocess.run([WEFT, "core", *arguments], stdin=cat.stdout,
                              check=False, capture_output=True,
                              env={**environment(), "TMPDIR": temporary},
                              timeout=LIMIT_S)


def test_each_way_makes_the_same_core(tmp_path):
    core, _, _ = crashed(tmp_path, 100)
    out = tmp_path / "out"
    weft("core", core, out)
    want = out.read_bytes()
    assert len(want) > core.stat().st_size
    assert out.stat().st_mode & 0o777 == 0o600
    # Zeros are holes, as in the kernel's core.
    assert out.stat().st_blocks < 2 * core.stat().st_blocks + 1000
    assert filtered(core, "-").stdout == want
    filtered(core, "-", out)
    assert out.read_bytes() == want
    if shutil.which("zstd"):
        packed = tmp_path / "core.zst"
        subprocess.run(["zstd", "-q", core, "-o", packed], check=True)
        done = weft("core", packed, out, check=False)
        if "without libzstd" in done.stderr:
            assert out.read_bytes() == packed.read_bytes()
            pytest.skip("built without libzstd")
        assert out.read_bytes() == want
        assert filtered(packed, "-").stdout == want
        assert weft("core", packed, check=False).returncode == 125
        check_cut(packed, out)
    weft("core", core, core)
    assert core.read_bytes() == want


def check_cut(packed, out):
    half = packed.read_bytes()[:packed.stat().st_size // 2]
    packed.write_bytes(half)
    done = weft("core", packed, out, check=False)
    assert done.returncode == 125
    assert done.stderr == f"weft: {packed}: its compressed data is cut off; " \
        "copied as far as it goes\n"
    packed.write_bytes(half[:20] + bytes(50) + half[70:])
    done = weft("core", packed, out, check=False)
    assert "compressed data is damaged" in done.stderr


def test_the_core_of_another_program_is_kept(tmp_path):
    core, _, _ = crashed(tmp_path, 3, on_weft=False)
    out = tmp_path / "out"
    done = weft("core", core, out, check=False)
    assert done.returncode == 125
    assert "does not run on weft" in done.stderr
    assert done.stderr.endswith("; copied as it is\n")
    assert done.stderr.count("\n") == 1
    assert out.read_bytes() == core.read_bytes()
    assert filtered(core, "-").stdout == core.read_bytes()
    done = filtered(core, "-", temporary="/no/such/folder")
    assert done.returncode == 125 and done.stderr.count(b"\n") == 1
    assert done.stdout == core.read_bytes()


def test_a_core_that_is_cut_off_is_kept(tmp_path):
    core, _, _ = crashed(tmp_path, 20)
    whole = core.read_bytes()
    for size in (0, 3, 70, 5000, len(whole) // 2, len(whole) - 1):
        core.write_bytes(whole[:size])
        done = weft("core", core, check=False)
        assert done.returncode == 125 and done.stderr.count("\n") == 1
        assert core.read_bytes() == whole[:size]
        assert filtered(core, "-").stdout == whole[:size]
    assert "is cut off" in done.stderr


def test_hostile_cores_are_refused_or_read(start, tmp_path):
    program = start("see_waits", 20, options=["--stack-size", "64K"])
    program.read()
    core = tmp_path / "core"
    weft("core", program.pid, core)
    whole = core.read_bytes()
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    assert len(dump(core)["threads"]) == 21
    notes = HEADER.unpack_from(whole, 64)
    read = 0
    for _ in range(200):
        hostile = bytearray(whole)
        for _ in range(chance.randrange(1, 20)):
            at = chance.choice([
                chance.randrange(4000),
                notes[2] + chance.randrange(notes[5])])
            hostile[at] = chance.choice([0, 1, 127, 255,
                                         chance.randrange(256)])
        core.write_bytes(hostile)
        done = weft("core", core, tmp_path / "out", check=False)
        assert done.returncode in (0, 125)
        read += done.returncode == 0
        assert done.stderr.count("\n") == 1
    # A few bytes do not keep all of them from being read.
    assert read > 0


# --- live processes ---------------------------------------------------------

def waits(start, nr):
    """see_waits with all threads parked, {tid: its function}."""
    program = start("see_waits", nr)
    rows = {int(words[0]): words[3] for words in map(str.split, program.read())
            if words[0] != "descriptor"}
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == nr + 1)
    return program, rows


def core_of(program, path):
    done = weft("core", program.pid, path)
    match = re.fullmatch(
        rf"weft: {path}: has (\d+) threads; process {program.pid} was stopped "
        r"for (\d+) ms\n", done.stderr)
    assert match, done.stderr
    state = pathlib.Path(f"/proc/{program.pid}/stat").read_text()
    assert state.rsplit(")")[1].split()[0] in "SR"
    return int(match[1])


def check_waits(stacks, rows, first):
    functions = {"semaphore": {"wait_semaphore", "help"},
                 "rwlock_read": {"wait_read"},
                 "rwlock_write": {"wait_write"}}
    for tid, kind in rows.items():
        assert functions.get(kind, {f"wait_{kind}"}) & set(stacks[tid])
    assert "main" in stacks[first]


@pytest.mark.parametrize("nr", [3, 1000, 5000])
def test_gdb_shows_all_threads_of_a_process(start, tmp_path, nr):
    program, rows = waits(start, nr)
    assert core_of(program, tmp_path / "core") == nr + 1
    check_waits(debuggers.gdb_stacks(WAITS, tmp_path / "core"), rows,
                program.pid)
    # The table says the same of the process and of the core.
    live = {t["tid"]: t for t in dump(program.pid)["threads"]}
    for thread in dump(tmp_path / "core")["threads"]:
        same = live[thread["tid"]]
        assert thread["registers"] == same["registers"]
        assert thread["parkBlocker"] == same["parkBlocker"]


@pytest.mark.parametrize("nr", [3, 1000])
def test_eu_stack_shows_all_threads_of_a_process(start, tmp_path, nr):
    program, rows = waits(start, nr)
    core_of(program, tmp_path / "core")
    check_waits(debuggers.eu_stacks(WAITS, tmp_path / "core"), rows,
                program.pid)


@pytest.mark.parametrize("nr", [3, 1000])
def test_lldb_shows_all_threads_of_a_process(start, tmp_path, nr):
    program, rows = waits(start, nr)
    core_of(program, tmp_path / "core")
    stacks = debuggers.lldb_stacks(WAITS, tmp_path / "core")
    found = [name for called in stacks for name in called
             if name.startswith("wait_")]
    for kind in ("mutex", "condition", "barrier", "sleep", "io", "signal"):
        assert found.count(f"wait_{kind}") == \
            list(rows.values()).count(kind)


def test_a_process_that_computes_is_stopped(start, tmp_path):
    program = start("see_crash", 10, options=["--vps", "1"])
    rows = rows_of(program.read())
    end = time.monotonic() + LIMIT_S
    seen = set()
    while seen != {"running", "runnable"}:
        assert time.monotonic() < end
        core_of(program, tmp_path / "core")
        states = {t["tid"]: t["state"]
                  for t in dump(tmp_path / "core")["threads"]}
        mine = {states[tid] for tid in rows if rows[tid][0] == "compute"}
        if mine == {"running", "runnable"}:
            seen = mine
    check_stacks(debuggers.gdb_stacks(PROGRAM, tmp_path / "core"), rows,
                 program.pid)
    values = debuggers.gdb_values(PROGRAM, tmp_path / "core", "mine")
    assert all(int(values[tid]) == row[1] for tid, row in rows.items())


def test_a_core_of_a_process_goes_to_a_pipe(start, tmp_path):
    program, rows = waits(start, 30)
    done = subprocess.run([WEFT, "core", str(program.pid), "-"], check=True,
                          capture_output=True, env=environment(),
                          timeout=LIMIT_S)
    (tmp_path / "core").write_bytes(done.stdout)
    threads = {t["tid"] for t in dump(tmp_path / "core")["threads"]}
    assert threads == {*rows, program.pid}


# A process has one tracer at a time.
TRACER = """
import ctypes, pathlib, sys
for task in pathlib.Path(f"/proc/{sys.argv[1]}/task").iterdir():
    if ctypes.CDLL(None).ptrace(0x4206, int(task.name), None, None) != 0:
        sys.exit(1)
print("seized", flush=True)
sys.stdin.read()
"""


def test_an_old_file_stays_if_the_process_cannot_be_stopped(start, tmp_path):
    program, _ = waits(start, 3)
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("precious")
    with subprocess.Popen([sys.executable, "-c", TRACER, str(program.pid)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as tracer:
        if not tracer.stdout.readline():
            pytest.skip("no process may be traced here")
        for out in (old, new):
            done = weft("core", program.pid, out, check=False)
            assert done.returncode == 125
            assert done.stderr.startswith(f"weft: {program.pid}: ")
            assert done.stderr.count("\n") == 1
        tracer.stdin.close()
    assert old.read_text() == "precious"
    assert not new.exists()
    # Without the tracer it can.
    weft("core", program.pid, old)
    assert len(dump(old)["threads"]) == 4


def test_without_a_map_of_pages_all_are_written(start, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    program, rows = waits(start, 30)
    done = subprocess.run(
        ["strace", "-qq", "-o", tmp_path / "log", "-P",
         f"/proc/{program.pid}/pagemap", "-e", "trace=openat", "-e",
         "inject=openat:error=EACCES", WEFT, "core", str(program.pid),
         tmp_path / "core"], capture_output=True, text=True, check=False,
        env=environment(), timeout=LIMIT_S)
    if "INJECTED" not in (tmp_path / "log").read_text():
        pytest.skip(f"strace injects nothing here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    check_waits(debuggers.gdb_stacks(WAITS, tmp_path / "core"), rows,
                program.pid)
    # Pages that were never written are holes.
    assert (tmp_path / "core").stat().st_blocks * 512 < 100 << 20


# --- the command -------------------------------------------------------------

def test_a_full_disk_is_reported(start, tmp_path):
    program, _ = waits(start, 3)
    weft("core", program.pid, tmp_path / "core")
    for which in (program.pid, tmp_path / "core"):
        done = weft("core", which, "/dev/full", check=False)
        assert done.returncode == 125
        assert done.stderr == "weft: /dev/full: No space left on device\n"


@pytest.mark.parametrize("arguments, reason", [
    ([], "usage: weft core"), (["1"], "usage: weft core"),
    (["a", "b", "c"], "usage: weft core"), (["--other", "a"], "wrong option"),
    (["/no/such/file", "out"], "No such file"),
    ([__file__, "-"], "not a core file"),
    (["999999999", "-"], "there is no such process"),
    ([str(os.getpid()), "-"], "does not run on weft")])
def test_one_line_says_what_is_wrong(arguments, reason):
    done = weft("core", *arguments, check=False)
    assert done.returncode == 125
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_help():
    text = weft("core", "--help").stdout
    assert text == weft("help", "core").stdout
    assert "usage: weft core" in text
