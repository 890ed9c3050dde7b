# SPDX-License-Identifier: MIT
"""Builds papers.html of the records: one file with its style and its plots
inside, and no scripts.
"""

import dataclasses
import html
import re

from bench.papers.report import about, drawing, plots
from bench.papers.report.cells import Cells
from bench.papers.report.sections import SECTIONS

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --rule: #ddd;
        --head: #f1f4f6; --title: #2c5577; --weak: #5c6168;
        --notice: #fff3cd; --edge: #c9a93c; }
@media (prefers-color-scheme: dark) {
:root { --ink: #ddd; --paper: #1b1d20; --rule: #3a3d42; --head: #26292e;
        --title: #8fc1ea; --weak: #a4abb3; --notice: #3a3218;
        --edge: #8a7432; }
}
body { font: 15px/1.5 sans-serif; color: var(--ink); background: var(--paper);
       max-width: 1200px; margin: 2em auto; padding: 0 1em;
       overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5em; border-top: 2px solid var(--rule);
     padding-top: 0.7em; }
h3 { margin: 1.2em 0 0.3em; font-size: 1em; color: var(--title); }
.pair { display: flex; flex-wrap: wrap; gap: 0 2.5em; align-items: start; }
.pair > div { max-width: 100%; overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5em 0 1em; font-size: 13px; }
caption { text-align: left; font-weight: bold; padding: 0.3em 0; }
th, td { padding: 2px 9px; border-bottom: 1px solid var(--rule); }
th { text-align: right; background: var(--head); }
td { text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
.warning { background: var(--notice); border: 1px solid var(--edge);
           padding: 0.5em 1em; }
.missing { color: var(--weak); font-size: 13px; }
svg { max-width: 100%; height: auto; }
""" + drawing.STYLE

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Four papers: every experiment, theirs beside ours</title>
<style>{style}</style>
</head>
<body>
<h1>Four papers: every experiment, theirs beside ours</h1>
<p>weft runs the threads of an unmodified Linux program on user-level threads.
It is built from four papers. This page repeats their experiments. The papers'
figures were measured on their own machines, so only ratios can be compared
across machines; all of ours come from one machine.</p>
<p>A figure is the median of several runs. A ratio with a ~ may be 1, because
its interval includes 1. The interval of a figure is the middle half of its
runs, or all of them if there are fewer than four. Where an experiment keeps
medians only, 10 % either way stand for it.</p>
<p>A dash stands for a cell without a value. Below each experiment the page says
why, unless the row is not about that column at all.</p>
"""


@dataclasses.dataclass
class Section:
    """The page's section on one experiment. Blocks are Table, plots.Plot or
    text; `found` are sentences made of the data."""
    title: str
    question: str
    paper: list = dataclasses.field(default_factory=list)
    expected: list = dataclasses.field(default_factory=list)
    ours: list = dataclasses.field(default_factory=list)
    found: list = dataclasses.field(default_factory=list)
    explained: list = dataclasses.field(default_factory=list)


def text(words):
    return html.escape(str(words), quote=False)


def table(block):
    heads = "".join(f"<th>{text(head)}</th>" for head in block.head)
    rows = "\n".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row)
                     + "</tr>" for row in block.rows)
    return (f"<table>\n<caption>{text(block.caption)}</caption>\n"
            f"<tr>{heads}</tr>\n{rows}\n</table>\n")


def block(one):
    if isinstance(one, (plots.Plot, plots.Bars)):
        drawn = plots.svg(one)
        return f"<div>{drawn}</div>\n" if drawn else ""
    if isinstance(one, str):
        return f"<p>{text(one)}</p>\n"
    return table(one)


def items(title, sentences):
    if not sentences:
        return ""
    return f"<h3>{title}</h3>\n<ul>\n" + "".join(
        f"<li>{text(sentence)}</li>\n" for sentence in sentences) + "</ul>\n"


def spread(name, records):
    """How far the runs of this experiment lie apart."""
    width = about.spread(records).get(name)
    return "" if width is None else (
        f"<p>In the middle one of these cells low and high are {width:.0%} "
        "apart.</p>\n")


def missing(cells):
    """Returns the cells without a value, by reason, as HTML."""
    found = cells.missing()
    if not found:
        return ""
    lines = []
    for why, where in found.items():
        some = "; ".join(where[:6])
        more = f"; and {len(where) - 6} more" if len(where) > 6 else ""
        lines.append(f"<li>{text(why)}: {text(some + more)}</li>\n")
    return ("<div class=\"missing\">\n<h3>Cells without a value, and why</h3>\n"
            "<ul>\n" + "".join(lines) + "</ul>\n</div>\n")


def section(name, one, cells, why, spread_text):
    """`why`: why there is no result, or None."""
    parts = [f'<h2 id="{text(name)}">{text(one.title)}</h2>\n',
             f"<p>{text(one.question)}</p>\n"]
    ours = "".join(block(each) for each in one.ours) + spread_text
    if why:
        ours = f'<p class="missing">No result: {text(why)}.</p>\n'
    parts.append('<div class="pair">\n<div><h3>The paper</h3>\n'
                 + "".join(block(each) for each in one.paper)
                 + f"</div>\n<div><h3>Ours</h3>\n{ours}</div>\n</div>\n")
    parts.append(items("Expected", one.expected))
    parts.append(items("Found", one.found))
    parts.append(items("What explains the difference", one.explained))
    parts.append(missing(cells))
    return "".join(parts)


def machine(about):
    rows = "".join(
        f"<tr><td>{text(key)}</td><td>{text(value)}</td></tr>\n"
        for key, value in about.items())
    return ("<table>\n<caption>The machine and the versions</caption>\n"
            f"{rows}</table>\n")


def notices(result):
    lines = list(result.get("warnings", ()))
    if result.get("about", {}).get("is_quick"):
        lines.append("This is a quick run: few and short samples. The full run "
                     "is what to quote.")
    parts = []
    if lines:
        parts.append('<div class="warning">\n<ul>\n' + "".join(
            f"<li>{text(line)}</li>\n" for line in lines) + "</ul>\n</div>\n")
    return "".join(parts)


def names(result):
    """Returns the experiments in the page's order. Those without a section are
    last."""
    there = {one.get("experiment") for one in result.get("records", ())}
    there |= set(result.get("missing", {}))
    return [*SECTIONS, *sorted(there - set(SECTIONS) - {None})]


def build(result):
    """Returns the page for the contents of papers.json."""
    all_records = result.get("records", ())
    parts = [HEAD.format(style=STYLE), notices(result),
             machine(result.get("about", {}))]
    reasons = result.get("missing", {})
    for name in names(result):
        cells = Cells(all_records, name)
        one = Section(f"Experiment {name}", "This page has no text for it yet.")
        if name in SECTIONS:
            one = SECTIONS[name](cells, Section)
        why = reasons.get(name)
        if why is None and not cells.cells:
            why = "it has not been run"
        parts.append(section(name, one, cells, why,
                             spread(name, all_records)))
    parts.append("</body>\n</html>\n")
    return re.sub(r"[ \t]+\n", "\n", "".join(parts))
