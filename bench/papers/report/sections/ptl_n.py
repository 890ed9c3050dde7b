# SPDX-License-Identifier: MIT
"""The figures of the paper on PTL-N: file I/O that blocks only its caller."""

import re

from bench.papers.report.blocks import Table, beside, times
from bench.papers.report.plots import Plot

ROW = re.compile(r"(local|slow)-(read|write)-(hit|miss), (\d+) KiB, elapsed$")
PANELS = (("local", "read"), ("local", "write"), ("slow", "read"),
          ("slow", "write"))
PLACES = {"local": "local file system", "slow": "slow file system"}
OURS = ("weft process favoured", "model favoured")
# The sides that are drawn.
SIDES = ("plain", "native", "weft uring", *OURS)


def units(cells):
    """Returns {(place, operation, cache): [KiB...]}."""
    found = {}
    for row in cells.rows():
        match = ROW.match(row)
        if match:
            found.setdefault(match.groups()[:3], []).append(int(match[4]))
    return {key: sorted(each) for key, each in found.items()}


def row(key, unit, figure):
    return f"{'-'.join(key)}, {unit} KiB, {figure}"


def table(cells, key, each):
    sides = cells.columns(*(row(key, unit, "elapsed") for unit in each))
    head = [""]
    for unit in each:
        head += [f"{unit} KiB, ms", "x plain", "usable %"]
    rows = []
    for side in sides:
        line = [side]
        for unit in each:
            elapsed = row(key, unit, "elapsed")
            ratio = cells.ratio((elapsed, side), (elapsed, "plain"))
            line += [cells.get(elapsed, side).text(),
                     ratio.text() if ratio and side != "plain" else "-",
                     cells.get(row(key, unit, "usable"), side).text()]
        rows.append(line)
    place, operation, cache = key
    return Table(f"{PLACES[place]}, {operation}, cache {cache}", head, rows)


def plots(cells, all_units):
    blocks = []
    for place, operation in PANELS:
        key = (place, operation, "miss")
        each = all_units.get(key, [])
        series = {}
        for side in SIDES:
            for figure in ("elapsed", "effective"):
                if side == "plain" and figure == "effective":
                    continue
                series[f"{side}, {figure}"] = [
                    (unit, value) for unit in each
                    if (value := cells.get(row(key, unit, figure),
                                           side).value)]
        blocks.append(Plot(f"{PLACES[place]}, {operation}: elapsed and "
                           "effective CPU time", "unit, KiB", "ms",
                           {label: points for label, points in series.items()
                            if points}, log_x=True,
                           dashed={f"{side}, effective": f"{side}, elapsed"
                                   for side in SIDES}))
    return blocks


def usable_found(cells, all_units):
    lines = []
    for side in ("native", "weft uring", *OURS):
        shares = [cell.value for key, each in all_units.items()
                  for unit in each
                  if (cell := cells.get(row(key, unit, "usable"),
                                        side)).value is not None]
        if shares:
            lines.append(f"Usable part of the wait, {side}: {min(shares):.0f} "
                         f"to {max(shares):.0f} %; the paper: about 90 %.")
    return lines


def elapsed_found(cells, all_units):
    lines = []
    for key, unit, paper in (
            (("slow", "read", "miss"), 8, 1.2),
            (("slow", "write", "miss"), 8, 1.2),
            (("local", "read", "miss"), 8, "2 to 2.5"),
            (("local", "write", "miss"), 8, "2 to 2.5")):
        elapsed = row(key, unit, "elapsed")
        for side in OURS:
            lines += beside(f"{'-'.join(key)}, units of {unit} KiB, elapsed "
                            f"time of {side} over plain I/O",
                            cells.ratio((elapsed, side), (elapsed, "plain")),
                            paper)
    for key in all_units:
        if key[2] == "hit":
            counts = [cell.value for unit in all_units[key]
                      if (cell := cells.get(row(key, unit, "notices"),
                                            "weft process")).value is not None]
            if counts:
                lines.append(f"{'-'.join(key)}: at most {max(counts):.0f} "
                             "notices of completions; the paper: none.")
    return lines


def explained_by_idle(cells, all_units):
    """Where I/O beside a thread that spins is faster than alone."""
    for key, each in all_units.items():
        for unit in each:
            elapsed = row(key, unit, "elapsed")
            ratio = cells.ratio((elapsed, "native"), (elapsed, "plain"))
            if key[2] == "miss" and ratio and ratio.high < 1:
                return ["Some ratios to plain I/O are below 1. Plain I/O "
                        "leaves its CPU idle while it waits, and an idle CPU "
                        "takes time to wake up, most in a virtual machine. The "
                        "other thread keeps the CPU awake."]
    return []


def ablations_found(cells, all_units):
    lines = []
    for side, what in (("model copies", "Blocks are copied"),
                       ("model tells", "Each completion is signalled"),
                       ("model by timer", "A 10 ms timer looks for "
                        "completions"),
                       ("model by socket", "A socket tells of completions")):
        for key, each in all_units.items():
            parts = []
            for unit in each:
                elapsed = row(key, unit, "elapsed")
                ratio = cells.ratio((elapsed, side),
                                    (elapsed, "model favoured"))
                if ratio:
                    parts.append(f"{unit} KiB {times(ratio)}")
            if parts:
                lines.append(f"{what}, {'-'.join(key)}, elapsed time over the "
                             f"model without that: {', '.join(parts)}.")
    return lines


def section(cells, make):
    all_units = units(cells)
    return make(
        "PTL-N: file I/O that blocks only its caller (section 1)",
        "While one thread waits for a file, how much of the wait can another "
        "thread use, and how much longer does the I/O take?",
        paper=[Table("A file of 10 MB in units of 8 to 256 KB", ("", "found"), [
            ["usable part of the wait", "about 90 %"],
            ["network file system, 8 KB units", "20 % longer"],
            ["network file system, large units", "no longer"],
            ["local file system, cache miss", "2 to 2.5 times longer"],
            ["signals sent on cache hits", "none"],
            ["blocks copied through shared memory", "slower"],
            ["a signal on every completion", "slower, most at 8 KB"]]),
            "The effective CPU time is that of a low-priority thread which "
            "spins while the I/O waits."],
        expected=["About 90 % of the wait is usable.",
                  "Throughput is close to plain I/O with large units.",
                  "A request that the page cache answers needs no notice.",
                  "Both ablations lose, the signal most at small units.",
                  "A completion that a 10 ms timer has to find is up to 10 ms "
                  "late. A socket takes two system calls more than a signal: "
                  "a byte is written and read."],
        ours=[table(cells, key, each) for key, each in all_units.items()]
        + plots(cells, all_units),
        found=usable_found(cells, all_units)
        + elapsed_found(cells, all_units) + ablations_found(cells, all_units),
        explained=explained_by_idle(cells, all_units) + [
            "Our slow file system stands for the network: it waits 0.5 ms for "
            "a request and passes 12 MB/s. Its server has a CPU of its own.",
            "Our local disk is far faster than one of 1998. Where an operation "
            "takes less than a millisecond, two wakes and two switches for "
            "each are a large part of it.",
            "With the I/O backends uring and servers, weft gives a thread that "
            "does nothing but file I/O a kernel thread of its own. The rows of "
            "the process backend and of the model are the paper's system."])
