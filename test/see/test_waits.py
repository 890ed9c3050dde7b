# SPDX-License-Identifier: MIT
"""Deadlocks are found, and only those."""

import subprocess
import time

import pytest

from outside import BUILD, await_dump, dump, weft

SNAPSHOTS = 1000
STATES = {"running", "runnable", "parked", "system-call", "new", "exiting",
          "exited", "changing"}


def await_deadlock(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = dump(pid)["deadlocks"]
        if found:
            return found
        time.sleep(0.02)
    return []


def turned(cycle, first):
    """The same cycle, from another thread on."""
    at = cycle.index(first)
    return cycle[at:] + cycle[:at]


@pytest.mark.parametrize("kind", ["2", "5", "join"])
def test_a_deadlock_is_found(start, kind):
    program = start("see_deadlocks", kind)
    tids = list(map(int, program.read(1)[0].split()))
    found = await_deadlock(program.pid)
    assert [turned(cycle, tids[0]) for cycle in found] == [tids]
    text = weft("threads", "--waits", program.pid).stdout
    assert text.startswith(f"Deadlock of {len(tids)} threads:\n")
    block = text.split("\n\n")[0].splitlines()[1:]
    assert sorted(int(line.split()[0]) for line in block) == sorted(tids)
    if kind == "join":
        assert f"exit of {tids[1]}" in text


SENTENCE = "Every thread waits for another one"


def test_it_says_when_no_thread_can_wake_another(start):
    program = start("see_deadlocks", "all")
    program.read(1)
    await_dump(program.pid, lambda threads: all(
        t["state"] == "parked" for t in threads))
    assert SENTENCE in weft("threads", "--waits", program.pid).stdout


def test_a_thread_that_reads_may_wake_others(start):
    program = start("see_deadlocks", "2")
    program.read(1)
    assert await_deadlock(program.pid)
    text = weft("threads", "--waits", program.pid).stdout
    assert text.startswith("Deadlock") and SENTENCE not in text


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
        numbers = [int(line.split()[0]) for line in lines[3:]]
        if sum(numbers) > 360:
            break
    assert lines[0] == "No deadlock."
    assert numbers == sorted(numbers, reverse=True)
    # Readers and writers wait for one lock.
    assert "rwlock" in lines[3]


def check_parked(thread, kind):
    blocker = thread["parkBlocker"]
    assert blocker["kind"] == kind
    # No thread locks a mutex twice, or joins itself.
    assert blocker.get("owner", {}).get("tid") != thread["tid"]
    assert 0 <= thread.get("waitedMs", 0) < 60000


def check_snapshot(found, kinds):
    """Returns the number of rows that were read for certain."""
    certain = 0
    for thread in found["threads"]:
        assert thread["state"] in STATES
        if thread["state"] == "changing" or thread.get("first"):
            continue
        certain += 1
        # A thread has one of these start routines, and waits for its kind.
        kind = kinds[thread["startAddress"]]
        if thread["state"] != "parked":
            assert "parkBlocker" not in thread
            continue
        check_parked(thread, kind)
    return certain


def test_no_row_is_impossible_in_a_storm(start):
    program = start("see_storm")
    kinds = dict(line.split() for line in program.read())
    certain = seen = 0
    states = set()
    for _ in range(SNAPSHOTS):
        found = dump(program.pid)
        assert found["deadlocks"] == []
        certain += check_snapshot(found, kinds)
        seen += len(found["threads"]) - 1
        states |= {t["state"] for t in found["threads"]}
    # The storm went on meanwhile, and most rows are certain.
    assert {"parked", "running"} <= states
    assert certain > seen * 0.9
