# SPDX-License-Identifier: MIT
"""Finds out when the kernel of a machine rests.

A kernel still computes after its first process has begun: it tests itself and
frees memory. A program that is measured meanwhile gets only a part of the CPU.
So papers/arch waits until the CPUs were idle in several samples in a row.

    rest = Rest()
    while not rest.is_reached(machine.ticks()):
        time.sleep(SAMPLE_S)"""

import dataclasses

# Seconds between two samples.
SAMPLE_S = 0.1
# Fewer ticks of 10 ms are too few: one of them would be 10 %.
LEAST_TICKS = 10
# Reading the ticks takes one tick at most.
MOST_BUSY = 0.1
# The kernel may pause for one sample between two tasks.
SAMPLES = 5


@dataclasses.dataclass(frozen=True)
class Ticks:
    """The ticks of all CPUs since the machine's start: all of them, and those
    in which a CPU was not idle."""
    whole: int
    busy: int


def parse(line):
    """Returns the Ticks in the first line of /proc/stat, or None."""
    name, *numbers = line.split()[:9] or [""]
    if name != "cpu" or len(numbers) < 5 or \
            not all(number.isdecimal() for number in numbers):
        return None
    ticks = [int(number) for number in numbers]
    idle = sum(ticks[3:5])
    return Ticks(sum(ticks), sum(ticks) - idle)


class Rest:
    def __init__(self):
        self.last, self.nr_idle = None, 0

    def is_reached(self, now):
        if self.last is None:
            self.last = now
            return False
        whole = now.whole - self.last.whole
        if whole < LEAST_TICKS:
            return False
        is_idle = now.busy - self.last.busy <= MOST_BUSY * whole
        self.nr_idle = self.nr_idle + 1 if is_idle else 0
        self.last = now
        return self.nr_idle >= SAMPLES
