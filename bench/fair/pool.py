#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""multiprocessing's Pool(4).map from a process with 50 busy threads."""

import multiprocessing
import threading
import time

THREADS = 50


def square(number):
    return number * number


def stay_busy(is_over):
    while not is_over:
        time.sleep(0.001)
        sum(n * n for n in range(200))


def main():
    is_over = []
    threads = [threading.Thread(target=stay_busy, args=(is_over,))
               for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    start = time.monotonic()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        done = pool.map(square, range(500))
    elapsed = time.monotonic() - start
    is_over.append(True)
    for thread in threads:
        thread.join()
    assert done == [n * n for n in range(500)]
    print("map_ms", 1000 * elapsed)


if __name__ == "__main__":
    main()
