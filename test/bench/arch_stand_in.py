#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands for an emulator in the tests of papers/arch.

usage: arch_stand_in.py FOLDER EMULATOR_OPTION...

It notes its process id in FOLDER/pids and the lines that it gets in
FOLDER/lines. Its kernel computes when its ticks are read the first few times. A
program has an end only if there is a file FOLDER/answers. Ctrl-C and SIGTERM do
not end it.
"""

import os
import pathlib
import re
import signal
import sys
import threading
import time

# So many first samples find the kernel busy.
BUSY_SAMPLES = 7


def append(path, line):
    with path.open("a") as file:
        file.write(f"{line}\n")


def answer_monitor(descriptor):
    """Answers every monitor command, and does nothing."""
    os.write(descriptor, b"(qemu) ")
    while os.read(descriptor, 4096):
        os.write(descriptor, b"(qemu) ")


def main(folder, options):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    append(folder / "pids", os.getpid())
    monitor = int(re.search(r"id=monitor,fd=(\d+)", " ".join(options))[1])
    print("@ready 6.1 stand-in", flush=True)
    threading.Thread(target=answer_monitor, args=(monitor,),
                     daemon=True).start()
    nr_samples = 0
    for line in sys.stdin:
        append(folder / "lines", line.split()[0])
        if line.startswith("ticks"):
            nr_samples += 1
            busy = 20 * min(nr_samples, BUSY_SAMPLES)
            print(f"@ticks cpu {busy} 0 0 {20 * nr_samples - busy} 0 0 0 0")
        elif (folder / "answers").exists():
            print("@out figure 100\n@calls 5\n@end 0")
        sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
