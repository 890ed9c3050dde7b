#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writers and readers of a bounded queue that back off by time.sleep(0).

usage: queue.py THREADS EVENTS
"""

import collections
import sys
import threading
import time

SIZE = 256


def write(queue, events):
    for event in range(events):
        while len(queue) >= SIZE:
            time.sleep(0)
        queue.append(event)


def read(queue, events, sums):
    mine = 0
    for _ in range(events):
        while True:
            try:
                mine += queue.popleft()
                break
            except IndexError:
                time.sleep(0)
    sums.append(mine)


def main(argv):
    nr_threads, events = map(int, argv)
    queue, sums = collections.deque(), []
    threads = [threading.Thread(target=write, args=(queue, events))
               for _ in range(nr_threads)]
    threads += [threading.Thread(target=read, args=(queue, events, sums))
                for _ in range(nr_threads)]
    start, cpu_start = time.monotonic(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"wall_ms {(time.monotonic() - start) * 1e3:.3f}")
    print(f"cpu_ms {(time.process_time() - cpu_start) * 1e3:.3f}")
    return 0 if sum(sums) == nr_threads * (events * (events - 1) // 2) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
