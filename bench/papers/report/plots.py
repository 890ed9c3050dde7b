# SPDX-License-Identifier: MIT
"""Plots as SVG: curves and bars, with their legend beside them."""

import dataclasses

from bench.papers.report import axes
from bench.papers.report.axes import Scale
from bench.papers.report.drawing import EM, Drawing, width

# Size of the area inside the axes.
WIDTH, HEIGHT = 500, 290
GAP = 8
LINE = 17
BAR = 13
# Up to this many values of x are labelled themselves, if they are short.
MOST_OWN = 10
SHORT = 3


@dataclasses.dataclass(frozen=True)
class Plot:
    """series: {label: [(x, y)...]}. `paper`: the paper's points, drawn as
    crosses. `dashed`: {label: the label of the series that gives the colour};
    the markers of these are hollow."""
    title: str
    x: str
    y: str
    series: dict
    paper: tuple = ()
    log_x: bool = False
    has_lines: bool = True
    dashed: dict = dataclasses.field(default_factory=dict)
    log_y: bool = True

    def is_drawn(self, point):
        """A log axis has no place for 0."""
        x, y = point
        return (x > 0 or not self.log_x) and (y > 0 or not self.log_y)

    def points(self):
        """Returns {label: [(x, y)...]} of the points that can be drawn."""
        found = {label: [point for point in each if self.is_drawn(point)]
                 for label, each in self.series.items()}
        return {label: each for label, each in found.items() if each}

    def has_points(self):
        return bool(self.points())


@dataclasses.dataclass(frozen=True)
class Bars:
    """series: {label: {row: value}}: for each row a bar of each series. `base`:
    where bars begin, 1 for ratios on a log axis."""
    title: str
    x: str
    series: dict
    log_x: bool = False
    base: float = 0

    def rows(self):
        """Returns {label: {row: value}} of the values that can be drawn."""
        return {label: {row: value for row, value in each.items()
                        if value > 0 or not self.log_x}
                for label, each in self.series.items()}

    def has_points(self):
        return any(self.rows().values())


class Frame:
    """The area inside the axes; it begins where the text beside it ends."""

    def __init__(self, left, height=HEIGHT):
        self.left, self.top = left, 3 * GAP + EM
        self.right, self.bottom = left + WIDTH, self.top + height
        self.drawing = Drawing()

    def x_axis(self, scale, title):
        """Leaves out labels that would touch the one before."""
        y, end = self.bottom + GAP + EM, -width("x")
        for value, words in scale.ticks:
            x = scale.at(value)
            self.drawing.line([(x, self.top), (x, self.bottom)], kind="grid")
            if x - width(words) / 2 > end + GAP / 2:
                self.drawing.text(x, y, words, "middle")
                end = x + width(words) / 2
        self.drawing.text((self.left + self.right) / 2, y + LINE, title,
                          "middle")

    def y_axis(self, scale, title):
        for value, words in scale.ticks:
            y = scale.at(value)
            self.drawing.line([(self.left, y), (self.right, y)], kind="grid")
            self.drawing.text(self.left - GAP, y + EM / 3, words, "end")
        self.drawing.text(GAP + EM, (self.top + self.bottom) / 2, title,
                          "middle", turned=True)

    def border(self):
        self.drawing.line([(self.left, self.top), (self.left, self.bottom),
                           (self.right, self.bottom)], kind="axis")

    def legend(self, entries):
        """entries: [(label, function that draws its mark at (x, y))...].
        Returns the coordinates where it ends."""
        x, y = self.right + 2 * GAP, self.top + EM
        for label, mark in entries:
            mark(x + GAP, y - EM / 3)
            self.drawing.text(x + 3 * GAP, y, label)
            y += LINE
        longest = max((width(label) for label, _ in entries), default=0)
        return x + 3 * GAP + longest, y

    def svg(self, plot, entries, is_alone):
        right, bottom = self.legend(entries)
        self.drawing.text(self.left, GAP + EM, plot.title, kind="title")
        # Bold characters are wider.
        right = max(right, self.left + 1.1 * width(plot.title))
        return self.drawing.svg(
            right + GAP, max(bottom, self.bottom + GAP + EM + LINE + GAP),
            plot.title, is_alone)


