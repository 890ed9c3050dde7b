#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers and other services, natively and on weft: MariaDB under sysbench,
Apache, nginx, Tomcat, servers in Java, Python and Ruby under ab, redis, clients
of PostgreSQL, OpenMP and BLAS. Prints requests per second, and the CPU time of
server and client for a request.

Server and client share all CPUs, so requests per second measure the whole
machine, and the server's CPU time measures weft. The servers of all sides run
all the time and are loaded in turn.
"""

import argparse
import collections
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test/lib")]

from bench.lib import groups, measure, report, sides as lib_sides  # noqa: E402
from bench.servers import others, saved, servers, web  # noqa: E402

# {name: (class, numbers of connections)}
KINDS = {
    "mariadb": (servers.MariaDB, (16, 256, 1000)),
    "apache": (web.Apache, (16, 1000)),
    "nginx": (web.Nginx, (16, 256)),
    "tomcat": (web.Tomcat, (16, 256)),
    "java": (web.Java, (16, 256)),
    "gunicorn": (web.Gunicorn, (16, 256)),
    "django": (web.Django, (16, 256)),
    "waitress": (web.Waitress, (16, 256)),
    "puma": (web.Puma, (16, 256)),
    "redis": (others.Redis, (16, 256)),
    "postgres-clients": (others.PostgresClients, (16, 256)),
    "openmp": (others.OpenMP, (2, 16)),
    "blas": (others.Blas, (2, 16)),
}
FIGURES = {"requests": "requests/s", "server_us": "server CPU us",
           "system_us": "in the kernel", "client_us": "client CPU us",
           "server_cpus": "server CPUs",
           "idle_cpus": "idle CPUs", "other_cpus": "others' CPUs"}
# The machine is the limit if more than this share of all CPUs is in use.
BUSY = 0.95


@dataclasses.dataclass(frozen=True)
class Part:
    kind: str
    load: str
    connections: int

    @property
    def name(self):
        return f"{self.kind}_{self.load}_{self.connections}"

    def checks(self, native, weft):
        """Returns {target: is it met}."""
        if not native or not weft or self.connections not in (16, 1000) or \
                not KINDS[self.kind][0].has_targets:
            return {}
        more = weft["requests"] / native["requests"]
        if self.connections == 16:
            return {"requests >=0.95x native": more >= 0.95,
                    "server CPU <=1.05x native":
                    weft["server_us"] <= 1.05 * native["server_us"]}
        used = weft["requests"] * (weft["server_us"] + weft["client_us"]) / 1e6
        is_limit = used >= BUSY * len(os.sched_getaffinity(0))
        return {"requests >=1.3x native, or server and client use all CPUs":
                more >= 1.3 or is_limit}


PARTS = [Part(name, load, connections)
         for name, (kind, numbers) in KINDS.items()
         for load in kind.loads for connections in numbers]


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench servers",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help="of " + ", ".join(p.name for p in PARTS) +
                        ", or how several begin")
    parser.add_argument("--runs", type=int, default=7, help="of each side (7)")
    parser.add_argument("--seconds", type=int, default=3,
                        help="of each run (3)")
    parser.add_argument("--io", default="uring",
                        help="backends of weft's, with commas between (uring)")
    parser.add_argument("--processes", type=int, default=2,
                        help="of Apache, which share the threads (2)")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where data is (that of temporary files)")
    parser.add_argument("--profile", type=pathlib.Path, metavar="FOLDER",
                        help="also a profile of each server there, by perf")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/servers.json")
    parser.add_argument("--save", action="store_true",
                        help="put the medians into the file of which the "
                        "guide's tables are made, in place of those of the "
                        "same parts")
    parser.add_argument("--favoured", action="store_true",
                        help="in a control group that other programs take "
                        "hardly any CPU time from; needs root")
    options = parser.parse_args(argv)
    unknown = [name for name in options.parts
               if not any(p.name.startswith(name) for p in PARTS)]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}")
    options.parts = [p for p in PARTS if not options.parts or
                     any(p.name.startswith(name) for name in options.parts)]
    return options


def prefixes(options):
    """Returns {side: words before the server's command}."""
    weft = options.build.resolve() / "weft"
    return {"native": [], **{f"weft {io}": [
        weft, "run", "--io", io, "--stats=json", "--stats-file", "FOLDER/stats",
        "--"] for io in options.io.split(",")}}


def threads_made(folder):
    """Returns how many threads the programs of a side made on weft."""
    lines = (folder / "stats").read_text().splitlines()
    return sum(json.loads(line)["threads_made"] for line in lines)


@contextlib.contextmanager
def all_sides(kind, options, ret_made):
    """Runs the servers of all sides and yields {side: its server}. When they
    have ended, `ret_made` has {side: threads made} of the sides on weft."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-",
                                     dir=options.folder) as name, \
            contextlib.ExitStack() as stack:
        top = pathlib.Path(name)
        top.chmod(0o755)
        (top / "template").mkdir()
        template = kind([], top / "template", options)
        stack.callback(template.end)
        template.prepare()
        found = {}
        for side, prefix in prefixes(options).items():
            folder = top / side.replace(" ", "-")
            folder.mkdir()
            if prefix:
                # A server may change its user before it makes threads.
                (folder / "stats").touch()
                (folder / "stats").chmod(0o666)
                stack.callback(lambda side=side, folder=folder:
                               ret_made.update({side: threads_made(folder)}))
            found[side] = kind([str(word).replace("FOLDER", str(folder))
                                for word in prefix], folder, options)
            found[side].take_data(template)
            stack.callback(found[side].end)
            found[side].start()
        yield found


def profile(server, part, side, options):
    """Profiles the server's CPU time in a run of its own: by object and symbol
    into a file. Returns the shares of the largest objects."""
    options.profile.mkdir(parents=True, exist_ok=True)
    path = options.profile / f"{part.name}-{side.replace(' ', '-')}"
    # perf records all processes: a record of one process would lack the
    # threads that come later.
    with subprocess.Popen(["perf", "record", "-q", "-a", "-o", f"{path}.perf",
                           "--", "sleep", str(options.seconds + 2)],
                          stderr=subprocess.DEVNULL):
        time.sleep(1)
        server.run(part.load, part.connections)
        pids = set(servers.processes(server.process.pid))
    printed = servers.tool("perf", "script", "-i", f"{path}.perf", "-F",
                           "pid,ip,sym,dso")
    pathlib.Path(f"{path}.perf").unlink()
    places = collections.Counter(
        (found[3].rpartition("/")[2], found[2]) for found in
        re.finditer(r"^ *(\d+) +[0-9a-f]+ (.*) \((.*)\)$", printed, re.M)
        if int(found[1]) in pids)
    objects = collections.Counter()
    for (name, _), nr in places.items():
        objects[name] += nr
    total = max(places.total(), 1)
    with open(f"{path}.txt", "w", encoding="utf-8") as out:
        for (name, symbol), nr in places.most_common(200):
            print(f"{100 * nr / total:6.2f} {name:<24} {symbol}", file=out)
    return {name: round(100 * nr / total, 1)
            for name, nr in objects.most_common(8)}


def show(part, medians, failed, checks):
    print(f"\n{part.name}\n{'':<14}" + "".join(
        f"{unit:>14}{'x native':>10}" for unit in FIGURES.values()))
    native = medians.get("native", {})
    for side, row in medians.items():
        cells = "".join(
            f"{report.number(row.get(figure)):>14}" +
            f"{times(row.get(figure), native.get(figure)):>10}"
            for figure in FIGURES)
        print(f"{side:<14}{failed.get(side) or cells}")
    for side, found in checks.items():
        print(f"{side}: " + ", ".join(f"{text} {'yes' if met else 'NO'}"
                                      for text, met in found.items()))
    sys.stdout.flush()


def times(ours, native):
    return report.number(ours / native if ours and native else None)


def measured(part, found, options):
    """Measures a part and prints it. Returns its row of the results."""
    begin = time.monotonic()
    runners = {side: functools.partial(server.run, part.load,
                                       part.connections)
               for side, server in found.items()}
    samples, _, failed = measure.in_turn(runners, options.runs, discard=1)
    medians = {side: {figure: statistics.median(seen)
                      for figure, seen in figures.items()}
               for side, figures in samples.items()}
    checks = {side: part.checks(medians["native"], medians[side])
              for side in medians if side != "native"}
    show(part, medians, failed, checks)
    profiles = {}
    for side, server in found.items() if options.profile else ():
        profiles[side] = profile(server, part, side, options)
        print(f"{side}: percent of the server's CPU time in " + ", ".join(
            f"{name} {share}" for name, share in profiles[side].items()),
            flush=True)
    return {"connections": part.connections, "samples": samples,
            "medians": medians, "targets": checks, "failed": failed,
            "profiles": profiles,
            "took_s": round(time.monotonic() - begin, 1)}


def measured_kind(name, parts, options):
    """Measures the parts of one kind. Returns ({part: row}, whether it failed),
    and prints the reason if the kind cannot be measured."""
    kind, _ = KINDS[name]
    if kind.missing():
        print(f"\n{name}: {kind.missing()}")
        return {}, False
    rows, made = {}, {}
    try:
        with all_sides(kind, options, made) as found:
            for part in parts:
                rows[part.name] = measured(part, found, options)
    except servers.Failed as problem:
        print(f"\n{name}: {problem}")
        return {}, True
    print("".join(f"{side}: {nr} threads made\n"
                  for side, nr in made.items()), end="", flush=True)
    for row in rows.values():
        row["threads_made"] = made
    return rows, any(row["failed"] for row in rows.values())


def measured_parts(options):
    rows, has_failed = {}, False
    for name in KINDS:
        parts = [part for part in options.parts if part.kind == name]
        if parts:
            more, failed = measured_kind(name, parts, options)
            rows |= more
            has_failed |= failed
    return rows, has_failed


def main(argv):
    options = parse(argv)
    if options.profile and not shutil.which("perf"):
        sys.exit("there is no perf")
    print(f"{len(os.sched_getaffinity(0))} CPUs for server and client; median "
          f"of {options.runs}, {options.seconds} s each")
    with groups.favoured() if options.favoured else \
            contextlib.nullcontext(True) as is_allowed:
        if not is_allowed:
            sys.exit("no control group can be made")
        rows, has_failed = measured_parts(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(
        {"suite": "servers", "machine": lib_sides.machine(),
         "runs": options.runs, "seconds": options.seconds,
         "parts": rows}, indent=1) + "\n")
    if options.save:
        for name, why in saved.save(ROOT, rows, options).items():
            print(f"{name}: not saved: {why}")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
