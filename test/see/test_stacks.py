# SPDX-License-Identifier: MIT
"""weft stacks shows the calls in which the program's threads are."""

import json
import re
import subprocess
import time

import pytest

import cores
from outside import BUILD, LIMIT_S, await_dump, weft
from storm import Storm

if "without libdw" in weft("stacks", "--help").stdout:
    pytest.skip("built without libdw", allow_module_level=True)

GROUP = re.compile(r"(\d+) threads?, (\S+): (.*)")
FRAME = re.compile(
    r"    (?P<guess>\? )?"
    r"(?:(?P<name>.+?)(?:\+0x[0-9a-f]+)? (?:at (?P<source>\S+):(?P<line>\d+) )?"
    r"\((?P<object>\S+)\+0x[0-9a-f]+\)|"
    r"(?P<place>\S+)\+0x[0-9a-f]+|(?P<none>0x[0-9a-f]+)|"
    r"\((?P<end>.*)\))")


def parse(text):
    """[(number of threads, state, tids, frames)], a frame is a match."""
    groups = []
    for line in text.splitlines():
        head = GROUP.fullmatch(line)
        if head:
            tids = [int(word) for word in
                    re.findall(r"(?:^|, )(\d+)", head[3])]
            groups.append((int(head[1]), head[2], tids, []))
        elif line:
            frame = FRAME.fullmatch(line)
            assert frame, line
            groups[-1][3].append(frame)
    return groups


def stacks(which, *options):
    return parse(weft("stacks", "--runtime", *options, which).stdout)


def names(frames):
    return [frame["name"] for frame in frames]


def depths_of(program):
    rows = dict(tuple(map(int, line.split())) for line in program.read())
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == len(rows) + 1)
    return rows


def check_depths(groups, rows, nr):
    found = {}
    for number, state, tids, frames in groups:
        called = names(frames)
        assert (number, state) == (1, "parked")
        assert not any(frame["guess"] for frame in frames)
        if "main" in called:
            assert called[-1] == "_start"
            continue
        assert called[-1] == "wf_arch_thread_entry"
        assert called.index("begin") == called.index("descend") + \
            called.count("descend")
        found[tids[0]] = called.count("descend")
        lines = {(f["source"], f["line"]) for f in frames
                 if f["name"] == "descend"}
        assert {name for name, _ in lines} == {"depths.c"}
        assert len(lines) == (1 if rows[tids[0]] == 1 else 2)
    assert found == rows
    assert len(found) == nr


def test_each_frame_is_there(start):
    program = start("see_depths", 100)
    rows = depths_of(program)
    check_depths(stacks(program.pid), rows, 100)
    tid, depth = list(rows.items())[41]
    one, = stacks(program.pid, f"--tid={tid}")
    assert one[2] == [tid]
    assert names(one[3]).count("descend") == depth


def test_a_core_has_the_same_stacks(start, tmp_path):
    program = start("see_depths", 40)
    rows = depths_of(program)
    cores.write(program.pid, tmp_path / "core")
    check_depths(stacks(tmp_path / "core"), rows, 40)


def test_segments_may_share_a_page_of_the_file(start, tmp_path):
    """As lld links: without this the stacks have the wrong functions."""
    if not (BUILD / "test/see/see_depths_lld").exists():
        pytest.skip("there is no lld")
    program = start("see_depths_lld", 30)
    rows = depths_of(program)
    check_depths(stacks(program.pid), rows, 30)
    cores.write(program.pid, tmp_path / "core")
    check_depths(stacks(tmp_path / "core"), rows, 30)


def test_a_stripped_program_has_its_offsets(start, tmp_path):
    stripped = tmp_path / "see_depths"
    subprocess.run(["strip", "-s", "-o", stripped,
                    BUILD / "test/see/see_depths"], check=True)
    program = start("see_depths", 20, path=stripped)
    rows = depths_of(program)
    for _, _, tids, frames in stacks(program.pid):
        own = [f for f in frames
               if "see_depths" in (f["object"], f["place"])]
        if tids[0] == program.pid:
            continue
        assert names(own) == [None] * len(own)
        assert len(own) == rows[tids[0]] + 1  # and the start routine
        assert not any(frame["guess"] for frame in frames)


