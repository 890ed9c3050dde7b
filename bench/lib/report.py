# SPDX-License-Identifier: MIT
"""Turns samples into rows of medians, ratios and targets, and prints them.

A row shows its target beside the measured figure, and whether it is met. A
missed target is no failure: a figure depends on the state of the machine at
that moment.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics

WIDTHS = (22, 10, 10, 10)


@dataclasses.dataclass(frozen=True)
class Target:
    """The target of a row. `native`, `go`, `fio`, `library`: how many times
    better than these at least. `at_most`: limit of weft's own figure.
    `more_at_most`: limit of weft's figure minus native's."""
    native: float = None
    go: float = None
    fio: float = None
    library: float = None
    at_most: float = None
    more_at_most: float = None

    def checks(self, row):
        """{text: met} of the targets that could be measured."""
        weft, native = row.medians.get("weft"), row.medians.get("native")
        found = {}
        for side in ("native", "go", "fio", "library"):
            wanted, got = getattr(self, side), row.ratios.get(side)
            if wanted is not None and got is not None:
                found[f">={wanted:.3g}x {side}"] = got >= wanted
        if self.at_most is not None and weft is not None:
            found[f"<={self.at_most:g} {row.unit}"] = weft <= self.at_most
        if None not in (self.more_at_most, weft, native):
            found[f"<=native+{self.more_at_most:g} {row.unit}"] = \
                weft - native <= self.more_at_most
        return found


@dataclasses.dataclass
class Row:
    name: str
    unit: str
    vps: int
    samples: dict                  # {side: [figure...]}
    target: Target = Target()
    higher_is_better: bool = False
    impossible: dict = dataclasses.field(default_factory=dict)
    errors: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        self.medians = {side: statistics.median(figures)
                        for side, figures in self.samples.items() if figures}
        self.ratios = {}
        weft = self.medians.get("weft")
        for side, figure in self.medians.items():
            if side != "weft" and weft and figure:
                self.ratios[side] = weft / figure if self.higher_is_better \
                    else figure / weft
        self.checks = self.target.checks(self)

    def as_json(self):
        return {"unit": self.unit, "vps": self.vps, "samples": self.samples,
                "medians": self.medians, "weft_times_better": self.ratios,
                "targets": self.checks, "impossible": self.impossible,
                "errors": self.errors}


def number(figure):
    if figure is None:
        return "-"
    digits = 0 if abs(figure) >= 1000 else 1 if abs(figure) >= 10 else \
        2 if abs(figure) >= 1 else 3
    return f"{figure:.{digits}f}"


def cell(row, side):
    if side in row.errors:
        return "failed"
    if side in row.impossible:
        return "impossible"
    return number(row.medians.get(side))


def header(sides):
    names = "".join(f"{side:>11}" for side in sides)
    ratios = "".join(f"{'x ' + side:>10}" for side in sides if side != "weft")
    return f"{'':<24}{'unit':<7}{names}{ratios}  targets"


def line(row, sides):
    cells = "".join(f"{cell(row, side):>11}" for side in sides)
    ratios = "".join(f"{number(row.ratios.get(side)):>10}"
                     for side in sides if side != "weft")
    checks = ", ".join(f"{text} {'yes' if met else 'NO'}"
                       for text, met in row.checks.items())
    return f"{row.name:<24}{row.unit:<7}{cells}{ratios}  {checks}".rstrip()


def summary(rows):
    checks = [met for row in rows for met in row.checks.values()]
    failed = [row.name for row in rows if row.errors]
    text = f"{sum(checks)} of {len(checks)} targets met"
    return text + (f"; failed: {', '.join(failed)}" if failed else "")


def result_file(name):
    """argparse's type of --json and --plot: a file that cannot be written is
    an error before the runs, which are long."""
    path = pathlib.Path(name)
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if path.is_dir() or not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"'{name}' cannot be written")
    return path


def write_json(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(
        {**head, "rows": {row.name: row.as_json() for row in rows}},
        indent=1) + "\n")
