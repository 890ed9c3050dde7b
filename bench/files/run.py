#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads of files. From the page cache: the cost that weft adds to the call.
Past it: at random by 64 threads, beside fio's io_uring engine with as many in
flight.

Native threads, weft with each way to wait, and fio run in turn. One thread
reads from the page cache, measured by CPU time; the random reads use all CPUs.
"""

import argparse
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

DEPTH = 64
SIDES = ("native", "weft", "fio")
# {row: (words of the program, unit, target)}. A read at a position first tries
# without waiting; at the file's own position it is the plain call.
ROWS = {
    "cached_pread": (("cached", "pread"), "ns",
                     report.Target(native=1 / 1.12)),
    "cached_read": (("cached", "read"), "ns", report.Target(native=1 / 1.05)),
    "random_direct": (("random", DEPTH), "k/s", report.Target(fio=0.9)),
}


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench files",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="of " + ", ".join(ROWS))
    parser.add_argument("--runs", type=int, default=7, help="of each side (7)")
    parser.add_argument("--count", type=int, default=200000,
                        help="reads from the page cache (200000)")
    parser.add_argument("--ms", type=int, default=2000,
                        help="a run of reads at random (2000)")
    parser.add_argument("--mib", type=int, default=512, help="the file's (512)")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where the file is (below the build's)")
    parser.add_argument("--fio", default="fio", metavar="PATH")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/files.json")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}")
    options.rows = options.rows or list(ROWS)
    options.folder = options.folder or options.build / "bench/files"
    return options


def made_file(options):
    """Writes all blocks, because the kernel does not read unwritten ones from
    the disk."""
    path = options.folder / "file"
    piece = os.urandom(1 << 20)
    with path.open("wb") as out:
        for _ in range(options.mib):
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return path


def run_fio(options, path):
    command = [options.fio, "--name=reads", f"--filename={path}", "--readonly",
               "--rw=randread", "--bs=4k", "--direct=1", "--norandommap",
               "--ioengine=io_uring", f"--iodepth={DEPTH}", "--time_based",
               f"--runtime={options.ms}ms", "--output-format=json"]
    if shutil.which(options.fio) is None:
        return measure.Result(impossible=f"no '{options.fio}' is installed")
    done = subprocess.run(command, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=measure.LIMIT_S)
    if done.returncode != 0:
        return measure.Result(error=done.stderr.strip()[-200:])
    jobs = json.loads(done.stdout[done.stdout.index("{"):])["jobs"]
    return measure.Result(figures={"kiops": jobs[0]["read"]["iops"] / 1e3})


def runners(name, options, path):
    """{side: function}, weft's with each way to wait."""
    words = ROWS[name][0]
    is_random = words[0] == "random"
    call = [options.build / "bench/files/bench_files_reads", path, *words,
            options.ms if is_random else options.count]
    weft = options.build / "weft"
    ways = lib_sides.run_options(weft)["io"].split("|")
    commands = {"native": call}
    for way in ways:
        commands[f"weft {way}"] = [weft, "run", "--io", way, "--", *call]
    found = {side: functools.partial(measure.run, list(map(str, command)))
             for side, command in commands.items()}
    if is_random:
        found["fio"] = functools.partial(run_fio, options, path)
    return found


def measured(name, options, path):
    """A row for each way to wait, all from the same runs."""
    _, unit, target = ROWS[name]
    samples, impossible, errors = measure.in_turn(
        runners(name, options, path), options.runs)
    figures = {side: next(iter(found.values()), [])
               for side, found in samples.items()}

    def of_way(by_side, way):
        """Picks weft's figures for that way to wait, beside those of the other
        sides."""
        return {side.split()[0]: what for side, what in by_side.items()
                if side in (f"weft {way}", "native", "fio")}

    return [report.Row(f"{name} {way}", unit, 0, of_way(figures, way), target,
                       unit != "ns", of_way(impossible, way),
                       of_way(errors, way))
            for way in (side.split()[1] for side in samples
                        if side.startswith("weft"))]


def main(argv):
    options = parse(argv)
    path = made_file(options)
    rows = []
    print(report.header(SIDES), flush=True)
    try:
        for name in options.rows:
            for row in measured(name, options, path):
                print(report.line(row, SIDES), flush=True)
                rows.append(row)
    finally:
        path.unlink()
    print(report.summary(rows))
    report.write_json(options.json, {
        "suite": "files", "machine": lib_sides.machine(),
        "runs": options.runs, "depth": DEPTH, "mib": options.mib}, rows)
    return 1 if any(row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
