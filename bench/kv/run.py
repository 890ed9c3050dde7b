#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The key-value store of examples/kv over channels, natively and on weft, and
over Unix sockets and TCP with native threads: requests per second and latency
of clients that each wait for the answer before they ask again.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.lib import measure, report, sides as lib_sides  # noqa: E402

SIDES = ("channel", "channel on weft", "unix", "tcp")
FIGURES = ("requests_per_s", "median_us", "p99_us")
PORT = 17801
LIMIT_S = 60


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench kv",
                                     description=" ".join(__doc__.split()))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="of each run (0.5)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 32])
    parser.add_argument("--value", type=int, default=32, metavar="BYTES")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=report.result_file,
                        default=ROOT / "bench/results/kv.json")
    return parser.parse_args(argv)


def run(side, nr_clients, options):
    """Starts a server and loads it once; returns a Result."""
    kind, _, on_weft = side.partition(" on ")
    prefix = [str(options.build / "weft"), "run", "--"] if on_weft else []
    with tempfile.TemporaryDirectory() as folder:
        address = f"tcp:{PORT}" if kind == "tcp" else f"{kind}:{folder}/s"
        server = subprocess.Popen(
            prefix + [str(options.build / "examples/kv/kv_server"), address],
            stdout=subprocess.PIPE, text=True, env=lib_sides.environment())
        try:
            if server.stdout.readline() != "ready\n":
                return measure.Result(error="the server does not start")
            return measure.run(
                prefix + [str(options.build / "examples/kv/kv_load"), address,
                          str(nr_clients), str(options.seconds),
                          str(options.value)], limit_s=LIMIT_S)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def rows_of(nr_clients, options):
    runners = {side: lambda side=side: run(side, nr_clients, options)
               for side in SIDES}
    samples, impossible, errors = measure.in_turn(runners, options.runs)
    for figure in FIGURES:
        yield figure, {side: found[figure] for side, found in samples.items()
                       if figure in found}, impossible, errors


def line(name, row):
    cells = "".join(f"{report.cell(row, side):>17}" for side in SIDES)
    channel = row.medians.get("channel")
    times = "".join(
        f"{report.number(ratio(row, channel, side)):>9}"
        for side in SIDES[2:])
    return f"{name:<28}{cells}{times}"


def ratio(row, channel, side):
    """Returns how many times better the channel is than another side."""
    other = row.medians.get(side)
    if not channel or not other:
        return None
    return channel / other if row.higher_is_better else other / channel


def main(argv):
    options = parse(argv)
    print(f"{'':<28}" + "".join(f"{side:>17}" for side in SIDES) +
          "".join(f"{'x ' + side:>9}" for side in SIDES[2:]))
    rows = []
    for nr_clients in options.clients:
        for figure, samples, impossible, errors in rows_of(nr_clients,
                                                           options):
            name = f"{nr_clients} clients {figure}"
            rows.append(report.Row(
                name, figure, 0, samples, impossible=impossible,
                errors=errors, higher_is_better=figure == FIGURES[0]))
            print(line(name, rows[-1]), flush=True)
    report.write_json(options.json, {
        "suite": "kv", "machine": lib_sides.machine(), "runs": options.runs,
        "seconds": options.seconds, "value_bytes": options.value}, rows)
    return 1 if any(row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
