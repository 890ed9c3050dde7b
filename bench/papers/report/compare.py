# SPDX-License-Identifier: MIT
"""Compares two stored results: which cells changed beyond noise."""

import dataclasses

from bench.lib import report

# A cell without an interval counts as changed beyond this.
LEAST = 0.1
# A count, such as system calls of an operation, has changed beyond this.
LEAST_COUNT = 0.05
TIMES = ("ns", "us", "ms")
MACHINE = ("cpu", "cpus", "kernel", "libc", "compiler", "is_quick")


@dataclasses.dataclass(frozen=True)
class Change:
    key: tuple                  # (experiment, row, column)
    unit: str
    old: float
    new: float

    @property
    def ratio(self):
        return self.new / self.old if self.old else float("inf")

    def text(self):
        word = ""
        if self.unit in TIMES and "effective" not in self.key[1]:
            word = ", faster" if self.new < self.old else ", slower"
        ratio = f"{self.ratio:.2f} times" if self.old else "from nothing"
        return (f"{': '.join(self.key)}: {report.number(self.old)} -> "
                f"{report.number(self.new)} {self.unit} ({ratio}{word})")


def cells(result):
    return {(one["experiment"], one["row"], one["column"]): one
            for one in result.get("records", ())
            if {"experiment", "row", "column"} <= one.keys()}


def is_beyond_noise(old, new):
    """Did the value change beyond noise? old and new are records with
    values."""
    bounds = [one.get(key) for one in (old, new) for key in ("low", "high")]
    if None not in bounds:
        old_low, old_high, new_low, new_high = bounds
        return new_low > old_high or new_high < old_low
    difference = abs(new["value"] - old["value"])
    if old.get("unit") not in TIMES and difference <= LEAST_COUNT:
        return False
    return difference > LEAST * abs(old["value"])


def changes(old, new):
    """Returns (changes, the largest first; missing cells; new cells)."""
    old, new = ({key: one for key, one in cells(result).items()
                 if one.get("value") is not None} for result in (old, new))
    found = [Change(key, new[key].get("unit", ""), old[key]["value"],
                    new[key]["value"])
             for key in old.keys() & new.keys()
             if is_beyond_noise(old[key], new[key])]

    def size(change):
        return max(change.ratio, 1 / change.ratio if change.ratio else
                   float("inf"))

    found.sort(key=lambda change: (-size(change), change.key))
    return found, sorted(old.keys() - new.keys()), \
        sorted(new.keys() - old.keys())


def text(old, new):
    """Returns the output of `--compare`."""
    found, gone, added = changes(old, new)
    lines = []
    for key in MACHINE:
        was, now = (result.get("about", {}).get(key) for result in (old, new))
        if was != now:
            lines.append(f"not the same {key}: {was}, {now}")
    lines += [change.text() for change in found]
    lines += [f"{': '.join(key)}: has no value any more" for key in gone]
    lines += [f"{': '.join(key)}: has a value now" for key in added]
    both = len(cells(old).keys() & cells(new).keys())
    lines.append(f"{len(found)} of {both} cells changed beyond noise")
    return "\n".join(lines)
