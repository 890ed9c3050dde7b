# SPDX-License-Identifier: MIT
"""Tables and sentences of the page, made of cells."""

import dataclasses

from bench.papers.report.cells import quotient


@dataclasses.dataclass(frozen=True)
class Table:
    caption: str
    head: tuple
    rows: list


def of_cells(caption, cells, rows, columns, first=""):
    """Makes a table of these columns and of these rows, {name: row of the
    cells}."""
    return Table(caption, (first, *columns), [
        [name, *(cells.get(row, column).text() for column in columns)]
        for name, row in rows.items()])


def times(ratio):
    return f"{ratio.text()} times"


def beside(what, ratio, paper):
    """Returns a sentence that sets our ratio beside the paper's, which is a
    number or text. [] if we have no ratio."""
    if ratio is None:
        return []
    paper = paper if isinstance(paper, str) else quotient(paper)
    return [f"{what}: {times(ratio)}; the paper: {paper}."]


def same_way(ratio, paper):
    """Does ours lie on the same side of 1 as the paper's? None: it may be 1."""
    if ratio.may_be_1:
        return None
    return (ratio.value > 1) == (paper > 1)
