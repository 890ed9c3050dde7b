# SPDX-License-Identifier: MIT
"""The plots of the papers' page: scales, and text that neither leaves a plot
nor overlaps, by an estimate of its width."""

import random
import re
import xml.etree.ElementTree

import pytest

from bench.papers.report import drawing, plots
from bench.papers.report.axes import Scale, label

SPACE = "{http://www.w3.org/2000/svg}"


def values(scale):
    return [value for value, _ in scale.ticks]


def test_scales():
    scale = Scale([1, 1000], 0, 300, is_log=True)
    assert values(scale) == [1, 10, 100, 1000]
    assert 0 < scale.at(1) < scale.at(10) < scale.at(1000) < 300
    assert scale.at(100) - scale.at(10) == pytest.approx(
        scale.at(1000) - scale.at(100))
    assert values(Scale([0, 10], 0, 100)) == [0, 2, 4, 6, 8, 10]
    # A vertical scale goes down, and starts at the axis.
    scale = Scale([0, 50], 300, 0)
    assert scale.at(0) == 300 and scale.at(50) > 0
    assert values(Scale([3, 9], 0, 100, is_log=True, own=[3, 5, 9])) == \
        [3, 5, 9]


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("low, high", [
    (5, 5), (93, 97), (0.004, 0.005), (1, 2), (30, 800), (1e-3, 1e9)])
def test_every_axis_has_some_ticks(low, high, is_log):
    scale = Scale([low, high], 0, 500, is_log)
    assert 2 <= len(scale.ticks) <= 12
    assert all(0 <= scale.at(value) <= 500 for value in values(scale))
    labels = [words for _, words in scale.ticks]
    assert len(set(labels)) == len(labels)


def test_labels():
    assert [label(value) for value in (0, 0.05, 7, 1500, 1e6)] == \
        ["0", "0.05", "7", "1,500", "1,000,000"]


# --- geometry -----------------------------------------------------------------

def boxes(svg):
    """[(text, left, top, right, bottom)...], (width, height)"""
    root = xml.etree.ElementTree.fromstring(svg)
    found = []
    for one in root.iter(f"{SPACE}text"):
        x, y = float(one.get("x")), float(one.get("y"))
        long = drawing.width(one.text)
        start = {"start": 0, "middle": long / 2, "end": long}[
            one.get("text-anchor")]
        if one.get("transform"):
            found.append((one.text, x - drawing.EM, y - long / 2, x,
                          y + long / 2))
        else:
            found.append((one.text, x - start, y - drawing.EM, x - start + long,
                          y))
    return found, tuple(map(float, root.get("viewBox").split()[2:]))


def check(plot):
    """Checks a plot and returns its texts."""
    svg = plots.svg(plot, is_alone=True)
    found, (width, height) = boxes(svg)
    for text, left, top, right, bottom in found:
        assert left >= 0 and top >= 0, (plot.title, text)
        assert right <= width and bottom <= height, (plot.title, text)
    for nr, (text, left, top, right, bottom) in enumerate(found):
        for other, left2, top2, right2, bottom2 in found[nr + 1:]:
            assert left >= right2 or left2 >= right or top >= bottom2 or \
                top2 >= bottom, (plot.title, text, other)
    # No coordinate is missing or infinite.
    assert not re.search(r"nan|inf\b|None", svg)
    return [text for text, *_ in found]


def curve(nr_points, nr_series, low, high, **more):
    chance = random.Random(nr_points)
    series = {f"series {'long ' * (nr % 4)}{nr}": [
        (x, chance.uniform(low, high)) for x in range(1, nr_points + 1)]
        for nr in range(nr_series)}
    return plots.Plot("a title", "threads", "ns", series, **more)


@pytest.mark.parametrize("nr_points, nr_series", [(1, 1), (3, 2), (9, 10),
                                                  (30, 25)])
@pytest.mark.parametrize("more", [
    {}, {"log_x": True}, {"log_y": False}, {"has_lines": False},
    {"paper": ((2, 30), (3, 1e6))}])
