# SPDX-License-Identifier: MIT
"""The papers' page and the documents' plots in headless Chromium. Each plot is
drawn completely, in light and dark, and its text neither leaves it nor
overlaps. Skipped without Chromium."""

import pytest

import browser
import papers_results
from bench.papers.report import documents, page, plots, records
from bench.papers.report.blocks import Table
from bench.papers.report.sections import SECTIONS
from bench.papers.report.cells import Cells

pytestmark = pytest.mark.skipif(browser.program() is None,
                                reason="chromium is not installed")
# The squared distance of two colours that are easy to distinguish.
FAR = 90 ** 2


def result():
    return {"records": [one for name, data in papers_results.ALL.items()
                        for one in records.of(name, data)[0]],
            "missing": {}, "warnings": ["locks: the machine was busy"],
            "about": {"cpu": "a CPU", "is_quick": True}}


def all_plots(stored):
    """Returns the plots of the page."""
    found = []
    for name, section in SECTIONS.items():
        blocks = section(Cells(stored["records"], name), page.Section).ours
        found += [block for block in blocks
                  if isinstance(block, (plots.Plot, plots.Bars))
                  and block.has_points()]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def pages(folder):
    """{is it dark: browser.Page} of the page of a stored result."""
    path = folder / "papers.html"
    path.write_text(page.build(result()))
    return {is_dark: browser.Browser(folder).open(path, is_dark)
            for is_dark in (False, True)}


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def check(plot):
    assert plot.marks > 0, f"{plot.title}: it is empty"
    assert not plot.overflow, (plot.title, plot.overflow)
    assert not plot.touching, (plot.title, plot.touching)


def test_all_plots_are_there(pages):
    titles = [plot.title for plot in all_plots(result())]
    assert len(titles) >= 8
    for found in pages.values():
        assert [plot.title for plot in found.plots] == titles


@pytest.mark.parametrize("is_dark", [False, True])
def test_no_plot_is_empty_or_leaves_its_place(pages, is_dark):
    found = pages[is_dark]
    for plot in found.plots:
        check(plot)
        left, _, width, _ = plot.box
        assert left >= 0 and left + width <= browser.WIDTH
    # The page is not wider than the window.
    assert found.width <= browser.WIDTH


def test_light_and_dark(pages):
    """Text contrasts with the background, which is light or dark."""
    grounds = {}
    for is_dark, found in pages.items():
        ink, ground = found.colours
        assert distance(ink, ground) > 4 * FAR
        grounds[is_dark] = sum(ground)
    assert grounds[True] < 3 * 64 < 3 * 192 < grounds[False]


@pytest.mark.parametrize("is_dark", [False, True])
def test_the_picture_has_all_plots(pages, is_dark):
    """Each plot has its background, and curves in other colours."""
    image = pytest.importorskip("PIL.Image")
    found = pages[is_dark]
    with image.open(found.picture) as opened:
        picture = opened.convert("RGB")
    assert picture.size == (browser.WIDTH, found.height)
    for plot in found.plots:
        left, top, width, height = map(round, plot.box)
        assert top + height <= picture.height
        colours = picture.crop((left, top, left + width, top + height)) \
            .getcolors(1 << 24)
        colours.sort(reverse=True)
        ground = colours[0][1]
        assert distance(ground, found.colours[1]) < FAR, plot.title
        # Grey pixels are axes and text.
        coloured = sum(nr for nr, one in colours
                       if max(one) - min(one) > 60
                       and distance(one, ground) > FAR)
        assert coloured > 20 * plot.marks, (plot.title, coloured)


def test_the_documents_plots(folder):
    """As files of their own, beside each other on a page."""
    drawn = [block for name in documents.FIGURES
             for block in documents.figure(name, result())
             if not isinstance(block, (str, Table))]
    assert len(drawn) >= 6
    path = folder / "figures.html"
    path.write_text("<!DOCTYPE html>\n<title>figures</title>\n<body>\n"
                    + "".join(plots.svg(one, is_alone=True) for one in drawn)
                    + "</body>\n")
    for plot in browser.Browser(folder).open(path).plots:
        check(plot)


def test_text_outside_a_plot_is_found(folder):
    """Also finds empty plots, and text on other text."""
    path = folder / "wrong.html"
    text = '<text class="x" x="{}" y="20">some words</text>'
    inside = "".join(map(text.format, (5, 30, 190)))
    path.write_text('<!DOCTYPE html>\n<body>\n<svg width="200" height="40">'
                    f"<title>wrong</title>{inside}</svg>\n</body>\n")
    plot, = browser.Browser(folder).open(path).plots
    assert plot.marks == 0
    assert plot.overflow == ["some words"]
    assert plot.touching == ["some words | some words"]
    with pytest.raises(AssertionError, match="empty"):
        check(plot)
