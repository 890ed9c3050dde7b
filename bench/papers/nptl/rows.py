# SPDX-License-Identifier: MIT
"""The paper's rows for x86, and the programs that measure them here."""

import dataclasses

# Operations of the two runs; the difference of their system calls counts.
COUNTED_OPS = (500, 1500)


@dataclasses.dataclass(frozen=True)
class Row:
    """`paper`: what the paper has for NPTL and LinuxThreads, in `unit`.
    `sides`: the only sides that the row is about, if not all. `length`: of a
    run, as a part of the others' lengths. `ops`: of the two runs
    for the count of system calls."""
    name: str
    unit: str
    program: str                 # below bench/
    args: tuple = ()
    paper: tuple = (None, None)
    sides: tuple = ()
    length: float = 1.0
    ops: tuple = COUNTED_OPS

    @property
    def is_call(self):
        """True if one thread keeps a CPU busy and the row concerns no other
        thread."""
        return self.unit == "ns"

    @property
    def divisor(self):
        return {"ns": 1, "us": 1000}[self.unit]


SELF = "self look-up"
SELF_BY_STACK = "self by stack pointer"
SEM = "semaphore call"
WAKING_SEM = "semaphore that wakes"
CREATE, JOIN, JOIN_ENDED = "create", "join", "join, ended before"

ROWS = [
    Row(SELF, "ns", "micro/bench_uncontended", ("self",), (5.4, 5.9)),
    Row(SELF_BY_STACK, "ns", "micro/bench_uncontended", ("self",),
        sides=("LinuxThreads",)),
    Row("mutex call", "ns", "micro/bench_uncontended", ("mutex",), (64, 80)),
    Row(SEM, "ns", "micro/bench_uncontended", ("sem",), (400, 150)),
    Row(WAKING_SEM, "ns", "papers/nptl/bench_waking_sem",
        sides=("NPTL",)),
    Row("switch by mutex", "us", "papers/nptl/bench_turns_mutex", (),
        (1.53, 2.74)),
    Row("switch by semaphore", "us", "micro/bench_ping_pong_sem", (),
        (1.54, 2.83)),
    Row("switch by condition", "us", "micro/bench_ping_pong_cond", (),
        (2.28, 3.09)),
    Row(CREATE, "us", "papers/nptl/bench_apart", ("create",), (12.5, 31.9)),
    Row(JOIN, "us", "papers/nptl/bench_apart", ("join",), (5.7, 28.4)),
    # A creation takes hundreds of times as long as this join, and is not part
    # of the figure.
    Row(JOIN_ENDED, "us", "papers/nptl/bench_apart", ("join_ended",),
        length=0.05),
]

# dietlibc can compile this program, too.
WITNESSES = ("NPTL", "LinuxThreads", "dietlibc")


def witness(name, unit, kind, **more):
    return Row(name, unit, "papers/nptl/bench_witness", (kind,),
               sides=WITNESSES, **more)


WITNESS = [
    witness(SELF, "ns", "self"),
    witness("mutex call", "ns", "mutex"),
    witness(SEM, "ns", "sem"),
    witness("switch by semaphore", "us", "turn_sem"),
    witness("switch by condition", "us", "turn_cond"),
    # In dietlibc a thread takes 2 ms.
    witness("create and join", "us", "create_join", ops=(20, 60)),
]
# A look-up makes no system call.
WITNESS_COUNTED = WITNESS[1:]

# Rows with a count of system calls. One operation is a pair of lock and
# unlock, of post and wait; a turn; a creation, an end and a join.
COUNTED = [
    *(row for row in ROWS
      if row.name.startswith(("mutex", "semaphore", "switch"))),
    Row("create and join", "us", "micro/bench_create_join", ("1",)),
]

# Names of x86-64's calls; other calls are shown as "call N".
CALLS = {0: "read", 1: "write", 9: "mmap", 11: "munmap", 14: "rt_sigprocmask",
         15: "rt_sigreturn", 28: "madvise", 56: "clone", 60: "exit",
         61: "wait4", 62: "kill", 110: "getppid", 130: "rt_sigsuspend",
         157: "prctl", 200: "tkill", 202: "futex", 231: "exit_group",
         234: "tgkill", 271: "ppoll", 273: "set_robust_list", 334: "rseq",
         435: "clone3"}


def call_name(nr):
    return CALLS.get(nr, f"call {nr}")