def test_equal_stacks_are_printed_once(start):
    program = start("see_waits", 1300)
    kinds = {}
    for line in program.read():
        tid, *more = line.split()
        if tid != "descriptor":
            kinds.setdefault(more[2], set()).add(int(tid))
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == 1301)
    groups = stacks(program.pid)
    assert sum(group[0] for group in groups) == 1301
    assert [group[0] for group in groups] == \
        sorted((group[0] for group in groups), reverse=True)
    functions = {"signal": "wait_signal", "sleep": "wait_sleep",
                 "condition": "wait_condition", "io": "wait_io",
                 "barrier": "wait_barrier", "mutex": "wait_mutex"}
    for kind, function in functions.items():
        mine = [g for g in groups if function in names(g[3])]
        assert sum(group[0] for group in mine) == len(kinds[kind])
        assert all(set(group[2]) <= kinds[kind] for group in mine)
        assert max(group[0] for group in mine) > len(kinds[kind]) // 2


def test_frame_pointers_are_a_guess(start):
    program = start("see_depths_bare", 30)
    rows = depths_of(program)
    for _, _, tids, frames in stacks(program.pid):
        if tids[0] == program.pid:
            continue
        called = names(frames)
        assert called.count("descend") == rows[tids[0]]
        assert called[-1] == "wf_arch_thread_entry"
        first = called.index("descend")
        # The caller of a function without information is guessed.
        assert [bool(frame["guess"]) for frame in frames] == \
            [i > first for i in range(len(frames))]


def test_names_of_cxx_are_demangled(start):
    if not (BUILD / "test/see/see_till").exists():
        pytest.skip("there is no C++ compiler")
    program = start("see_till")
    program.read()
    await_dump(program.pid, lambda threads: [
        t["state"] for t in threads] == ["parked"] * 2)
    seller = next(names(group[3]) for group in stacks(program.pid)
                  if "main" not in names(group[3]))
    if any(name and name.startswith("_ZN4shop") for name in seller):
        pytest.skip("built without a demangler")
    first = seller.index("shop::Till::sell(int) const")
    assert seller[first - 1].startswith("long shop::wait_for<std::vector<int")
    assert "main::{lambda()#1}" in seller[first + 1]


RUST = {
    "legacy": (rb"_ZN4shop4wait17h", [
        "shop::wait", "<shop::Till<T> as shop::Sell>::sell",
        "shop::öffne", "shop::main::{{closure}}::{{closure}}"]),
    "v0": (rb"_RINvCs\w*_4shop4wait", [
        "shop::wait::<3, &alloc::vec::Vec<u8>>",
        "<shop::Till<alloc::vec::Vec<u8>> as shop::Sell>::sell",
        "shop::öffne", "shop::main::{closure#0}::{closure#0}"]),
}


@pytest.mark.parametrize("form", RUST)
def test_names_of_rust_are_demangled(start, form):
    path = BUILD / f"test/see/see_shop_{form}"
    if not path.exists():
        pytest.skip("there is no rustc")
    symbol, expected = RUST[form]
    assert re.search(symbol, path.read_bytes())
    program = start(path.name)
    program.read()
    await_dump(program.pid, lambda threads: sum(
        t.get("parkBlocker", {}).get("kind") in ("condition", "futex")
        for t in threads) >= 3)
    sellers = [group for group in stacks(program.pid)
               if any(name and "wait" in name and "shop" in name
                      for name in names(group[3]))]
    assert sum(number for number, *_ in sellers) == 3
    for _, _, _, frames in sellers:
        called = names(frames)
        first = called.index(expected[0])
        assert called[first:first + 4] == expected
        assert not any(re.match("_R|_ZN", name) for name in called if name)


def test_names_of_rust():
    done = subprocess.run([BUILD / "test/see/see_rust_names"], text=True,
                          capture_output=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stdout) == (0, "0 wrong\n")