def test_curves(nr_points, nr_series, more):
    plot = curve(nr_points, nr_series, 3, 4000, **more)
    texts = check(plot)
    assert texts.count("a title") == 1 and {"threads", "ns"} <= set(texts)
    assert set(plot.series) <= set(texts)
    assert ("the paper" in texts) == ("paper" in more)
    svg = plots.svg(plot)
    assert len(re.findall('class="mark', svg)) == \
        (nr_points + 1) * nr_series


def test_many_threads_on_a_log_axis():
    """2, 3, 4 and 5 lie close to each other beside 100,000."""
    counts = (2, 3, 4, 5, 10, 100, 1000, 10000, 100000)
    plot = plots.Plot("a title", "threads", "ns", {
        "words": [(nr, 100 + nr / 100) for nr in counts]}, log_x=True)
    texts = check(plot)
    assert {"2", "100,000"} <= set(texts)


def test_few_short_values_of_x_are_written_as_they_are():
    def written(*xs, **more):
        return check(plots.Plot("t", "threads", "ns", {
            "a": [(x, 5) for x in xs]}, **more))
    assert {"1", "4", "7"} <= set(written(*range(1, 8), has_lines=False))
    assert {"0.5", "2"} <= set(written(0.5, 1, 2))
    assert "0.123" not in written(0.123, 0.9, 3)
    assert "11" not in written(*range(12))


def test_a_long_title_widens_the_plot():
    check(plots.Plot("a title " * 15, "x", "y", {"a": [(1, 1)]}))


def test_what_a_log_axis_cannot_show():
    plot = plots.Plot("t", "x", "y", {"zero": [(1, 0), (2, 5)],
                                      "nothing": [(1, 0)], "empty": []},
                      paper=((1, 0),))
    texts = check(plot)
    assert "zero" in texts and "nothing" not in texts
    assert "empty" not in texts and "the paper" not in texts
    for series in ({}, {"a": []}, {"a": [(1, 0)]}):
        one = plots.Plot("t", "x", "y", series)
        assert not one.has_points() and plots.svg(one) == ""


def test_dashed_curves_have_the_colour_of_another():
    plot = plots.Plot("t", "x", "y", {"a": [(1, 1), (2, 2)],
                                      "b": [(1, 2), (2, 3)],
                                      "b, again": [(1, 3), (2, 4)]},
                      dashed={"b, again": "b"})
    check(plot)
    svg = plots.svg(plot)
    assert 'class="line dashed c1"' in svg and 'class="hollow c1"' in svg
    assert "c2" not in re.findall(r'class="[^"]*"', svg)


def test_bars():
    rows = ("self look-up", "a row with a long name", "join")
    plot = plots.Bars("NPTL over LinuxThreads", "times", {
        "here": dict(zip(rows, (0.9, 2.5, 0.1))),
        "the paper": dict(zip(rows[:2], (0.92, 2.7)))}, log_x=True, base=1)
    texts = check(plot)
    assert {*rows, "here", "the paper", "times"} <= set(texts)
    svg = plots.svg(plot)
    # Five bars, and two in the legend.
    assert svg.count('class="mark') == 7
    check(plots.Bars("t", "ns", {"a": {"x": 5}}))
    assert not plots.Bars("t", "ns", {"a": {}}).has_points()
    plot = plots.Bars("t", "ns", {"a": {"x": 0, "y": 5}}, log_x=True, base=1)
    assert "x" not in check(plot)


def test_text_is_escaped():
    svg = plots.svg(plots.Plot("a < b & c", "x", "y", {"<a>": [(1, 1)]}), True)
    root = xml.etree.ElementTree.fromstring(svg)
    assert root.find(f"{SPACE}title").text == "a < b & c"
    assert "<a>" in [one.text for one in root.iter(f"{SPACE}text")]


def test_colours_differ():
    """From the ground by a contrast of 3, and from each other."""
    def light(colour):
        parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045
                  else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in
                   zip((0.2126, 0.7152, 0.0722), linear))
    for palette, ground in ((drawing.LIGHT, "#ffffff"),
                            (drawing.DARK, "#1b1d20")):
        assert len(set(palette)) == len(drawing.SHAPES)
        for colour in palette:
            low, high = sorted((light(colour), light(ground)))
            assert (high + 0.05) / (low + 0.05) >= 3, colour
