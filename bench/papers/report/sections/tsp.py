# SPDX-License-Identifier: MIT
"""Figure 2 of the paper on virtual processors: the travelling salesman."""

import re

from bench.papers.report.blocks import beside, of_cells, times
from bench.papers.report.plots import Plot

ROW = re.compile(r"(\d+) cities$")
LOCK_ROW = re.compile(r"(\d+) cities, (.+), locks a city: (\d+)$")
NO, NATIVE = "no threads", "native"
ONE, ALL = "weft, 1 VP", "weft, all VPs"
PAPER_CITIES, PAPER_RATIO = 11, 0.6


def cities_of(cells):
    """Returns {cities: row}."""
    found = {int(match[1]): row for row in cells.rows()
             if (match := ROW.match(row))}
    return dict(sorted(found.items()))


def gain_from(cells, cities, threads):
    """Returns the least number of cities from which on threads are surely
    faster than none, or None."""
    least = None
    for nr, row in cities.items():
        ratio = cells.ratio((row, threads), (row, NO))
        if ratio and ratio.high < 1:
            least = nr if least is None else least
        else:
            least = None
    return least


def found(cells, cities):
    lines = []
    for nr, row in cities.items():
        ratio = cells.ratio((row, ALL), (row, ONE))
        if nr == PAPER_CITIES:
            lines += beside(f"{nr} cities, all virtual processors over one",
                            ratio, PAPER_RATIO)
    for name in (NATIVE, ONE, ALL):
        least = gain_from(cells, cities, name)
        if any(cells.has(row, name) for row in cities.values()):
            lines.append(f"Threads ({name}) are faster than no threads "
                         + (f"from {least} cities on." if least else
                            "with none of these numbers of cities, or may be "
                            "equal."))
    if cities:
        nr, row = list(cities.items())[-1]
        ratio = cells.ratio((row, NATIVE), (row, ALL))
        if ratio:
            lines.append(f"{nr} cities, native threads over weft with all "
                         f"virtual processors: {times(ratio)}.")
    return lines


def lock_blocks(cells):
    """A table and a plot for each number of locks a city."""
    rows = {}
    for row in cells.rows():
        match = LOCK_ROW.match(row)
        if match:
            cities, variant, pairs = int(match[1]), match[2], int(match[3])
            rows.setdefault(pairs, {})[f"{cities}, {variant}"] = row
    blocks = []
    for pairs, names in sorted(rows.items()):
        blocks.append(of_cells("ms for one search by the kind of lock; locks "
                               f"and unlocks for each city besides: {pairs}",
                               cells, names, cells.columns(*names.values()),
                               "cities"))
    return blocks


def lock_found(cells):
    lines = []
    for row in cells.rows():
        match = LOCK_ROW.match(row)
        if not match or int(match[1]) != PAPER_CITIES:
            continue
        each = []
        for lock in ("semaphore", "peterson", "bakery", "fast"):
            ratio = cells.ratio((row, lock), (row, "mutex"))
            if ratio:
                each.append(f"{lock} {ratio.text()}")
        if each:
            lines.append(f"Time over that with a mutex, {row}: "
                         f"{', '.join(each)}.")
    return lines


def figure_2(cells, cities):
    series = {column: [(nr, cells.get(row, column).value)
                       for nr, row in cities.items()
                       if cells.has(row, column)]
              for column in cells.columns(*cities.values())}
    paper = ()
    if cells.has(f"{PAPER_CITIES} cities", ONE):
        paper = ((PAPER_CITIES, PAPER_RATIO * cells.get(
            f"{PAPER_CITIES} cities", ONE).value),)
    return Plot("Figure 2: one search by the number of cities", "cities",
                "ms for one search", series, paper)


def section(cells, make):
    cities = cities_of(cells)
    columns = cells.columns(*cities.values())
    return make(
        "Virtual processors: the travelling salesman (section 2, figure 2)",
        "From which size of a problem on do threads on several processors "
        "pay?",
        paper=["Exact search on a complete graph with up to 11 cities: without "
               "threads, with PTL on one processor, and with the SMP library "
               "on two. With few cities threads cost more than they gain. "
               "With 11 cities the library takes about 60 % of PTL's time. "
               "The figure has a log axis; its points are not printed as "
               "numbers.",
               "In our plot the cross is 60 % of weft's time with one virtual "
               "processor."],
        expected=["With few cities threads lose. With many, all virtual "
                  "processors take less time than one, as a share of its time "
                  "at best one over the number of CPUs."],
        ours=[of_cells("ms for one search", cells,
                       {str(nr): row for nr, row in cities.items()}, columns,
                       "cities"),
              figure_2(cells, cities), *lock_blocks(cells)],
        found=found(cells, cities) + lock_found(cells),
        explained=[
            "The salesman takes few locks: the more cities, the more a thread "
            "computes between two of them. So the virtual processors' gain "
            "grows towards the number of CPUs.",
            "A fixed cost remains for each search, the threads' creation and "
            "join. It decides with few cities.",
            "A lock that waits by looking again loses most where a thread that "
            "must be next does not run, as with more threads than CPUs."])
