# SPDX-License-Identifier: MIT
"""Looks for impossible rows and frames while threads are created, lock and
end all the time.

usage: storm.py SECONDS [OPTION of weft run]...
"""

import collections
import json
import sys
import time

import outside

STATES = {"running", "runnable", "parked", "system-call", "new", "exiting",
          "exited", "changing"}
# Threads that stay, by their function; see storm.c.
STAYING = {"lock": 20, "turn": 40, "post": 3, "answer": 3, "create": 2,
           "scatter": 1}
NAP_MS = 1  # rounded up
HAS_STACKS = "without libdw" not in \
    outside.weft("stacks", "--help").stdout


class Storm:
    """The program, and counts of all that was seen of it."""

    def __init__(self, start, options=()):
        self.program = start("see_storm", options=options)
        self.begin = time.monotonic()
        self.kinds, self.names = {}, {}
        for line in self.program.read():
            address, kind, name = line.split()
            self.kinds[address], self.names[address] = kind, name
        self.staying = None  # {tid: function}
        self.nr = collections.Counter()
        self.states = set()

    # --- rows

    def look_at_waits(self):
        """Checks `weft threads --waits`: the objects with the most waiters are
        those that the rows of the threads name."""
        found = self.look_at_threads("--waits")
        assert found["allWait"] is False
        waiters = collections.Counter(
            t["parkBlocker"]["object"] for t in found["threads"]
            if t.get("parkBlocker", {}).get("kind") in (
                "mutex", "semaphore", "join"))
        for entry in found["mostWaitedFor"]:
            assert entry["waiters"] == waiters[entry["object"]], entry

    def look_at_threads(self, *options):
        found = outside.dump(self.program.pid, *options)
        assert found["deadlocks"] == [], found["deadlocks"]
        threads = {t["tid"]: t for t in found["threads"]}
        assert len(threads) == len(found["threads"]), "a tid is there twice"
        self.check_staying(threads)
        for thread in found["threads"]:
            self.check_row(thread, found["virtualProcessors"], threads)
        self.nr["tables"] += 1
        self.states |= {t["state"] for t in found["threads"]}
        return found

    def check_staying(self, threads):
        """None of the threads that stay is missing."""
        mine = {tid: self.names[t["startAddress"]]
                for tid, t in threads.items() if self.stays(t)}
        if self.staying is None:
            assert collections.Counter(mine.values()) == STAYING
            self.staying = mine
        assert mine == self.staying, mine.items() ^ self.staying.items()

    def stays(self, thread):
        return self.names.get(thread.get("startAddress")) in STAYING

    def check_row(self, thread, nr_vps, threads):
        assert thread["state"] in STATES
        assert thread["tid"] > 0
        assert thread.get("virtualProcessor", 0) < nr_vps, thread
        is_runtime = thread["name"] == "weft reaper"
        assert is_runtime or thread.get("first") or \
            thread["startAddress"] in self.kinds, thread
        self.nr["rows"] += 1
        if thread["state"] == "changing":
            self.nr["uncertain rows"] += 1
        elif thread["state"] != "parked":
            assert "parkBlocker" not in thread, thread
        elif not is_runtime and not thread.get("first"):
            self.check_wait(thread, threads)

    def check_wait(self, thread, threads):
        """Each start routine has one kind of wait."""
        kind, blocker = self.kinds[thread["startAddress"]], \
            thread["parkBlocker"]
        assert blocker["kind"] == kind, thread
        age_ms = (time.monotonic() - self.begin) * 1000 + 1000
        assert 0 <= thread.get("waitedMs", 0) <= age_ms, thread
        assert ("leftMs" in thread) <= (kind == "sleep"), thread
        assert thread.get("leftMs", 0) <= NAP_MS, thread
        assert int(thread["registers"]["rip"], 16) != 0
        self.check_owner(thread, blocker.get("owner"), threads)

    def check_owner(self, thread, owner, threads):
        name = self.names[thread["startAddress"]]
        if owner is None:
            return
        # No thread locks a mutex twice, or joins itself.
        assert owner["tid"] != thread["tid"], thread
        if name in ("lock", "turn"):
            assert self.staying[owner["tid"]] == name, thread
            self.nr["owners"] += 1
        else:
            assert name == "create", thread
            joined = threads.get(owner["tid"])
            assert joined is None or \
                self.names[joined["startAddress"]] == "nap", thread

    # --- stacks

    def look_at_stacks(self):
        text = outside.weft("stacks", "--json", "--runtime",
                            self.program.pid).stdout
        seen = set()
        for stack in json.loads(text)["stackDump"]["stacks"]:
            tids = {t["tid"] for t in stack["threads"]}
            assert not tids & seen, "a thread has two stacks"
            seen |= tids
            self.nr["stacks"] += len(tids)
            self.check_stack(stack)
        assert self.staying is None or self.staying.keys() <= seen
        self.nr["dumps of stacks"] += 1

    def check_stack(self, stack):
        called = [frame.get("function") for frame in stack["frames"]]
        if stack["end"] != "whole":
            assert stack["end"] in ("changing", "runs", "lost"), stack
            self.nr["stacks given up"] += len(stack["threads"])
            return
        # An entry of the linker's table of calls has no symbol.
        own = [f["function"] for f in stack["frames"]
               if f["place"].startswith("see_storm+") and "function" in f]
        for thread in stack["threads"]:
            if thread["startAddress"] == "0x0":
                assert own in (["main", "_start"], ["_start"]), stack
                continue
            if thread["name"] == "weft reaper":
                assert own == [], stack
                continue
            name = self.names[thread["startAddress"]]
            assert own in ([name], []), (thread, stack)
            assert called == [] or called[-1] in (
                "wf_arch_thread_entry", *own), stack

    def check_shares(self):
        """Checks that the program still runs, and that most rows and stacks
        were read without a change meanwhile."""
        assert self.program.process.poll() is None
        assert {"parked", "running"} <= self.states
        assert self.nr["owners"] > 0
        assert self.nr["uncertain rows"] < 0.1 * self.nr["rows"]
        assert self.nr["stacks given up"] <= 0.05 * self.nr["stacks"]

    def end(self):
        self.program.process.stdin.close()
        assert self.program.process.wait(outside.LIMIT_S) == 0


def watch(start, seconds, options=()):
    """Returns the counts."""
    storm = Storm(start, options)
    end = time.monotonic() + seconds
    while time.monotonic() < end or not storm.nr["tables"]:
        storm.look_at_threads()
        storm.look_at_waits()
        if HAS_STACKS:
            storm.look_at_stacks()
    storm.check_shares()
    storm.end()
    return storm.nr


def main():
    with outside.starter() as start:
        counts = watch(start, float(sys.argv[1]), sys.argv[2:])
    print(", ".join(f"{nr} {what}" for what, nr in counts.items()))
    print("held")


if __name__ == "__main__":
    main()
