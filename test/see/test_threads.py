# SPDX-License-Identifier: MIT
"""weft threads and weft ps show what a program itself knows of its threads."""

import collections
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import termios

import pytest

import debuggers
from outside import (BUILD, LIMIT_S, WEFT, await_dump, dump, environment,
                     weft)

SLEEP_S = 100000


def expected(program):
    """Returns the rows that the program see_waits prints, as {tid: (pthread,
    start, kind, object, owner)}, and the descriptor for which one of its
    threads waits."""
    rows, descriptor = {}, None
    for line in program.read():
        words = line.split()
        if words[0] == "descriptor":
            descriptor = int(words[1])
        else:
            rows[int(words[0])] = (*words[1:5], int(words[5]))
    return rows, descriptor


def are_parked(rows):
    def check(threads):
        parked = {t["tid"] for t in threads if t["state"] == "parked"}
        return parked >= set(rows)
    return check


def check_blocker(blocker, want, descriptor):
    kind, address, owner = want
    assert blocker["kind"] == kind
    if int(address, 16) != 0:
        assert blocker["object"] == address
    assert blocker.get("owner", {}).get("tid", 0) == owner
    if kind == "io":
        assert blocker["descriptor"] == descriptor
        assert blocker["operation"] in ("read", "readv", "poll")
        assert blocker["backend"] in ("uring", "workers")
    elif kind == "signal":
        assert blocker["signals"] == [10, 39]
    elif kind == "barrier":
        assert blocker["count"] == 1000000


def check_rows(found, rows, descriptor):
    threads = {t["tid"]: t for t in found["threads"]}
    for tid, (pthread, start, *want) in rows.items():
        thread = threads[tid]
        assert thread["state"] == "parked"
        assert thread["pthread"] == pthread
        assert thread["startAddress"] == start
        assert thread["startRoutine"].startswith("see_waits+0x")
        check_blocker(thread["parkBlocker"], want, descriptor)
        assert int(thread["registers"]["rip"], 16) != 0
    return threads


@pytest.mark.parametrize("nr", [13, 1000, 5000])
def test_each_wait_is_as_the_program_knows_it(start, nr):
    program = start("see_waits", nr)
    rows, descriptor = expected(program)
    assert len(rows) == nr
    found = await_dump(program.pid, are_parked(rows))
    threads = check_rows(found, rows, descriptor)
    assert set(threads) == set(rows) | {program.pid}
    assert found["deadlocks"] == []
    arrived = {t["parkBlocker"]["arrived"] for t in threads.values()
               if t.get("parkBlocker", {}).get("kind") == "barrier"}
    waiters = sum(row[2] == "barrier" for row in rows.values())
    assert arrived == {waiters}
    sleeping = [t for t in threads.values()
                if t.get("parkBlocker", {}).get("kind") == "sleep"]
    assert all("waitedMs" in thread for thread in sleeping)
    for thread in sleeping:
        assert 0 < thread["leftMs"] <= SLEEP_S * 1000
        # 4.2 ms is the unit of the begin.
        assert abs(thread["leftMs"] + thread["waitedMs"] -
                   SLEEP_S * 1000) < 50


def test_the_table_has_a_row_for_each_thread(start):
    program = start("see_waits", 200)
    rows, descriptor = expected(program)
    await_dump(program.pid, are_parked(rows))
    lines = weft("threads", program.pid).stdout.splitlines()
    assert len(lines) == 1 + len(rows) + 1
    by_tid = {int(line.split()[0]): line for line in lines[1:]}
    for tid, (_, _, kind, address, owner) in rows.items():
        assert "  parked  " in by_tid[tid]
        if kind == "join":
            assert f"exit of {owner}" in by_tid[tid]
        elif int(address, 16) != 0:
            assert f"{kind} {address}" in by_tid[tid]
            assert owner == 0 or f"held by {owner} " in by_tid[tid]
        elif kind == "io":
            assert f"of descriptor {descriptor}" in by_tid[tid]


