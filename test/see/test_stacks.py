# SPDX-License-Identifier: MIT
"""weft stacks shows the calls in which the program's threads are."""

import re
import subprocess

import pytest

import cores
from outside import BUILD, await_dump, weft

if "without libdw" in weft("stacks", "--help").stdout:
    pytest.skip("built without libdw", allow_module_level=True)

GROUP = re.compile(r"(\d+) threads?, (\S+): (.*)")
FRAME = re.compile(r"    (\? )?(?:(\S+)\+0x[0-9a-f]+ )?(?:at (\S+):(\d+) )?"
                   r"\(?(\S+)\+(0x[0-9a-f]+)\)?")


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
    return parse(weft("stacks", *options, which).stdout)


def names(frames):
    return [frame[2] for frame in frames]


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
        assert not any(frame[1] for frame in frames)
        if "main" in called:
            assert called[-1] == "_start"
            continue
        assert called[-1] == "wf_arch_thread_entry"
        assert called.index("begin") == called.index("descend") + \
            called.count("descend")
        found[tids[0]] = called.count("descend")
        lines = {(f[3], f[4]) for f in frames if f[2] == "descend"}
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


def test_a_stripped_program_has_its_offsets(start, tmp_path):
    stripped = tmp_path / "see_depths"
    subprocess.run(["strip", "-s", "-o", stripped,
                    BUILD / "test/see/see_depths"], check=True)
    program = start("see_depths", 20, path=stripped)
    rows = depths_of(program)
    for _, _, tids, frames in stacks(program.pid):
        own = [frame for frame in frames if frame[5] == "see_depths"]
        if tids[0] == program.pid:
            continue
        assert [frame[2] for frame in own] == [None] * len(own)
        assert len(own) == rows[tids[0]] + 1  # and the start routine
        assert not any(frame[1] for frame in frames)


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
