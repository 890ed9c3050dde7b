#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that people run, natively and on weft: POSIX AIO, fio, stress-ng,
zstd and hackbench, some of them beside other load.

Native threads and weft run in turn, on the same CPUs. If a program is missing,
or needs a right that the caller does not have, its row says impossible.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402
from bench.lib.groups import control_group  # noqa: E402

SIDES = ("native", "weft")
LIMIT_S = 120
BUSY_PROCESSES = 50


@dataclasses.dataclass(frozen=True)
class Case:
    """The program to run, and the figure of it that the row shows."""
    run: callable          # run(options, folder, prefix) -> measure.Result
    unit: str
    target: report.Target
    higher_is_better: bool = True


# --- how programs are started -------------------------------------------------

def started(words, **more):
    """The finished command, or a Result with the reason of its failure."""
    if shutil.which(str(words[0])) is None:
        return measure.Result(impossible=f"no '{words[0]}' is installed")
    try:
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True,
            timeout=LIMIT_S, stdin=subprocess.DEVNULL,
            env=lib_sides.environment(), **more)
    except subprocess.TimeoutExpired:
        return measure.Result(error=f"no end after {LIMIT_S} s")
    if done.returncode != 0:
        return measure.Result(error=f"status {done.returncode} "
                                    f"{done.stderr.strip()[-200:]}")
    return done


def program(prefix, name, *words, **more):
    """Runs a command on a side. If the command is not found, the program is
    missing and not weft."""
    if shutil.which(name) is None:
        return measure.Result(impossible=f"no '{name}' is installed")
    return started([*prefix, name, *words], **more)


@contextlib.contextmanager
def beside(*words, **more):
    """Runs the body while that command runs."""
    load = subprocess.Popen(words, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True,
                            **more)
    try:
        time.sleep(0.5)  # until the load has started its processes
        yield
    finally:
        os.killpg(load.pid, 15)
        load.wait()


# --- the programs -------------------------------------------------------------

def aio(options, folder, prefix):
    words = [options.build / "bench/programs/bench_programs_aio",
             folder / "aio", 8, options.ms]
    done = started([*prefix, *words])
    return done if isinstance(done, measure.Result) else \
        measure.Result(figures=measure.parse(done.stdout))


def fio(engine, options, folder, prefix):
    done = program(
        prefix, "fio", "--thread", "--name=weft", f"--directory={folder}",
        "--size=16m", "--numjobs=16", "--rw=randrw", "--bs=4k",
        f"--ioengine={engine}", "--time_based", f"--runtime={options.ms}ms",
        "--group_reporting", "--output-format=json")
    if isinstance(done, measure.Result):
        return done
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    return measure.Result(figures={
        "kiops": (job["read"]["iops"] + job["write"]["iops"]) / 1e3})


def stress_ng(kind, per_cpu, options, folder, prefix):
    """Returns thousands of operations in a second, or in a CPU second."""
    if kind == "mutex" and os.geteuid() != 0:
        return measure.Result(impossible="only root may have SCHED_FIFO")
    done = program(prefix, "stress-ng", f"--{kind}", 2, "-t",
                   max(1, options.ms // 1000), "--metrics-brief", cwd=folder)
    if isinstance(done, measure.Result):
        return done
    # The columns are operations, real, user and system seconds, the rate by
    # real time, and the rate by user plus system time.
    words = re.search(rf"\b{kind} +(\d+)((?: +[\d.]+){{5}})",
                      done.stdout + done.stderr)
    if words is None:
        return measure.Result(error="no operations were counted")
    rates = words[2].split()[3:]
    return measure.Result(figures={"kops": float(rates[per_cpu]) / 1e3})


def zstd(options, folder, prefix):
    """Returns the CPU time of zstd beside two busy processes."""
    path = folder / "zstd"
    if not path.exists():
        libraries = sorted(pathlib.Path("/usr/lib").glob("*/*.so*"))
        with path.open("wb") as out:
            for library in filter(pathlib.Path.is_file, libraries):
                out.write(library.read_bytes())
                if out.tell() > 32 << 20:
                    break
    if shutil.which("stress-ng") is None:
        return measure.Result(impossible="no 'stress-ng' is installed")
    with beside("stress-ng", "--cpu", "2"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = program(prefix, "zstd", "-q", "-T8", "-f", path, "-o",
                       folder / "zstd.zst")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if isinstance(done, measure.Result):
        return done
    return measure.Result(figures={
        "cpu_ms": (after.ru_utime - before.ru_utime +
                   after.ru_stime - before.ru_stime) * 1e3})


def hackbench(options, folder, prefix):
    """Wall time in a control group of its own, beside 50 busy processes in
    another."""
    for name in ("hackbench", "stress-ng"):
        if shutil.which(name) is None:
            return measure.Result(impossible=f"no '{name}' is installed")
    with control_group("busy") as enter_busy, control_group("own") as enter:
        if enter is None or enter_busy is None:
            return measure.Result(impossible="no control group can be made")
        with beside("stress-ng", "--cpu", str(BUSY_PROCESSES),
                    preexec_fn=enter_busy):
            start = time.monotonic()
            done = program(prefix, "hackbench", "-T", "-g", 4, "-l",
                           options.ms, preexec_fn=enter)
            ms = (time.monotonic() - start) * 1e3
    return done if isinstance(done, measure.Result) else \
        measure.Result(figures={"wall_ms": ms})


def cases():
    found = {"aio_suspend": Case(aio, "k/s", report.Target(native=0.97))}
    for engine in ("posixaio", "psync", "sync", "pvsync"):
        found[f"fio_{engine}"] = Case(functools.partial(fio, engine), "k/s",
                                      report.Target(native=0.97))
    for kind, per_cpu, target in (("mutex", 0, 0.9), ("mutex", 1, 1),
                                  ("futex", 1, 0.97)):
        found[f"stress_ng_{kind}{'_cpu' if per_cpu else ''}"] = Case(
            functools.partial(stress_ng, kind, per_cpu), "k/s",
            report.Target(native=target))
    found["zstd_beside_load"] = Case(zstd, "ms CPU",
                                     report.Target(native=1 / 1.1), False)
    found["hackbench_beside_50"] = Case(hackbench, "ms",
                                        report.Target(native=1 / 2), False)
    return found


CASES = cases()


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench programs",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="of " + ", ".join(CASES))
    parser.add_argument("--runs", type=int, default=9, help="of each side (9)")
    parser.add_argument("--ms", type=int, default=2000,
                        help="of a run, or its operations (2000)")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where the files are (below the build's)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/programs.json")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(CASES)
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}")
    options.rows = options.rows or list(CASES)
    options.folder = options.folder or options.build / "bench/programs"
    return options


def measured(name, options, folder):
    case = CASES[name]
    prefixes = {"native": [],
                "weft": [str(options.build / "weft"), "run", "--"]}
    runners = {side: functools.partial(case.run, options, folder, prefix)
               for side, prefix in prefixes.items()}
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    figures = {side: next(iter(found.values()), [])
               for side, found in samples.items()}
    return report.Row(name, case.unit, 0, figures, case.target,
                      case.higher_is_better, impossible, errors)


def main(argv):
    options = parse(argv)
    rows = []
    print(report.header(SIDES), flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name in options.rows:
            rows.append(measured(name, options, pathlib.Path(folder)))
            print(report.line(rows[-1], SIDES), flush=True)
    print(report.summary(rows))
    report.write_json(options.json, {
        "suite": "programs", "machine": lib_sides.machine(),
        "runs": options.runs, "ms": options.ms}, rows)
    return 1 if any(row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
