#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Worker processes of multiprocessing, forked while 50 threads run."""

import concurrent.futures
import multiprocessing
import subprocess
import sys
import threading
import time

THREADS = 50
WORKERS = 4


def square(number):
    return number * number


def in_threads(number):
    """A worker process that uses threads itself."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return sum(pool.map(square, range(number)))


def stay_busy(is_over):
    while not is_over.is_set():
        sum(square(n) for n in range(200))
        time.sleep(0.001)


def main():
    is_over = threading.Event()
    threads = [threading.Thread(target=stay_busy, args=(is_over,))
               for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        with context.Pool(WORKERS) as pool:
            print(sum(pool.map(square, range(2000))))
            print(sum(pool.map(in_threads, range(20))))
    with concurrent.futures.ProcessPoolExecutor(
            WORKERS, mp_context=context) as pool:
        print(sum(pool.map(square, range(100))))
    queue = context.Queue()
    child = context.Process(target=queue.put, args=("from the child",))
    child.start()
    print(queue.get())
    child.join()
    print("status", child.exitcode)
    done = subprocess.run([sys.executable, "-c", "print('subprocess')"],
                          capture_output=True, text=True, check=True)
    print(done.stdout.strip())
    is_over.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