def on_terminal(columns, *command):
    """The lines that the command prints on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([WEFT, *map(str, command)], stdout=slave,
                          env=environment()) as process:
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):  # EIO at the end
            while data := os.read(master, 4096):
                text += data
        os.close(master)
        assert process.wait(LIMIT_S) == 0
    return text.decode().splitlines()


def test_lines_are_cut_on_a_terminal_only(start):
    program = start("see_waits", 20)
    rows, _ = expected(program)
    await_dump(program.pid, are_parked(rows))
    one = next(f"--tid={tid}" for tid, row in rows.items()
               if row[2] == "mutex")
    whole = weft("threads", one, program.pid).stdout.splitlines()
    assert len(whole[1]) > 100
    assert whole[1].endswith(f"held by {program.pid} (see_waits)")
    narrow = on_terminal(60, "threads", one, program.pid)
    assert len(narrow) == 2
    # Only the time differs.
    assert [len(line) for line in narrow] == [60, 60]
    assert narrow[1][:38] == whole[1][:38]
    wide = on_terminal(200, "threads", one, program.pid)
    assert wide[1].endswith(f"held by {program.pid} (see_waits)")


def test_filters_select_rows(start):
    program = start("see_waits", 100)
    rows, _ = expected(program)
    await_dump(program.pid, are_parked(rows))
    kinds = collections.Counter(row[2] for row in rows.values())
    pid = program.pid
    for kind in ("semaphore", "sleep", "join", "io"):
        found = dump(pid, f"--waits-for={kind}")["threads"]
        others = 1 if kind == "io" else 0  # main reads its input
        assert len(found) == kinds[kind] + others
    assert len(dump(pid, "--waits-for=rwlock")["threads"]) == \
        kinds["rwlock_read"] + kinds["rwlock_write"]
    mutex = next(row[3] for row in rows.values() if row[2] == "mutex")
    assert len(dump(pid, f"--waits-for={mutex}")["threads"]) == kinds["mutex"]
    assert len(dump(pid, f"--waits-for={pid}")["threads"]) == sum(
        row[4] == pid for row in rows.values())
    assert dump(pid, "--state=running")["threads"] == []
    assert len(dump(pid, "--name=see_*")["threads"]) == len(rows) + 1
    assert dump(pid, "--name=other")["threads"] == []
    one = next(iter(rows))
    assert [t["tid"] for t in dump(pid, f"--tid={one}")["threads"]] == [one]
    tids = [t["tid"] for t in dump(pid, "--sort=tid")["threads"]]
    assert tids == sorted(tids)
    names = [t["name"] for t in dump(pid, "--sort=name")["threads"]]
    assert names == sorted(names)
    since = [t["waitedMs"] for t in dump(pid, "--sort=since")["threads"]]
    assert since == sorted(since, reverse=True)


def test_a_core_has_the_same_rows(start, tmp_path):
    if not shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    program = start("see_waits", 300)
    rows, descriptor = expected(program)
    await_dump(program.pid, are_parked(rows))
    core = tmp_path / "core"
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(program.pid),
                           "-ex", f"generate-core-file {core}"],
                          capture_output=True, text=True, check=False)
    if not core.exists():
        pytest.skip(f"gdb made no core: {done.stderr[-200:]}")
    found = dump(core)
    threads = {t["tid"]: t for t in found["threads"]}
    for tid, (pthread, start_routine, *want) in rows.items():
        assert threads[tid]["pthread"] == pthread
        assert threads[tid]["startAddress"] == start_routine
        # gdb leaves stacks with guards out, where these two have their data.
        if want[0] not in ("io", "priority_mutex"):
            check_blocker(threads[tid]["parkBlocker"], want, descriptor)
    cut = core.read_bytes()[:100000]
    core.write_bytes(cut)
    assert weft("threads", core, check=False).returncode == 125


def test_a_stripped_program_is_read_the_same_way(start, tmp_path):
    stripped = tmp_path / "see_waits"
    subprocess.run(["strip", "-s", "-o", stripped,
                    BUILD / "test/see/see_waits"], check=True)
    program = start("see_waits", 50, path=stripped)
    rows, descriptor = expected(program)
    check_rows(await_dump(program.pid, are_parked(rows)), rows, descriptor)


NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child",
              "--mount-proc"]


def need_namespaces():
    if subprocess.run([*NAMESPACES, "true"], capture_output=True,
                      check=False).returncode != 0:
        pytest.skip("no namespaces may be made here")


def first_child(pid):
    children = f"/proc/{pid}/task/{pid}/children"
    return int(pathlib.Path(children).read_text().split()[0])


# A thread waits beside a mapping of the file given, below all libraries.
MAPS_A_FILE = """
import ctypes, mmap, sys, threading
place = ctypes.c_void_p(1 << 29)
with open(sys.argv[1], "rb") as file:
    ctypes.CDLL(None).mmap(place, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE,
                           file.fileno(), ctypes.c_long(0))
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_description_without_this_process_s_addresses_is_no_such(
        start, tmp_path):
    """The page after the library's constants has one, if the linker has put
    the data there. The file of that name has the library's, as linked."""
    copy = tmp_path / "libweft.so.linked"
    data = (BUILD / "libweft.so.0").read_bytes()
    at = data.index(b"WeftSee\n")
    copy.write_bytes(data[at:at + 4096])
    program = start("", "-c", MAPS_A_FILE, copy, path=shutil.which("python3"))
    assert program.read() == []
    maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text()
    assert 0 < maps.index(str(copy)) < maps.index("libweft.so.0")
    result = weft("threads", program.pid, check=False)
    assert result.returncode == 0 and "parked" in result.stdout


