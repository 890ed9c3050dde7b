# SPDX-License-Identifier: MIT
"""Deadlocks are found, and only those."""

import pathlib
import re
import subprocess
import time

import pytest

from outside import BUILD, LIMIT_S, await_dump, dump, weft
from storm import HAS_STACKS, Storm, watch

SNAPSHOTS = 1000
SOURCE = pathlib.Path(__file__).parent / "deadlocks.c"


def await_deadlock(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = dump(pid)["deadlocks"]
        if found:
            return found
        time.sleep(0.02)
    return []


def turned(cycle, first):
    """Returns the cycle of threads turned so that it begins with the thread
    `first`."""
    at = cycle.index(first)
    return cycle[at:] + cycle[:at]


# The function in which each thread of a deadlock waits, and its call.
WAITS = {"2": [("hold_and_wait", "mutexes[(i + 1) % nr]")] * 2,
         "5": [("hold_and_wait", "mutexes[(i + 1) % nr]")] * 5,
         "join": [("join_second", "pthread_join("),
                  ("wait_for_first", "pthread_mutex_lock(&mutexes[0])")]}
MEMBER = re.compile(r"  (\d+) \((.*)\) waits(?: since [\d.]+ \S+)?"
                    r"(?: at (\S+))? for (.*)")


def line_of(function, call):
    """The line of the call in the program's source."""
    lines = SOURCE.read_text().splitlines()
    start = next(nr for nr, line in enumerate(lines)
                 if re.match(rf"static .*\b{function}\(", line))
    return next(nr for nr, line in enumerate(lines) if nr > start and
                call in line) + 1


def members(text):
    """{tid: (place, object, frames)} of the first deadlock."""
    found = {}
    for line in text.split("\n\n")[0].splitlines()[1:]:
        match = MEMBER.fullmatch(line)
        if match:
            frames = []
            found[int(match[1])] = (match[3], match[4], frames)
        else:
            assert line.startswith("      "), line
            frames.append(line.strip())
    return found


def check_members(text, kind, tids):
    assert text.startswith(f"Deadlock of {len(tids)} threads:\n")
    found = members(text)
    assert set(found) == set(tids)
    for nr, (tid, (function, call)) in enumerate(zip(tids, WAITS[kind])):
        place, what, frames = found[tid]
        following = tids[(nr + 1) % len(tids)]
        assert re.search(rf"(held by|exit of) {following}\b", what)
        if not HAS_STACKS:
            continue
        line = f"deadlocks.c:{line_of(function, call)}"
        assert place == line
        assert frames[1].startswith(f"{function}+0x")
        assert f" at {line} (see_deadlocks+0x" in frames[1]
        assert "libweft.so.0+0x" in frames[0]
        assert len(frames) == 2


@pytest.mark.parametrize("kind", ["2", "5", "join"])
def test_a_deadlock_is_found(start, tmp_path, kind):
    """`weft threads --waits` shows the deadlock of the live process and of its
    core."""
    program = start("see_deadlocks", kind)
    tids = list(map(int, program.read(1)[0].split()))
    found = await_deadlock(program.pid)
    assert [turned(cycle, tids[0]) for cycle in found] == [tids]
    check_members(weft("threads", "--waits", program.pid).stdout, kind, tids)
    weft("core", program.pid, tmp_path / "core")
    check_members(weft("threads", "--waits", tmp_path / "core").stdout, kind,
                  tids)


def test_a_stripped_program_has_its_offsets(start, tmp_path):
    stripped = tmp_path / "see_deadlocks"
    subprocess.run(["strip", "-s", "-o", stripped,
                    BUILD / "test/see/see_deadlocks"], check=True)
    program = start("see_deadlocks", "2", path=stripped)
    program.read(1)
    assert await_deadlock(program.pid)
    for place, _, frames in members(
            weft("threads", "--waits", program.pid).stdout).values():
        if HAS_STACKS:
            assert re.fullmatch(r"see_deadlocks\+0x[0-9a-f]+", place)
            assert frames[1:] == [place]


def test_json_has_the_stacks_of_a_deadlock(start):
    program = start("see_deadlocks", "5")
    tids = list(map(int, program.read(1)[0].split()))
    assert await_deadlock(program.pid)
    text = members(weft("threads", "--waits", program.pid).stdout)
    found = dump(program.pid, "--waits")
    stacks = {t["tid"]: t["stack"] for t in found["threads"] if "stack" in t}
    assert stacks == {tid: text[tid][2] for tid in tids if HAS_STACKS}
    assert len(found["threads"]) == 6
    assert found["allWait"] is False
    # Each mutex has one waiter, and the owner that the program knows.
    owners = [entry["owner"]["tid"] for entry in found["mostWaitedFor"]]
    assert sorted(owners) == sorted(tids)
    assert {(entry["kind"], entry["waiters"])
            for entry in found["mostWaitedFor"]} == {("mutex", 1)}
    # Without the option the dump is shorter.
    assert "allWait" not in dump(program.pid)


SENTENCE = "Every thread waits for another one"
CONDITION = "; no thread can signal this condition\n"


def test_it_says_when_no_thread_can_wake_another(start):
    program = start("see_deadlocks", "all")
    program.read(1)
    await_dump(program.pid, lambda threads: all(
        t["state"] == "parked" for t in threads))
    text = weft("threads", "--waits", program.pid).stdout
    assert SENTENCE in text and CONDITION in text
    assert dump(program.pid, "--waits")["allWait"] is True
    # The thread that is joined has its stack below it.
    lines = text.splitlines()
    at = next(nr for nr, line in enumerate(lines) if " exit of " in line)
    assert "wait_for_ever+0x" in "".join(lines[at + 2:at + 3]) or \
        not HAS_STACKS


@pytest.mark.parametrize("way, kind", [("timeout", "condition"),
                                       ("signal", "signal"), ("2", "io")])
def test_a_wait_that_may_end_otherwise_is_known(start, way, kind):
    program = start("see_deadlocks", way)
    program.read(1)
    await_dump(program.pid, lambda threads: all(
        t["state"] == "parked" for t in threads) and kind in [
            t["parkBlocker"]["kind"] for t in threads])
    text = weft("threads", "--waits", program.pid).stdout
    assert SENTENCE not in text and CONDITION not in text
    assert dump(program.pid, "--waits")["allWait"] is False


def test_threads_that_wake_each_other_by_turns_are_not_stuck(start):
    """Each of the threads may seem to wait at the moment when its row is
    read."""
    program = start("see_deadlocks", "relay", options=["--vps", "1"])
    program.read(1)
    all_parked, end = 0, time.monotonic() + LIMIT_S
    while all_parked < 10:
        found = dump(program.pid, "--waits")
        assert found["allWait"] is False
        all_parked += all(t["state"] == "parked" for t in found["threads"])
        assert time.monotonic() < end


def test_a_cycle_of_different_moments_is_none():
    done = subprocess.run([BUILD / "test/see/see_graph"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_most_waited_for_comes_first(start):
    program = start("see_waits", 500)
    program.read()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        text = weft("threads", "--waits", program.pid).stdout
        lines = text.splitlines()
        # An owner's stack is indented.
        numbers = [int(line[:8]) for line in lines[3:] if line[:8].strip()]
        if sum(numbers) > 360:
            break
    assert lines[0] == "No deadlock."
    assert numbers == sorted(numbers, reverse=True)
    # Readers and writers wait for one lock.
    assert "rwlock" in lines[3]


def test_no_row_is_impossible_in_a_storm(start):
    """No row is impossible, and no deadlock is found: see_storm has none."""
    storm = Storm(start)
    for _ in range(SNAPSHOTS):
        storm.look_at_threads()
    storm.check_shares()


def test_a_storm_of_seconds(start):
    """Reads tables, graphs of waits and stacks by turns for 10 s. `./dev
    stress` does so for longer."""
    nr = watch(start, 10, ["--vps", "2"])
    assert nr["stacks"] > 0 or not HAS_STACKS
