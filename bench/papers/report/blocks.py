"""Tables and sentences of the page, made of cells."""

import dataclasses

from bench.lib import report


@dataclasses.dataclass(frozen=True)
class Table:
    caption: str
    head: tuple
    rows: list


def of_cells(caption, cells, rows, columns, first=""):
    """A table of these rows, {name: row of the cells}, and columns."""
    return Table(caption, (first, *columns), [
        [name, *(cells.get(row, column).text() for column in columns)]
        for name, row in rows.items()])


def times(ratio):
    return f"{ratio.text()} times"


def beside(what, ratio, paper):
    """A sentence on a ratio of ours and the paper's, or [] without ours."""
    if ratio is None:
        return []
    return [f"{what}: {times(ratio)}; the paper: {report.number(paper)}."]


def same_way(ratio, paper):
    """Does ours lie on the same side of 1 as the paper's? None: it may be 1."""
    if ratio.may_be_1:
        return None
    return (ratio.value > 1) == (paper > 1)