def dump_of(which, *options):
    text = weft("stacks", "--json", "--runtime", *options, which).stdout
    return json.loads(text)["stackDump"]["stacks"]


def functions(stack):
    return [frame.get("function") for frame in stack["frames"]]


def test_json_and_folded_say_the_same(start):
    program = start("see_depths", 30)
    rows = depths_of(program)
    found = dump_of(program.pid)
    depths = {stack["threads"][0]["tid"]: functions(stack).count("descend")
              for stack in found}
    assert depths == {**rows, program.pid: 0}
    assert {stack["end"] for stack in found} == {"whole"}
    lines = weft("stacks", "--folded", "--runtime",
                 program.pid).stdout.splitlines()
    assert sorted(lines) == sorted(
        ";".join(reversed(functions(stack))) + " 1" for stack in found)


def test_threads_that_do_not_wait_have_stacks(start):
    """One thread runs, two were preempted, and one is in a system call."""
    program = start("see_states", options=["--vps", "1"])
    states = dict(reversed(line.split()) for line in program.read())
    spinning = {int(line.split()[0]) for line in program.lines
                if line.endswith("computes")}
    preempted, running = set(), set()
    end = time.monotonic() + LIMIT_S
    while preempted != spinning or running != spinning:
        assert time.monotonic() < end
        by_tid = {t["tid"]: (functions(stack), stack)
                  for stack in dump_of(program.pid)
                  for t in stack["threads"]}
        assert by_tid[int(states["exited"])][0] == []
        called, stack = by_tid[int(states["system-call"])]
        if "call" not in called:
            continue  # not there yet
        assert called.index("call") > called.index("syscall") >= 0
        assert called[-1] == "wf_arch_thread_entry"
        for tid in spinning:
            called, stack = by_tid[tid]
            if stack["end"] == "whole":
                assert "spin" in called
                assert called[-1] == "wf_arch_thread_entry"
                (running if stack["state"] == "running" else
                 preempted).add(tid)
    for stack in dump_of(program.pid, "--no-stop"):
        if stack["state"] in ("running", "system-call"):
            assert stack["end"] == "runs" and not stack["frames"]


def test_no_frame_of_a_busy_program_is_wrong(start):
    storm = Storm(start, ["--vps", "2"])
    for _ in range(60):
        storm.look_at_stacks()
    assert storm.nr["stacks"] > 60 * 60
    assert storm.nr["stacks given up"] < 0.05 * storm.nr["stacks"]


def test_frames_of_the_runtime_are_left_out(start):
    """Stacks lack weft's own frames. So each kind of wait has one stack,
    whichever of weft's functions it was entered by."""
    program = start("see_waits", 1300)
    nr = {}
    for line in program.read():
        words = line.split()
        if words[0] != "descriptor":
            nr[words[3]] = nr.get(words[3], 0) + 1
    await_dump(program.pid, lambda threads: sum(
        t["state"] == "parked" for t in threads) == 1301)
    groups = parse(weft("stacks", program.pid).stdout)
    assert sum(group[0] for group in groups) == 1301
    for kind in ("condition", "barrier", "sleep", "signal", "io"):
        same = [group for group in groups
                if f"wait_{kind}" in names(group[3])]
        assert [group[0] for group in same] == [nr[kind]]
        assert len(same[0][3]) == 2
    for group in groups:
        inside = [f for f in group[3] if f["object"].startswith("libweft")]
        assert len(inside) == 1 and inside[0] is group[3][0]


@pytest.mark.parametrize("arguments", [
    [], ["1", "2"], ["--tid=0", "1"], ["--other", "1"]])
def test_wrong_arguments_are_refused(arguments):
    done = weft("stacks", *arguments, check=False)
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1


def test_one_line_says_what_is_wrong():
    done = weft("stacks", 999999999, check=False)
    assert done.returncode == 125
    assert done.stderr == "weft: 999999999: there is no such process\n"


def test_help():
    text = weft("stacks", "--help").stdout
    assert text == weft("help", "stacks").stdout
    assert "usage: weft stacks" in text
