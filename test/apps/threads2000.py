#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""2000 threads, all alive at once, hand each other work by every tool of the
threading module. Each kind prints one line with a checksum that does not
depend on the threads' order.

usage: threads2000.py [THREADS]"""

import concurrent.futures
import functools
import queue
import sys
import threading
import zlib

ROUNDS = 4              # hand-offs of each thread in each ring
TOKENS = 40             # messages that travel round a ring at a time
TEAM = 10               # threads that share a condition variable


def digest(*values):
    return zlib.crc32(repr(values).encode())


class Shared:
    """State of all threads. Each waits at the barrier before each step. The
    main thread also has a place there, and checks that all threads are
    alive."""

    def __init__(self, nr_threads):
        self.nr_threads = nr_threads
        self.barrier = threading.Barrier(nr_threads + 1)
        self.sums = {}
        self.sums_lock = threading.Lock()
        self.local = threading.local()
        self.queues = [queue.Queue() for _ in range(nr_threads)]
        self.simple_queues = [queue.SimpleQueue() for _ in range(nr_threads)]
        self.gates = [threading.Lock() for _ in range(nr_threads)]
        self.semaphores = [threading.Semaphore(0) for _ in range(nr_threads)]
        self.teams = [Team() for _ in range(nr_threads // TEAM)]
        self.events = [threading.Event() for _ in range(nr_threads)]
        self.counter = 0
        self.counter_lock = threading.RLock()
        for gate in self.gates:
            gate.acquire()

    def add(self, step, value):
        with self.sums_lock:
            self.sums[step] = self.sums.get(step, 0) + value


class Team:
    """TEAM threads that take turns."""

    def __init__(self):
        self.changed = threading.Condition()
        self.turn = 0


def queue_ring(shared, me, queues):
    """Takes from its own queue and puts into the next thread's. Each token
    makes the whole round ROUNDS times, so its path is known."""
    following = queues[(me + 1) % shared.nr_threads]
    total = 0
    if me % (shared.nr_threads // TOKENS) == 0:
        following.put(me)
    for _ in range(ROUNDS * TOKENS // 10):
        token = queues[me].get()
        total += digest(me, token)
        following.put(token)
    return total


def drain(shared, queues):
    """The tokens that are left, each exactly once, as one number."""
    rest = []
    for one in queues:
        while not one.empty():
            rest.append(one.get())
    return digest(sorted(rest))


def step_queue(shared, me):
    return queue_ring(shared, me, shared.queues)


def step_simple_queue(shared, me):
    return queue_ring(shared, me, shared.simple_queues)


def step_lock(shared, me):
    """Pairs in ping-pong: each opens the other's gate and waits at its own.
    With an odd number of threads the last one plays alone."""
    partner = me ^ 1 if me ^ 1 < shared.nr_threads else me
    total = 0
    for turn in range(ROUNDS * 8):
        if me & 1 == turn & 1 or partner == me:
            shared.gates[partner].release()
        if me & 1 != turn & 1 or partner == me:
            shared.gates[me].acquire()
            total += digest(me, turn)
    return total


def step_semaphore(shared, me):
    """Everyone opens the door of the thread after the next and then waits
    for its own."""
    total = 0
    for turn in range(ROUNDS):
        shared.semaphores[(me + 2) % shared.nr_threads].release()
        shared.semaphores[me].acquire()
        total += digest(turn, me)
    return total


def step_condition(shared, me):
    """A team's threads take turns in the order of their numbers."""
    team = shared.teams[me // TEAM % len(shared.teams)]
    total = 0
    for turn in range(ROUNDS):
        with team.changed:
            while team.turn != turn * TEAM + me % TEAM:
                team.changed.wait()
            total += digest(team.turn, me)
            team.turn += 1
            team.changed.notify_all()
    return total


def step_rlock(shared, me):
    """One counter under one recursive lock."""
    for _ in range(ROUNDS):
        with shared.counter_lock:
            before = shared.counter
            with shared.counter_lock:
                shared.counter = before + 1
    return me


def step_event(shared, me):
    """Thread 0 starts a chain of events through all threads."""
    if me == 0:
        shared.events[0].set()
    shared.events[me].wait()
    if me + 1 < shared.nr_threads:
        shared.events[me + 1].set()
    return digest(me)


def step_local(shared, me):
    """Each thread sees only its own values, whichever threads run in
    between."""
    shared.local.values = []
    for turn in range(ROUNDS):
        shared.local.values.append(me * turn)
        with shared.sums_lock:
            pass
    assert shared.local.values == [me * turn for turn in range(ROUNDS)]
    return digest(shared.local.values)


STEPS = [step_queue, step_simple_queue, step_lock, step_semaphore,
         step_condition, step_rlock, step_event, step_local]


def worker(shared, me):
    for step in STEPS:
        shared.barrier.wait()
        shared.add(step.__name__, step(shared, me))
    shared.barrier.wait()


def run_steps(nr_threads):
    shared = Shared(nr_threads)
    threads = [threading.Thread(target=worker, args=(shared, me))
               for me in range(nr_threads)]
    for thread in threads:
        thread.start()
    for _ in STEPS:
        shared.barrier.wait()
        alive = sum(thread.is_alive() for thread in threads)
        assert alive == nr_threads, alive
    shared.barrier.wait()
    for thread in threads:
        thread.join()
    for step in STEPS:
        name = step.__name__.removeprefix("step_")
        print(f"{name}: {shared.sums[step.__name__]}")
    assert shared.counter == nr_threads * ROUNDS, shared.counter
    print(f"tokens: {drain(shared, shared.queues)} "
          f"{drain(shared, shared.simple_queues)}")


def run_timers(nr_timers):
    """Timers that fire and, every third, are cancelled before they do."""
    fired = queue.Queue()
    timers = [threading.Timer(60 if nr % 3 == 0 else nr / 10000,
                              functools.partial(fired.put, nr))
              for nr in range(nr_timers)]
    for timer in timers:
        timer.start()
    for timer in timers[::3]:
        timer.cancel()
    for timer in timers:
        timer.join()
    print(f"timers: {digest(sorted(fired.queue))}")


def run_pool(nr_workers):
    """As many tasks as the pool has threads wait for one another."""
    meeting = threading.Barrier(nr_workers)

    def task(nr):
        meeting.wait()
        return digest(nr)

    with concurrent.futures.ThreadPoolExecutor(nr_workers) as pool:
        futures = [pool.submit(task, nr) for nr in range(nr_workers * 3)]
        total = sum(one.result() for one in
                    concurrent.futures.as_completed(futures))
        assert list(pool.map(digest, range(100))) == \
            [digest(nr) for nr in range(100)]
    print(f"pool: {total}")


def main(argv):
    nr_threads = int(argv[1]) if len(argv) > 1 else 2000
    nr_threads -= nr_threads % TOKENS
    run_steps(nr_threads)
    run_timers(nr_threads // 20)
    run_pool(nr_threads // 10)
    print(f"done: {nr_threads} threads")


if __name__ == "__main__":
    main(sys.argv)