@pytest.mark.parametrize("before", [[], NAMESPACES])
def test_threads_that_do_not_wait_have_their_state(start, before):
    if before:
        need_namespaces()
    program = start("see_states", options=["--vps", "1"], before=before)
    states = dict(reversed(line.split()) for line in program.read())
    exited, calling = int(states["exited"]), int(states["system-call"])
    computing = {int(line.split()[0]) for line in program.lines
                 if line.endswith("computes")}
    pid = first_child(program.pid) if before else program.pid

    def are_there(threads):
        by_tid = {t["tid"]: t for t in threads}
        return by_tid[exited]["state"] == "exited" and \
            by_tid[calling].get("systemCallName") == "nanosleep" and \
            {by_tid[tid]["state"] for tid in computing} == \
            {"running", "runnable"}
    threads = {t["tid"]: t for t in await_dump(pid, are_there)["threads"]}
    assert threads[calling]["state"] == "system-call"
    assert threads[calling]["carrier"]["tid"] > 0
    running = [t for t in threads.values() if t["state"] == "running"]
    assert [t["virtualProcessor"] for t in running] == [0]
    queues = {threads[tid].get("queue") for tid in computing} - {None}
    assert queues <= {"interactive", "batch", "next", "remote", "injection"}
    assert queues


def test_other_namespaces_make_no_difference(start):
    """In its namespaces the program has pid 1 and another root directory."""
    need_namespaces()
    program = start("see_waits", 60, before=NAMESPACES)
    rows, descriptor = expected(program)
    pid = first_child(program.pid)
    threads = check_rows(await_dump(pid, are_parked(rows)), rows, descriptor)
    assert threads[1]["first"]
    assert {row[4] for row in rows.values()} >= {0, 1}


def test_a_core_of_another_namespace_has_the_same_rows(start, tmp_path):
    """The rows have the numbers that the program knows."""
    need_namespaces()
    program = start("see_waits", 60, before=NAMESPACES)
    rows, descriptor = expected(program)
    pid = first_child(program.pid)
    await_dump(pid, are_parked(rows))
    weft("core", pid, tmp_path / "core")
    found = dump(tmp_path / "core")
    threads = check_rows(found, rows, descriptor)
    assert set(threads) == set(rows) | {1}
    assert threads[1]["first"]
    if "without libdw" in weft("stacks", "--help").stdout:
        return
    for which in pid, tmp_path / "core":
        text = weft("stacks", "--json", which).stdout
        functions = {t["tid"]: [frame.get("function")
                                for frame in stack["frames"]]
                     for stack in json.loads(text)["stackDump"]["stacks"]
                     for t in stack["threads"]}
        for tid, row in rows.items():
            assert {f"wait_{row[2]}", "help", "wait_read", "wait_write"} & \
                set(functions[tid])
        assert "main" in functions[1]
    stacks = debuggers.gdb_stacks(BUILD / "test/see/see_waits",
                                  tmp_path / "core")
    assert set(rows) <= set(stacks)


