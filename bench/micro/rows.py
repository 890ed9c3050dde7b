# SPDX-License-Identifier: MIT
"""The rows of the micro benchmarks, and their targets."""

import dataclasses
import pathlib

from bench.lib.report import Target

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The cost may be at most 1.05 times the native one.
AS_NATIVE = Target(native=0.952)
# The cost may be the native one plus the difference of two runs.
NOT_WORSE = Target(native=0.95)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and its rows, which are the keys of `targets`. `native` is
    another program for that side; `names` maps the figures of the programs to
    rows where there are several; `command` is measured as a whole, `timed`
    times."""
    name: str
    program: str = ""
    args: tuple = ()
    vps: int = 1
    unit: str = "ns"
    go: tuple = ()
    native: str = ""
    names: dict = dataclasses.field(default_factory=dict)
    targets: dict = dataclasses.field(default_factory=dict)
    higher_is_better: bool = False
    command: tuple = ()
    timed: int = 0
    # The case takes much memory or minutes, so it runs only if named.
    is_big: bool = False
    discard: int = 0
    # The program keeps its CPU busy, so CPU time can stand for elapsed time.
    is_busy: bool = True

    def row_of(self, figure):
        if len(self.targets) == 1:
            return next(iter(self.targets))
        return self.names.get(figure, figure)

    def unit_of(self, row):
        return "bytes" if row.endswith("_bytes") else self.unit


def plain(name, program, args=(), target=Target(), **more):
    """A case of one row; the programs may give the figure another name."""
    return Case(name, program, tuple(args), targets={name: target}, **more)


def ring(nr, native, go):
    """A ring of threads: semaphores on weft, channels in Go, and real-time
    signals natively."""
    return plain(f"ring_{nr}", "ring_sem", [nr], Target(native, go),
                 native="ring_signal", go=("ring", nr))


def sleep(us, shown):
    rows = {f"sleep_{us}us_{of}_us": f"sleep_{shown}_{of}"
            for of in ("median", "p99")}
    return Case(f"sleep_{shown}", "sleep", (us,), unit="us late", names=rows,
                targets=dict.fromkeys(rows.values(), NOT_WORSE), is_busy=False)


def parked(name, nr, stack_kb, native, **targets):
    """Threads that wait. A million native threads are not possible: the native
    side only touches the pages that they need at least."""
    figures = {"create": Target(), "wake": Target(), "bytes": Target(),
               **targets}
    names = {f"{program}_{figure}": f"{name}_{figure}"
             for program in ("parked", "touch") for figure in figures}
    return Case(name, "parked", (nr, stack_kb), native=native,
                names=names, is_big=nr > 10000, discard=nr > 10000,
                targets={f"{name}_{figure}": target
                         for figure, target in figures.items()})


CASES = [
    plain("yield_2", "yield", [2], Target(25, 4.5), go=("yield", 2)),
    plain("yield_1000", "yield", [1000], Target(50, 3.5), go=("yield", 1000)),
    plain("create_join_1", "create_join", [1], Target(85, 3.8),
          go=("create_join", 1)),
    plain("create_join_1000", "create_join", [1000], Target(150, 1.7),
          go=("create_join", 1000)),
    plain("fork_join_fib", "fork_join", [], Target(260, 6.4),
          go=("fork_join_fib", 1)),
    plain("ping_pong_cond", "ping_pong_cond", [], Target(25, 2.8),
          go=("ping_pong_cond", 2)),
    plain("ping_pong_sem", "ping_pong_sem", [], Target(15, 3.2),
          go=("ping_pong_sem", 2)),
    plain("ping_pong_cond_2vp", "ping_pong_cond", [], Target(200, 2), vps=2,
          go=("ping_pong_cond", 2)),
    plain("ping_pong_sem_2vp", "ping_pong_sem", [], Target(200, 2), vps=2,
          go=("ping_pong_sem", 2)),
    ring(5, 35, 3), ring(1000, 40, 3), ring(10000, 38, 2),
    *(plain(f"ring_{nr}_sem", "ring_sem", [nr]) for nr in (5, 1000, 10000)),
    *(plain(f"ring_{nr}_signal", "ring_signal", [nr]) for nr in (5, 1000)),
    *(plain(op, "uncontended", [op], AS_NATIVE)
      for op in ("mutex", "sem", "rdlock", "wrlock", "once", "self",
                 "getspecific")),
    *(plain(f"contended_{nr}", "contended", [nr], NOT_WORSE)
      for nr in (2, 8, 100)),
    *(plain(f"contended_{nr}_2vp", "contended", [nr], NOT_WORSE, vps=2)
      for nr in (2, 8, 100)),
    plain("barrier_100", "barrier", [100], NOT_WORSE),
    plain("barrier_100_2vp", "barrier", [100], NOT_WORSE, vps=2),
    sleep(100, "0.1ms"), sleep(500, "0.5ms"), sleep(1000, "1ms"),
    sleep(10000, "10ms"),
    parked("parked_10000", 10000, 64, "", bytes=Target(at_most=9000)),
    Case("compute_2", "compute", (2,), is_busy=False,
         targets={"compute_2": Target(native=0.99),
                  "compute_2_cpu": Target(native=0.99)}),
    *(plain(f"scaling_{nr}", "scaling", [nr], Target(native=0.98), vps=2,
            unit="times", higher_is_better=True) for nr in (2, 8)),
    Case("handoff", "handoff", unit="ms", is_busy=False,
         targets={"handoff_median_ms": Target(at_most=10),
                  "handoff_worst_ms": Target(at_most=10)}),
    Case("blocked_500", "blocked", (500,), unit="ms", is_busy=False,
         targets={"blocked_500_yielder_ms": Target(at_most=100),
                  "blocked_500_sleeper_ms": Target(at_most=100)}),
    Case("start_up", command=("/bin/true",), timed=20, unit="ms", vps=0,
         targets={"start_up": Target(more_at_most=1)}),
    Case("python_2000", timed=1, unit="ms", vps=0,
         command=("/usr/bin/python3", str(ROOT / "test/apps/threads2000.py")),
         targets={"python_2000": Target(native=4)}),
    parked("million_64K", 1000000, 64, "touch", create=Target(native=0.667),
           bytes=Target(at_most=9200)),
    parked("million_8M", 1000000, 8192, "touch", create=Target(native=0.667),
           bytes=Target(at_most=13500)),
]
