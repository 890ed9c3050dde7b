#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eight Python threads that compute beside one that sleeps 5 ms."""

import threading
import time

CPU_BOUND = 8
RUN_S = 2
SLEEP_S = 0.005


def compute(counts, index, is_over):
    while not is_over:
        sum(range(100))
        counts[index] += 1


def main():
    counts, is_over, times = [0] * CPU_BOUND, [], []
    threads = [threading.Thread(target=compute, args=(counts, i, is_over))
               for i in range(CPU_BOUND)]
    for thread in threads:
        thread.start()
    # Some threads already compute while the others are being started.
    before, begin = sum(counts), time.monotonic()
    while time.monotonic() < begin + RUN_S:
        start = time.monotonic()
        time.sleep(SLEEP_S)
        times.append(time.monotonic() - start)
    is_over.append(True)
    for thread in threads:
        thread.join()
    # The threads continue until the last has been told to stop.
    print("work", (sum(counts) - before) / (time.monotonic() - begin))
    print("mean_ms", 1000 * sum(times) / len(times))


if __name__ == "__main__":
    main()
