# SPDX-License-Identifier: MIT
"""Decoding while reading, which is what PTL-N was made for."""

import re

from bench.papers.report.blocks import Table
from bench.papers.report.plots import Plot

ROW = re.compile(r"(\w+), (\d+) KiB, decoding takes ([\d.]+) of reading, "
                 r"elapsed$")
PLACES = {"local": "Local file system", "slow": "Slow file system"}
READ, DECODE, PLAIN = "read only", "decode only", "plain"


def cases(cells):
    """{(place, KiB): {share of reading: row}}"""
    found = {}
    for row in cells.rows():
        match = ROW.match(row)
        if match:
            found.setdefault((match[1], int(match[2])), {})[
                float(match[3])] = row
    return found


def hidden_row(row):
    return row.removesuffix("elapsed") + "hidden"


def threads(cells, row):
    """Returns the sides with two threads."""
    return [side for side in cells.columns(row)
            if side not in (READ, DECODE, PLAIN)]


def table(cells, place, unit, rows):
    lines = []
    for share, row in rows.items():
        columns = cells.columns(row)
        lines.append([f"{share:g}", "ms", *(cells.get(row, side).text()
                                            for side in columns)])
        lines.append(["", "hidden %", *(
            cells.get(hidden_row(row), side).text() for side in columns)])
    columns = cells.columns(next(iter(rows.values())))
    return Table(f"{PLACES.get(place, place)}, units of {unit} KiB",
                 ("decoding by reading", "", *columns), lines)


def plot(cells, place, unit, rows):
    sides = cells.columns(*rows.values())
    return Plot(f"{PLACES.get(place, place)}, units of {unit} KiB: decoding "
                "while reading", "decoding by reading", "ms",
                {side: [(share, cells.get(row, side).value)
                        for share, row in rows.items()
                        if cells.has(row, side)] for side in sides})


def found(cells, all_cases):
    lines = []
    for place in PLACES:
        rows = [row for key, each in all_cases.items() if key[0] == place
                for row in each.values()]
        for side in dict.fromkeys(side for row in rows
                                  for side in threads(cells, row)):
            shares = [cells.get(hidden_row(row), side).value for row in rows
                      if cells.has(hidden_row(row), side)]
            if shares:
                lines.append(f"{PLACES[place]}, {side}: two threads hide "
                             f"{min(shares):.0f} to {max(shares):.0f} % of the "
                             "time that can be hidden.")
    return lines


def section(cells, make):
    all_cases = cases(cells)
    ours = []
    for (place, unit), rows in all_cases.items():
        ours += [table(cells, place, unit, rows),
                 plot(cells, place, unit, rows)]
    return make(
        "Decoding while reading (section 1, its motivating use)",
        "A program reads a file of sound and decodes it, on one CPU. How much "
        "of the waiting for the file does a second thread hide?",
        paper=["A program that decodes while it reads is what the paper wants "
               "to be written with threads alone. It prints no figure."],
        expected=["Two threads take as long as the longer of reading and "
                  "decoding, and a little more.",
                  "The most is to be gained where both take equally long."],
        ours=ours, found=found(cells, all_cases),
        explained=[
            "What can be hidden is the time of one thread less the longer of "
            "reading alone and decoding alone. The first unit is read before "
            "anything can be decoded, and the last one is decoded when "
            "nothing is left to read: the larger the units, the more of that.",
            "The local file system reads a unit in a fraction of a "
            "millisecond. Much of that is work of the kernel's on the same "
            "CPU, which nothing can hide."])
