# SPDX-License-Identifier: MIT
"""Scales of a plot: where a value lies, and which values are written beside the
axis.

    scale = Scale([3, 4000], 0, 500, is_log=True)
    scale.at(100)           the coordinate
    scale.ticks             [(10, "10"), (100, "100"), (1000, "1,000")]
"""

import math

# The space between the outermost values and the axis's ends, as a share of its
# length.
MARGIN = 0.05
# The least and the largest number of ticks.
FEW_TICKS, MANY_TICKS = 3, 8


def label(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def steps(low, high):
    """Returns about five round numbers from low to high."""
    raw = (high - low) / 6
    power = 10 ** math.floor(math.log10(raw))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= raw)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(nr * step, 12) for nr in range(first, last + 1)]


def decades(low, high, mantissas):
    first, last = (math.floor(math.log10(end)) for end in (low, high))
    return [found for power in range(first, last + 1) for mantissa in mantissas
            if low <= (found := mantissa * 10.0 ** power) <= high]


def log_ticks(low, high):
    found = decades(low, high, (1,))
    if len(found) > MANY_TICKS:
        return found[::math.ceil(len(found) / MANY_TICKS)]
    for mantissas in ((1, 3), (1, 2, 5)):
        if len(found) < FEW_TICKS:
            found = decades(low, high, mantissas)
    return found if len(found) >= FEW_TICKS else steps(low, high)


class Scale:
    """`start` and `end`: the coordinates of the axis. `own`: values to be
    written in place of round ones."""

    def __init__(self, values, start, end, is_log=False, own=()):
        self.start, self.end, self.is_log = start, end, is_log
        low, high = self.bounds(min(values), max(values))
        self.low, self.high = low, high
        found = list(own) or (log_ticks if is_log else steps)(low, high)
        self.ticks = [(value, label(value)) for value in found]

    def bounds(self, low, high):
        if self.is_log:
            low, high = math.log10(low), math.log10(high)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        # An axis that begins at 0 has no space below it.
        more = (high - low) * MARGIN
        low = low if low == 0 and not self.is_log else low - more
        high += more
        return (10 ** low, 10 ** high) if self.is_log else (low, high)

    def at(self, value):
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = map(math.log10, (low, high, value))
        return self.start + (self.end - self.start) * (value - low) / \
            (high - low)