# --- curves -------------------------------------------------------------------

def scales(plot, points):
    """(x, y) as functions of the frame's left end."""
    together = [*(point for each in points.values() for point in each),
                *(point for point in plot.paper if plot.is_drawn(point))]
    xs, ys = zip(*together)
    own = sorted({x for each in points.values() for x, _ in each})
    is_short = all(float(x).is_integer() or len(axes.label(x)) <= SHORT
                   for x in own)
    own = own if is_short and len(own) <= MOST_OWN else ()
    ys = ys if plot.log_y else (0, *ys)

    def x_scale(frame):
        return Scale(xs, frame.left, frame.right, plot.log_x, own)

    def y_scale(frame):
        return Scale(ys, frame.bottom, frame.top, plot.log_y)
    return x_scale, y_scale


def draw_curve(drawing, plot, label, points, nr):
    is_dashed = label in plot.dashed
    if plot.has_lines and len(points) > 1:
        drawing.line(points, nr, "line dashed" if is_dashed else "line")
    for x, y in points:
        drawing.mark(x, y, nr, is_dashed)


def curves(plot, is_alone):
    points = plot.points()
    x_scale, y_scale = scales(plot, points)
    labels = [words for _, words in y_scale(Frame(0)).ticks]
    frame = Frame(3 * GAP + EM + max(map(width, labels)))
    x, y = x_scale(frame), y_scale(frame)
    frame.x_axis(x, plot.x)
    frame.y_axis(y, plot.y)
    frame.border()
    numbers = {label: nr for nr, label in enumerate(
        label for label in plot.series if label not in plot.dashed)}
    entries = []
    for label, each in points.items():
        nr = numbers.get(plot.dashed.get(label, label), 0)
        draw_curve(frame.drawing, plot, label,
                   [(x.at(a), y.at(b)) for a, b in each], nr)
        entries.append((label, lambda at_x, at_y, nr=nr, label=label:
                        frame.drawing.mark(at_x, at_y, nr,
                                           label in plot.dashed)))
    paper = [point for point in plot.paper if plot.is_drawn(point)]
    for a, b in paper:
        frame.drawing.cross(x.at(a), y.at(b))
    if paper:
        entries.append(("the paper", frame.drawing.cross))
    return frame.svg(plot, entries, is_alone)


# --- bars ---------------------------------------------------------------------

def bars(plot, is_alone):
    series = plot.rows().values()
    rows = list(dict.fromkeys(row for each in series for row in each))
    values = [value for each in series for value in each.values()]
    row_height = BAR * len(plot.series) + GAP
    frame = Frame(2 * GAP + max(map(width, rows)), row_height * len(rows))
    scale = Scale([*values, plot.base], frame.left, frame.right, plot.log_x)
    frame.x_axis(scale, plot.x)
    base = scale.at(plot.base)
    for nr, row in enumerate(rows):
        top = frame.top + nr * row_height + GAP / 2
        frame.drawing.text(frame.left - GAP, top + row_height / 2,
                           row, "end")
        for number, each in enumerate(series):
            if row in each:
                x = scale.at(each[row])
                frame.drawing.box(min(x, base), top + number * BAR,
                                  (abs(x - base), BAR - 2), number)
    frame.drawing.line([(base, frame.top), (base, frame.bottom)], kind="axis")
    entries = [(label, lambda x, y, nr=nr: frame.drawing.box(
        x - GAP / 2, y - GAP / 2, (GAP, GAP), nr))
        for nr, label in enumerate(plot.series)]
    return frame.svg(plot, entries, is_alone)


def svg(plot, is_alone=False):
    """Returns the element <svg>, or "" for a plot without points. With
    is_alone it is a complete file."""
    if not plot.has_points():
        return ""
    return (bars if isinstance(plot, Bars) else curves)(plot, is_alone)
