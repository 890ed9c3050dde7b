#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own tools made of threads: executors, asyncio, timers, queues,
barriers, semaphores."""

import asyncio
import concurrent.futures
import hashlib
import queue
import threading
import time


def digest(number):
    return hashlib.sha256(b"x" * number).hexdigest()


def run_threads(count, body):
    threads = [threading.Thread(target=body) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def executors():
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        futures = [pool.submit(digest, i * 10) for i in range(500)]
        done, _ = concurrent.futures.wait(futures)
        results = "".join(future.result() for future in futures)
        naps = [pool.submit(time.sleep, 0.001 * (i % 7)) for i in range(200)]
        ended = sum(1 for _ in concurrent.futures.as_completed(naps))
        print("executor", len(done), ended, digest(len(results)))


async def upper_case(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def client(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for i in range(20):
        writer.write(b"hello %d %d\n" % (number, i))
        await writer.drain()
        assert await reader.readline() == b"HELLO %d %d\n" % (number, i)
    writer.close()
    return i + 1


async def event_loop():
    results = await asyncio.gather(
        *(asyncio.to_thread(digest, i) for i in range(300)))
    print("to_thread", results == [digest(i) for i in range(300)])
    server = await asyncio.start_server(upper_case, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print("lines", sum(await asyncio.gather(
        *(client(port, number) for number in range(50)))))
    server.close()
    child = await asyncio.create_subprocess_exec(
        "echo", "child", stdout=asyncio.subprocess.PIPE)
    print(await child.communicate(), child.returncode)


def timers():
    fired = queue.Queue()
    all_timers = [threading.Timer(0.001 * (i % 20), fired.put, (i,))
                  for i in range(100)]
    late = threading.Timer(3600, fired.put, (-1,))
    for timer in [*all_timers, late]:
        timer.start()
    late.cancel()
    for timer in [*all_timers, late]:
        timer.join()
    print("timers", sorted(fired.queue) == list(range(100)))


def queues():
    tasks, squares = queue.Queue(10), queue.PriorityQueue()

    def work():
        while (number := tasks.get()) is not None:
            squares.put(number * number)
            tasks.task_done()
        tasks.task_done()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for number in [*range(2000), *[None] * len(threads)]:
        tasks.put(number)
    tasks.join()
    for thread in threads:
        thread.join()
    print("queue", [squares.get() for _ in range(2000)] ==
          [number * number for number in range(2000)])


def meetings():
    barrier = threading.Barrier(30)
    room = threading.BoundedSemaphore(3)
    lock = threading.Lock()
    inside, most = 0, 0

    def visit():
        nonlocal inside, most
        for _ in range(10):
            barrier.wait()
            with room:
                with lock:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.0001)
                with lock:
                    inside -= 1

    run_threads(30, visit)
    print("meetings", inside, most <= 3, barrier.n_waiting)


if __name__ == "__main__":
    executors()
    asyncio.run(event_loop())
    timers()
    queues()
    meetings()
