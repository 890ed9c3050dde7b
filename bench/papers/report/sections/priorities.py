# SPDX-License-Identifier: MIT
"""Priorities of the I/O servers, which section 1 leaves open."""

from bench.papers.report.blocks import Table

PLACES = {"local": "Local file system", "slow": "Slow file system"}

# Measured with a prototype that is no longer in the source, on 2 CPUs that
# other programs used, too. Medians of 25 interleaved runs.
AUTO = ("A priority for each request was tried (--io-nice auto) and not kept, "
        "because it did not win. It gave a server -12 for a read under a "
        "wanted mutex, -9 for a small read, -5 for a large one, -3 for a small "
        "write and -1 for a large one. Local: a small read took 320 us with "
        "it, 331 with -5 and 316 with -20; a turn 8.0, 7.2 and 7.2 ms; large "
        "reads had 125, 136 and 137 MB/s. Slow: a small read took 13.8, 13.9 "
        "and 17.3 ms; a turn 43, 45 and 62 ms. The quartiles overlap those of "
        "0 and of -5 in all rows.")
WHY = ("A server sleeps in most calls, and the kernel soon runs a thread that "
       "has slept, whatever its nice value. The disk's queue has no scheduler "
       "here (none), so I/O priorities change nothing, and the slow file "
       "system takes its requests in order. A server whose priority follows "
       "the request needs two or three system calls more for each.")


def tables(cells):
    """Returns {place: {figure: row}}."""
    found = {}
    for row in cells.rows():
        place, _, figure = row.partition(", ")
        if place in PLACES and figure:
            found.setdefault(place, {})[figure] = row
    return found


def sides(cells, rows):
    return cells.columns(*rows.values())


def table(cells, place, rows):
    columns = sides(cells, rows)
    return Table(PLACES[place], ("", "unit", *columns), [
        [figure, next((cells.get(row, side).unit for side in columns
                       if cells.has(row, side)), ""),
         *(cells.get(row, side).text() for side in columns)]
        for figure, row in rows.items()])


def found(cells, all_tables):
    """Compares -5, the paper's way, with 0."""
    lines = []
    for place, rows in all_tables.items():
        each = []
        for figure, row in rows.items():
            ratio = cells.ratio((row, "io-nice -5"), (row, "io-nice 0"))
            if ratio:
                each.append(f"{figure} {ratio.text()}")
        if each:
            lines.append(f"{PLACES[place]}, io-nice -5 over io-nice 0: "
                         f"{', '.join(each)}.")
    return lines


def section(cells, make):
    all_tables = tables(cells)
    return make(
        "Priorities of the I/O servers (section 1, left open)",
        "Small reads, small reads under a mutex that another thread wants, "
        "large reads and large writes go on at once, beside a thread that "
        "computes, on one CPU. Which priority of the I/O servers is best?",
        paper=["The server runs at a higher priority than the main process, so "
               "that a finished request is noticed soon. Priorities that "
               "follow the request and the load are left open."],
        expected=["Favoured servers shorten the reads and cost the computing "
                  "thread a little.",
                  "A priority for each request can serve small reads first, "
                  "where the servers compete with each other."],
        ours=[table(cells, place, rows) for place, rows in all_tables.items()],
        found=found(cells, all_tables),
        explained=[AUTO, WHY])
