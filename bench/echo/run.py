#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An echo server with a thread for each connection, natively and on weft with
each way of waiting for descriptors. Beside it are Go's net package, and loops
over epoll and io_uring as lower bounds. The server has one CPU, its client
another.

The figures are the server's CPU time for a request, requests per second, and
the memory of a connection's thread: pages, page tables and the kernel's memory
for kernel threads, without sockets.
"""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

PORT_LIMIT_S = 20
FLOORS = ("epoll", "io_uring")
MEMORY = "memory_kib"


@dataclasses.dataclass(frozen=True)
class Target:
    """A target: weft's figure is at most, or at least, `limit` times that of
    another side."""
    figure: str
    over: str
    limit: float
    most: bool = True
    # Also met if weft reaches the fastest side less 5 %: then the client is the
    # limit.
    or_client: bool = False

    def __str__(self):
        return f"{'<=' if self.most else '>='}{self.limit:g}x {self.over}"

    def check(self, medians, side):
        """Whether the target is met; None if it could not be measured."""
        ours = medians.get(side, {}).get(self.figure)
        theirs = medians.get(self.over, {}).get(self.figure)
        if None in (ours, theirs):
            return None
        if self.or_client and ours >= 0.95 * max(
                m[self.figure] for m in medians.values() if m):
            return True
        return ours <= self.limit * theirs if self.most else \
            ours >= self.limit * theirs


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    connections: int
    stack_kib: int
    targets: tuple
    floors: bool = True


PARTS = (
    Part("100", 100, 64, (
        Target("cpu_us", "native", 0.65), Target("cpu_us", "go", 0.85),
        Target("cpu_us", "io_uring", 1.12),
        Target("requests", "native", 1.6, most=False, or_client=True))),
    Part("10000_64K", 10000, 64, (
        Target("requests", "native", 2, most=False),
        Target(MEMORY, "native", 0.3))),
    Part("10000_8M", 10000, 8192, (Target(MEMORY, "native", 0.4),),
         floors=False),
)
FIGURES = {"cpu_us": "CPU us/request", "requests": "requests/s",
           MEMORY: "KiB/connection", "threads": "kernel threads",
           "kernel_kib": "kernel KiB each"}


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench echo",
                                     description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=f"of {', '.join(p.name for p in PARTS)}")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1,
                        help="measured in each run (1)")
    parser.add_argument("--connections", type=int,
                        help="in place of each part's own")
    parser.add_argument("--sides", help="some only, with commas between")
    parser.add_argument("--go", default="go", metavar="PATH")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/echo.json")
    options = parser.parse_args(argv)
    unknown = set(options.parts) - {part.name for part in PARTS}
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}")
    return options


def cpus():
    """Returns (the server's CPU, the client's CPU)."""
    server = lib_sides.one_cpu()
    others = os.sched_getaffinity(0) - {server}
    return server, min(others) if others else server


def servers(options, go_missing):
    """{side: function of a part that gives the command}."""
    sides = lib_sides.Sides(options.build)
    build = options.build / "bench/echo"

    def threads(prefix, part):
        return [*prefix, build / "bench_echo", part.stack_kib]

    found = {"native": functools.partial(threads, [])}
    for io in lib_sides.run_options(sides.weft)["io"].split("|"):
        found[f"weft {io}"] = functools.partial(
            threads, [sides.weft, "run", "--vps", 1, "--io", io, "--"])
    if not go_missing:
        found["go"] = lambda part: ["env", "GOMAXPROCS=1", sides.go, "echo"]
    found["epoll"] = lambda part: [build / "bench_echo_epoll"]
    if (build / "bench_echo_uring").exists():
        found["io_uring"] = lambda part: [build / "bench_echo_uring"]
    if options.sides is None:
        return found
    wanted = options.sides.split(",")
    for side in wanted:
        if side not in found:
            sys.exit(f"bench echo: no side '{side}'; there are "
                     f"{', '.join(found)}")
    return {side: found[side] for side in wanted}


def port_of(server):
    """The server's first line; raises ValueError."""
    ready, _, _ = select.select([server.stdout], [], [], PORT_LIMIT_S)
    line = server.stdout.readline() if ready else ""
    if not line.startswith("port "):
        raise ValueError(f"no port but {line.strip()!r}")
    return line.split()[1]


def one_run(options, command, connections):
    """Runs a server and its client; returns the client's figures."""
    server_cpu, client_cpu = cpus()
    words = [str(word) for word in command]
    with subprocess.Popen(["taskset", "-c", str(server_cpu), *words],
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True, env=lib_sides.environment(),
                          preexec_fn=functools.partial(
                              measure.allow_descriptors, connections)) \
            as server:
        try:
            port = port_of(server)
            return measure.run(
                ["taskset", "-c", str(client_cpu),
                 options.build / "bench/echo/bench_echo_client",
                 str(server.pid), port, str(connections),
                 str(options.seconds)])
        except ValueError as error:
            return measure.Result(error=str(error))
        finally:
            server.kill()


def measured(options, found, part):
    """(medians, samples, errors) of a part, by side and figure."""
    connections = options.connections or part.connections
    runners = {side: functools.partial(one_run, options, command(part),
                                       connections)
               for side, command in found.items()
               if part.floors or side not in FLOORS}
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    medians = {side: {figure: statistics.median(seen)
                      for figure, seen in figures.items()}
               for side, figures in samples.items()}
    return medians, samples, {**impossible, **errors}


def times(medians, side, figure):
    ours = medians[side].get(figure)
    native = medians.get("native", {}).get(figure)
    return report.number(ours / native if ours and native else None)


def show(part, medians, failed):
    print(f"\n{part.name}: {part.connections} connections, stacks of "
          f"{part.stack_kib} KiB")
    print(f"{'':<14}" + "".join(f"{unit:>16}{'x native':>10}"
                                for unit in FIGURES.values()))
    for side in medians:
        cells = "".join(
            f"{report.number(medians[side].get(figure)):>16}"
            f"{times(medians, side, figure):>10}" for figure in FIGURES)
        print(f"{side:<14}{failed.get(side) or cells}")


def check(part, medians):
    """Prints and returns {side: {target: met}}."""
    checks = {}
    for side in medians:
        if not side.startswith("weft"):
            continue
        checks[side] = {f"{FIGURES[target.figure]} {target}": met
                        for target in part.targets
                        if (met := target.check(medians, side)) is not None}
        print(f"{side}: " + ", ".join(f"{text} {'yes' if met else 'NO'}"
                                      for text, met in checks[side].items()))
    return checks


def main(argv):
    options = parse(argv)
    go_missing = lib_sides.Sides(options.build).build_go(options.go)
    found = servers(options, go_missing)
    print(f"CPU {cpus()[0]}: server, CPU {cpus()[1]}: client; median of "
          f"{options.runs}; go: {go_missing or 'here'}", flush=True)
    rows, failures = {}, {}
    for part in PARTS:
        if options.parts and part.name not in options.parts:
            continue
        start = time.monotonic()
        medians, samples, failed = measured(options, found, part)
        show(part, medians, failed)
        rows[part.name] = {
            "connections": options.connections or part.connections,
            "stack_kib": part.stack_kib, "samples": samples,
            "medians": medians, "targets": check(part, medians),
            "failed": failed, "took_s": round(time.monotonic() - start, 1)}
        failures |= failed
        sys.stdout.flush()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(
        {"suite": "echo", "machine": lib_sides.machine(),
         "runs": options.runs, "seconds": options.seconds,
         "go": go_missing or "here", "parts": rows}, indent=1) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
