# SPDX-License-Identifier: MIT
"""Figures of the guide that are made of bench/results/services.json: a table
for each service, and one plot. tools/make_figures.py puts them there.

    for block in figure("service-nginx", saved.read(root)):
        ...                 a blocks.Table, a plots.Bars or text
"""

from bench.lib.report import number
from bench.papers.report import plots
from bench.papers.report.blocks import Table
from bench.servers.run import KINDS, PARTS

PREFIX = "service-"
PLOT = "services"
# {part: its name in the plot}
PLOTTED = {"mariadb_point_16": "MariaDB, 16 connections",
           "mariadb_point_256": "MariaDB, 256 connections",
           "mariadb_point_1000": "MariaDB, 1000 connections",
           "gunicorn_wait_16": "Python (gunicorn), 16 connections",
           "gunicorn_wait_256": "Python (gunicorn), 256 connections",
           "waitress_wait_256": "Python (waitress), 256 connections"}
WEFT = "weft uring"
HEAD = ("load, connections", "requests/s, native", "weft", "ratio",
        "CPU us for one, native", "weft", "ratio")
NAMES = [PLOT, *(PREFIX + kind for kind in KINDS)]


def ratio(part, kind):
    figure = KINDS[kind][0].of_weft
    return part["sides"][WEFT][figure] / part["sides"]["native"][figure]


def row(name, part, kind):
    figure = KINDS[kind][0].of_weft
    native, weft = (part["sides"][side] for side in ("native", WEFT))
    return [name, number(native["requests"]), number(weft["requests"]),
            f"{weft['requests'] / native['requests']:.2f}",
            number(native[figure]), number(weft[figure]),
            f"{ratio(part, kind):.2f}"]


def runs(used):
    """The number, or the least and the most: rows are measured apart."""
    numbers = sorted({part["runs"] for part in used})
    return " to ".join(map(str, (numbers[0], numbers[-1])[:len(numbers)]))


def table(kind, parts):
    wanted = [part for part in PARTS if part.kind == kind]
    found = {f"{one.load}, {one.connections}": parts[one.name]
             for one in wanted if one.name in parts}
    again = f"`./dev bench servers --save {kind}`"
    if not found:
        return [f"*Not measured yet: {again} fills this in.*"]
    used = list(found.values())
    text = (f"By {again}, {used[0]['date']}, {used[0]['cpus']} CPUs, medians "
            f"of {runs(used)} runs of each side in turn. Other programs "
            f"used at most {max(part['others'] for part in used):.1f} CPUs.")
    if any(part["favoured"] for part in used):
        text += (" The benchmark had priority (`--favoured`): other programs "
                 "got only the CPU time that the benchmark left, but they "
                 "shared the caches.")
    text += " Results vary with the machine and its load."
    if len(found) < len(wanted):
        text += " Rows that are missing are not measured yet."
    return [Table("", HEAD, [row(name, part, kind)
                             for name, part in found.items()]), text]


def plot(parts):
    found = {title: round(100 * ratio(parts[name], name.partition("_")[0]))
             for name, title in PLOTTED.items() if name in parts}
    bars = plots.Bars("CPU time of the server for one request", "% of native",
                      {"native": dict.fromkeys(found, 100), "weft": found})
    return [bars] if found else []


def figure(name, saved):
    """Returns the figure's blocks; raises KeyError for another name."""
    parts = saved.get("parts", {})
    if name == PLOT:
        return plot(parts)
    kind = name.removeprefix(PREFIX)
    if kind not in KINDS:
        raise KeyError(name)
    return table(kind, parts)
