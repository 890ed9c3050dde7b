#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the figures of the papers and of services into README.md and the guide,
from the results that are committed: bench/results/papers.json and
services.json. A figure stands between two lines of its own:

    <!-- figure: ring -->
    <!-- end of figure -->

Tables and text go there, plots go to docs/guide/figures. The names are those of
bench/papers/report/documents.py and bench/servers/figures.py. Where the result
lacks a value, the figure and this script say so.

usage: make_figures.py [--check] [ROOT]
"""

import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from made_page import arguments  # noqa: E402
from bench.papers.report import documents, plots  # noqa: E402
from bench.papers.report.blocks import Table  # noqa: E402
from bench.servers import figures as services, saved  # noqa: E402

RESULT = pathlib.Path("bench/results/papers.json")
DOCUMENTS = ("README.md", "README.ja.md", "docs/guide/benchmarks.md",
             "docs/guide/comparison.md", "docs/guide/papers.md",
             *(f"docs/guide/{name}.md" for name in (
                 "mariadb", "postgresql", "nginx", "apache", "java", "python",
                 "puma", "redis", "openmp")))
NAMES = {*documents.FIGURES, *services.NAMES}
FOLDER = pathlib.Path("docs/guide/figures")
FIGURE = re.compile(r"^<!-- figure: (\S+) -->\n.*?^(<!-- end of figure -->)$",
                    re.M | re.S)


def cell(text):
    return str(text).replace("|", "\\|")


def table(one):
    """Formats a table with names to the left and figures to the right."""
    lines = [one.head, ["---", *["--:"] * (len(one.head) - 1)], *one.rows]
    text = "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
    # No space at a line's end, and no double space for an empty cell.
    text = re.sub(r"\|  \|", "| |", text)
    return f"{one.caption}:\n\n{text}" if one.caption else text


class Figures:
    """`pictures`: {path below the root: content} of those that are made."""

    def __init__(self, result, saved_services):
        self.result, self.services = result, saved_services
        self.pictures, self.errors = {}, []

    def blocks(self, name):
        if name in documents.FIGURES:
            return documents.figure(name, self.result)
        return services.figure(name, self.services)

    def picture(self, plot, name, document):
        nr = 2
        path = FOLDER / f"{name}.svg"
        while self.pictures.get(path, "") not in ("", plots.svg(plot, True)):
            path = FOLDER / f"{name}-{nr}.svg"
            nr += 1
        self.pictures[path] = plots.svg(plot, is_alone=True)
        link = os.path.relpath(path, pathlib.Path(document).parent)
        return f"![{plot.title}]({link})"

    def text(self, name, document):
        """Returns the text between the two lines of a figure."""
        parts = []
        for block in self.blocks(name):
            if isinstance(block, Table):
                parts.append(table(block))
            elif isinstance(block, str):
                parts.append(block)
            else:
                parts.append(self.picture(block, name, document))
        return "\n\n".join(parts)

    def filled(self, document, text):
        def one(match):
            name = match[1]
            if name not in NAMES:
                self.errors.append(f"{document}: no figure is called {name}")
                return match[0]
            return (f"<!-- figure: {name} -->\n\n{self.text(name, document)}"
                    f"\n\n{match[2]}")
        return FIGURE.sub(one, text)


def read(path):
    """Returns the content of a JSON file, or {} without the file. Raises
    ValueError."""
    if not path.exists():
        return {}
    result = json.loads(path.read_text())
    if not isinstance(result, dict) or \
            not isinstance(result.get("records"), list):
        raise ValueError("it holds no records of ./dev bench papers")
    return result


def notes(result):
    """Returns a line for each experiment that the committed result lacks."""
    if not result:
        return [f"note: there is no {RESULT} yet: run ./dev bench papers "
                "--save"]
    gone = {}
    for name in documents.FIGURES:
        gone.update(documents.missing(name, result))
    return [f"note: {RESULT} has no value of papers/{name}: {why}"
            for name, why in gone.items()]


def wanted(root, figures):
    """Returns {path: content} of all documents and pictures."""
    found = {root / name: figures.filled(name, (root / name).read_text())
             for name in DOCUMENTS}
    return {**found, **{root / path: text
                        for path, text in figures.pictures.items()}}


def main(argv):
    is_check, root = arguments(argv)
    try:
        result = read(root / RESULT)
    except ValueError as why:
        print(f"{RESULT}: {why}")
        return 1
    figures = Figures(result, saved.read(root))
    files = wanted(root, figures)
    errors = figures.errors
    old = set((root / FOLDER).glob("*.svg")) - files.keys()
    if is_check:
        errors += [f"{path.relative_to(root)} is out of date: run "
                   "tools/make_figures.py" for path, text in files.items()
                   if not path.exists() or path.read_text() != text]
        errors += [f"{path.relative_to(root)} is no figure any more"
                   for path in sorted(old)]
    else:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for path in old:
            path.unlink()
    print("\n".join(notes(result) + (errors or ["figures: clean"])))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
