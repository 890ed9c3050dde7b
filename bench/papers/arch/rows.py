# SPDX-License-Identifier: MIT
"""The rows of the tables: those of papers/nptl, and the thread register's."""

import dataclasses

from bench.papers.nptl import rows as nptl

SIDES = ("NPTL", "LinuxThreads")
WEFT = "weft"
WEFT_RUN = ("/weft/weft", "run", "--vps", "1", "--")
NO_PORT = "no port yet"
REGISTER = "thread register"
NOTHING = "an empty loop"
READ = f"read the {REGISTER}"
SET = f"set the {REGISTER}, instruction"
SET_CALL = f"set the {REGISTER}, system call"
CALL = "system call getppid"
SWITCH = "user-level switch, instruction"
SWITCH_CALL = "user-level switch, system call"
# A row in which one operation is a creation, an end and a join.
CREATE_JOIN = "create and join"


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    unit: str
    program: str                # in /bin
    args: tuple
    sides: tuple = (*SIDES, WEFT)
    by_stack: bool = False      # LinuxThreads' look-up
    is_counted: bool = True     # its program does nothing else
    is_timed: bool = True

    @property
    def divisor(self):
        return {"ns": 1, "us": 1000}[self.unit]

    def command(self, side, scale):
        before = WEFT_RUN if side == WEFT else ()
        return [*before, f"/bin/{self.program}", scale, *self.args]

    def environment(self, side):
        if side != "LinuxThreads":
            return {}
        return {"LD_PRELOAD": "/lib/liblinuxthreads.so",
                "LINUXTHREADS_SELF": "stack" if self.by_stack else "register"}


def of_nptl(row):
    return Row(row.name, row.unit, row.program.rpartition("/")[2], row.args,
               row.sides or (*SIDES, WEFT), row.name == nptl.SELF_BY_STACK,
               row.program.rpartition("/")[2] != "bench_apart")


def of_register(name, part):
    return Row(name, "ns", "bench_thread_register", (part,), ("NPTL",))


ROWS = (
    *map(of_nptl, nptl.ROWS),
    of_register(NOTHING, "nothing"), of_register(READ, "read"),
    of_register(SET, "set"), of_register(SET_CALL, "set_call"),
    of_register(CALL, "call"), of_register(SWITCH, "switch"),
    of_register(SWITCH_CALL, "switch_call"),
    Row(CREATE_JOIN, "us", "bench_create_join", ("1",), is_timed=False),
)
