# SPDX-License-Identifier: MIT
"""Reads what an emulated machine prints (guest.c), and the interrupts that its
emulator logs (-d int).

    answer = output.answer(["@out mutex 64.1", "@end 0"])
    answer.status, answer.lines
    output.interrupts("aarch64", log)     {"call": 1500, "fault": 3}
"""

import collections
import dataclasses
import re

from bench.papers.arch import rest

LATE = "late"
READY, OUT, CALLS, END, FAILED, TICKS = MARKS = (
    "@ready ", "@out ", "@calls ", "@end ", "@failed ", "@ticks ")


@dataclasses.dataclass(frozen=True)
class Answer:
    """`status`: the exit status, or LATE. `calls`: the system calls, if they
    were counted."""
    status: object
    lines: tuple
    calls: int = None

    @property
    def last(self):
        return self.lines[-1] if self.lines else ""


def cleaned(line):
    """The console ends lines with CR LF, and a message of the kernel's may
    stand before the guest's."""
    line = line.rstrip("\r\n")
    for mark in MARKS:
        at = line.find(mark)
        if at >= 0:
            return line[at:]
    return line


def answer(lines):
    """Returns the Answer if these lines end one, else None."""
    found, calls = [], None
    for line in map(cleaned, lines):
        mark, _, rest = line.partition(" ")
        if mark == OUT.strip():
            found.append(rest)
        elif mark == CALLS.strip() and rest.isdecimal():
            calls = int(rest)
        elif mark == END.strip() and (rest == LATE or rest.isdecimal()):
            status = rest if rest == LATE else int(rest)
            return Answer(status, tuple(found), calls)
    return None


def ready(lines):
    """Returns (kernel, CPU) if the guest has printed @ready, else None."""
    for line in map(cleaned, lines):
        words = line.split()
        if line.startswith(READY) and len(words) == 3:
            return words[1], words[2]
    return None


def ticks(lines):
    """Returns rest.Ticks if the guest has printed them, else None."""
    for line in map(cleaned, lines):
        if line.startswith(TICKS):
            return rest.parse(line.removeprefix(TICKS))
    return None


def failed(lines):
    """Returns the guest's error message, or ""."""
    for line in map(cleaned, lines):
        if line.startswith(FAILED):
            return line.removeprefix(FAILED)
    return ""


def figures(lines):
    """Returns {name: figure} for the lines "NAME FIGURE"."""
    found = {}
    for line in lines:
        name, _, figure = line.partition(" ")
        try:
            found[name] = float(figure)
        except ValueError:
            continue
    return found


# --- interrupts ---------------------------------------------------------------

# "emulated": an instruction that the CPU lacks. "firmware": a call from the
# kernel to the firmware.
KINDS = ("call", "emulated", "fault", "interrupt", "firmware", "other")
# {kind: causes}
MIPS = {"call": {8}, "emulated": {10}, "fault": {1, 2, 3, 4, 5, 6, 7},
        "interrupt": {0}}
RISCV = {"call": {8}, "fault": {0, 1, 4, 5, 6, 7, 12, 13, 15}, "emulated": {2},
         "firmware": {9}}
# The exception class: bits 26 to 31 of ESR.
ARM = {"call": {0x15}, "fault": {0x20, 0x21, 0x22, 0x24, 0x25, 0x26},
       "emulated": {0x00, 0x18}}


def kind_of(kinds, cause):
    return next((kind for kind, causes in kinds.items() if cause in causes),
                "other")


def mips64el(log):
    for cause in re.findall(r"mips_cpu_do_interrupt: .* cause (\d+)$", log,
                            re.MULTILINE):
        yield kind_of(MIPS, int(cause))


def riscv64(log):
    for is_async, cause in re.findall(
            r"^riscv_cpu_do_interrupt: hart:\d+, async:(\d), "
            r"cause:([0-9a-f]+),", log, re.MULTILINE):
        yield "interrupt" if is_async == "1" else \
            kind_of(RISCV, int(cause, 16))


def aarch64(log):
    for number, esr in re.findall(
            r"^Taking exception (\d+) \[[^]]*\] on CPU \d+\n"
            r"(?:\.\.\.(?!with ESR).*\n)*"
            r"(?:\.\.\.with ESR 0x([0-9a-f]+)/)?", log, re.MULTILINE):
        # 5 is IRQ, 6 is FIQ: these have no syndrome.
        yield "interrupt" if number in ("5", "6") or not esr else \
            kind_of(ARM, int(esr, 16))


READERS = {"mips64el": mips64el, "riscv64": riscv64, "aarch64": aarch64}


def interrupts(machine, log):
    """Returns {kind: number of interrupts}, with all of KINDS. None: this
    module cannot read the interrupts of that machine."""
    reader = READERS.get(machine)
    if reader is None:
        return None
    return {**dict.fromkeys(KINDS, 0), **collections.Counter(reader(log))}
