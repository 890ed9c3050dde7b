# SPDX-License-Identifier: MIT
"""Looks up cells of one experiment, and compares them.

    cells = Cells(records, "locks")
    cells.get("kernel semaphore", "lock").text()
    cells.ratio(("kernel semaphore", "lock"), ("plain variable", "lock"))
"""

import dataclasses

from bench.lib import report

# Half width of the interval of a cell that only has a median.
ASSUMED = 0.1
SMALL = 0.01
# {unit: digits after the point}, for units that are no times.
DIGITS = {"fences": 0, "notices": 0, "%": 0, "calls": 2,
          "cases": 0}


@dataclasses.dataclass(frozen=True)
class Cell:
    value: float = None
    unit: str = ""
    low: float = None
    high: float = None
    why: str = "not measured"

    @property
    def bounds(self):
        if self.low is None or self.high is None:
            return (self.value * (1 - ASSUMED), self.value * (1 + ASSUMED))
        return self.low, self.high

    def text(self):
        if self.value is None:
            return "-"
        if self.unit in DIGITS:
            return f"{self.value:.{DIGITS[self.unit]}f}"
        return report.number(self.value)


def quotient(ratio):
    """Writes a ratio; one below 0.01 is written as 1/N."""
    if 0 < ratio < SMALL:
        return f"1/{1 / ratio:.0f}"
    return report.number(ratio)


@dataclasses.dataclass(frozen=True)
class Ratio:
    value: float
    low: float
    high: float

    @property
    def may_be_1(self):
        return self.low <= 1 <= self.high

    def text(self):
        return ("~" if self.may_be_1 else "") + quotient(self.value)


class Cells:
    def __init__(self, records, experiment):
        self.cells = {}
        for one in records:
            if one.get("experiment") != experiment:
                continue
            self.cells[one.get("row"), one.get("column")] = Cell(
                one.get("value"), one.get("unit", ""), one.get("low"),
                one.get("high"), one.get("why", ""))

    def get(self, row, column):
        return self.cells.get((row, column), Cell())

    def has(self, row, column):
        return self.get(row, column).value is not None

    def rows(self):
        return list(dict.fromkeys(row for row, _ in self.cells))

    def columns(self, *rows):
        """Returns the columns of these rows, or of all rows."""
        return list(dict.fromkeys(column for row, column in self.cells
                                  if not rows or row in rows))

    def ratio(self, over, under):
        """Returns the ratio of two cells, each named by (row, column), or
        None."""
        over, under = self.get(*over), self.get(*under)
        if over.value is None or not under.value or not all(under.bounds):
            return None
        return Ratio(over.value / under.value,
                     over.bounds[0] / under.bounds[1],
                     over.bounds[1] / under.bounds[0])

    def missing(self):
        """Returns {why: [cell...]} for the cells without a value."""
        found = {}
        for (row, column), cell in self.cells.items():
            if cell.value is None:
                found.setdefault(cell.why, []).append(f"{row}: {column}")
        return found