def test_each_backend_and_number_of_vps(start):
    for options in (["--io", "workers"], ["--vps", "1"], ["--vps", "3"]):
        program = start("see_waits", 40, options=options)
        rows, descriptor = expected(program)
        found = await_dump(program.pid, are_parked(rows))
        check_rows(found, rows, descriptor)
        if options[0] == "--vps":
            assert found["virtualProcessors"] == int(options[1])
            continue
        backends = {t["parkBlocker"]["backend"] for t in found["threads"]
                    if t["tid"] in rows and "backend" in t["parkBlocker"]}
        assert backends == {"workers"}


def test_a_bound_thread_says_why(start):
    program = start("see_waits", 13, options=["--bound", "see_waits"])
    rows, _ = expected(program)
    found = await_dump(program.pid, lambda threads: len(threads) == 14)
    bound = {t["tid"]: t["bound"] for t in found["threads"] if "bound" in t}
    assert {bound[tid] for tid in rows} == {"option"}
    for thread in found["threads"]:
        if thread["tid"] in rows:
            assert thread["carrier"]["tid"] > 0


def test_ps_lists_the_process(start):
    program = start("see_waits", 30)
    rows, _ = expected(program)
    await_dump(program.pid, are_parked(rows))
    lines = weft("ps").stdout.splitlines()
    row = next(line.split() for line in lines[1:]
               if line.split()[0] == str(program.pid))
    assert row[1] == "see_waits"
    assert int(row[4]) == 31
    processes = json.loads(weft("ps", "--json").stdout)["processes"]
    mine = next(p for p in processes if p["processId"] == program.pid)
    assert mine["threads"] == 31
    assert sum(mine["states"].values()) == 31
    assert mine["program"].endswith("/see_waits")


def start_as(start, tmp_path, name):
    """A program with threads of this name, which is that of its file."""
    path = tmp_path / name
    shutil.copy(BUILD / "test/see/see_waits", path)
    program = start("see_waits", 3, path=path)
    program.read()
    return program


@pytest.mark.parametrize("name, shown", [
    ("größe-東", "größe-東"),
    ("größe-öööö", "größe-ööö?"),  # a name has 15 bytes
    ('a"\\b\1', 'a"\\b?'),
    (b"a\xff\xc3b\xe6\x9d\xf8", "a??b???"),
    (b"\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80", "?????????"),
])
def test_json_has_all_that_is_utf8(start, tmp_path, name, shown):
    program = start_as(start, tmp_path,
                       name if isinstance(name, str) else os.fsdecode(name))
    first = next(t for t in dump(program.pid)["threads"] if t.get("first"))
    assert first["name"] == shown


def test_a_terminal_s_width_counts_characters(start, tmp_path):
    program = start_as(start, tmp_path, "größe-öööx")
    await_dump(program.pid, are_parked([program.pid]))
    lines = on_terminal(60, "threads", f"--tid={program.pid}", program.pid)
    assert [len(line) for line in lines] == [60, 60]
    assert " größe-öööx " in lines[1]
    assert lines[1].index("parked") == lines[0].index("STATE")


@pytest.mark.parametrize("which, reason", [
    ("999999999", "there is no such process"),
    (str(os.getpid()), "does not run on weft"),
    (__file__, "neither the number of a process nor a core file"),
    ("/no/such/file", "No such file or directory"),
])
def test_one_line_says_what_is_wrong(which, reason):
    done = weft("threads", which, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith(f"weft: {which}: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [
    [], ["1", "2"], ["--state=odd", "1"], ["--sort=odd", "1"],
    ["--tid=0", "1"], ["--other", "1"]])
def test_wrong_arguments_are_refused(arguments):
    done = weft("threads", *arguments, check=False)
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [
    "--state=parked", "--name=x*", "--waits-for=mutex", "--tid=1",
    "--sort=tid"])
def test_the_text_of_waits_selects_no_threads(start, option):
    program = start("see_waits", 3)
    program.read()
    done = weft("threads", "--waits", option, program.pid, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    name = option.partition("=")[0]
    assert done.stderr == ("weft: threads: --waits shows all threads; leave "
                           f"out {name}, or add --json\n")
    found = dump(program.pid, "--waits", option)
    assert "mostWaitedFor" in found


def test_help():
    for command in ("ps", "threads"):
        text = weft(command, "--help").stdout
        assert text == weft("help", command).stdout
        assert f"weft {command}" in text
    assert WEFT.exists()
