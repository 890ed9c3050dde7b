#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of the documents from text.

usage: tools/make_pictures.py [--check] [ROOT]

Each docs/pictures/NAME.txt becomes NAME.svg beside it. The text is a drawing in
the box characters of Unicode, which any terminal shows:

    A thread waits.
    ┌─────────┐ park()  ┌────────┐
    │ running ├────────▶│ parked │
    └─────────┘         └────────┘

The first line is the title. Lines follow the characters, ┄ and ┆ make dashed
ones. All other characters are text; names that end in () are set off. --check
writes nothing and fails if a picture is not what its text says.
"""

import html
import pathlib
import re
import sys

from made_page import arguments

FOLDER = "docs/pictures"
# Size of one character.
W, H = 8, 17
MARGIN = 8
# Where lines leave a character: left, right, up, down.
ARMS = {"─": "lr", "┄": "lr", "│": "ud", "┆": "ud", "┌": "rd", "┐": "ld",
        "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru",
        "┼": "lrud", "▶": "l", "◀": "r", "▲": "d", "▼": "u"}
DASHED = "┄┆"
STEP = {"l": (-1, 0), "r": (1, 0), "u": (0, -1), "d": (0, 1)}
BACK = {"l": "r", "r": "l", "u": "d", "d": "u"}
# Heads of arrows, around the middle of a character.
HEADS = {"▶": "M4,0l-8,-4v8z", "◀": "M-4,0l8,-4v8z", "▲": "M0,-5l-4,9h8z",
         "▼": "M0,5l-4,-9h8z"}
STYLE = """
.picture { font: 13px ui-monospace, monospace; color: #222; }
.picture .back { fill: #fff; }
.picture text { fill: currentColor; white-space: pre; }
.picture .name { fill: #1f6fb2; }
.picture .line { fill: none; stroke: #6b7780; stroke-width: 1.4; }
.picture .dashed { stroke-dasharray: 4 3; }
.picture .head { fill: #6b7780; }
@media (prefers-color-scheme: dark) {
.picture { color: #ddd; }
.picture .back { fill: #1b1d20; }
.picture .name { fill: #6cb2f0; }
.picture .line { stroke: #97a3ab; }
.picture .head { fill: #97a3ab; }
}
"""


class Wrong(Exception):
    """A text that is no picture. The exception's text says why."""


def middle(x, y):
    return MARGIN + x * W + W / 2, MARGIN + y * H + H / 2


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def meets(grid, at, arm):
    """Returns whether the line that leaves `at` by this arm continues in the
    next character."""
    x, y = at
    dx, dy = STEP[arm]
    return BACK[arm] in ARMS.get(grid.get((x + dx, y + dy), " "), "")


def check_ends(grid):
    """Raises Wrong for a line character that continues no line: a slip of the
    pen."""
    for at, character in sorted(grid.items(), key=lambda one: one[0][::-1]):
        arms = ARMS.get(character, "")
        if arms and not any(meets(grid, at, arm) for arm in arms):
            raise Wrong(f"line {at[1] + 1}, column {at[0] + 1} of the drawing: "
                        f"{character} continues no line")


def runs(grid, arms):
    """Yields each straight line: its first and last place, and whether it is
    dashed. arms: "lr" or "ud"."""
    dx, dy = STEP[arms[1]]

    def goes_on(at, arm):
        there = (at[0] + STEP[arm][0], at[1] + STEP[arm][1])
        return arm in ARMS[grid[at]] and meets(grid, at, arm) and \
            (grid[there] in DASHED) == (grid[at] in DASHED)

    for at, character in sorted(grid.items()):
        if not set(ARMS.get(character, "")) & set(arms) or \
                goes_on(at, arms[0]):
            continue
        end = at
        while goes_on(end, arms[1]):
            end = end[0] + dx, end[1] + dy
        yield at, end, character in DASHED


def strokes(grid):
    """Yields the lines as SVG paths. A line begins and ends at the border of a
    character, or in its middle where the character has no arm on that side."""
    for arms, half in (("lr", (W / 2, 0)), ("ud", (0, H / 2))):
        for start, end, is_dashed in runs(grid, arms):
            (x0, y0), (x1, y1) = middle(*start), middle(*end)
            low = arms[0] in ARMS[grid[start]]
            high = arms[1] in ARMS[grid[end]]
            kind = "line dashed" if is_dashed else "line"
            yield (f'<path class="{kind}" d="M{number(x0 - low * half[0])},'
                   f'{number(y0 - low * half[1])}L'
                   f'{number(x1 + high * half[0])},'
                   f'{number(y1 + high * half[1])}"/>')


def words(lines):
    """Yields the SVG's text elements. Two spaces or a line separate two
    texts."""
    inside = "".join(ARMS)
    for y, line in enumerate(lines):
        for found in re.finditer(rf"[^\s{inside}]+(?: [^\s{inside}]+)*", line):
            x = MARGIN + found.start() * W
            _, middle_y = middle(0, y)
            text = re.sub(r"[A-Za-z_]\w*\(\)",
                          lambda name: f'<tspan class="name">{name.group()}'
                          "</tspan>", html.escape(found.group(), quote=False))
            yield (f'<text x="{number(x)}" y="{number(middle_y + 4.5)}" '
                   f'textLength="{len(found.group()) * W}">{text}</text>')


def drawn(source):
    """Returns the SVG of a text, or raises Wrong."""
    title, *lines = source.rstrip("\n").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    if not title.strip() or not lines:
        raise Wrong("no title and drawing")
    if "\t" in source:
        raise Wrong("a tab has no width")
    grid = {(x, y): character for y, line in enumerate(lines)
            for x, character in enumerate(line)}
    check_ends(grid)
    width = 2 * MARGIN + W * max(map(len, lines))
    height = 2 * MARGIN + H * len(lines)
    heads = [f'<path class="head" transform="translate({number(x)} '
             f'{number(y)})" d="{HEADS[character]}"/>'
             for at, character in sorted(grid.items()) if character in HEADS
             for x, y in [middle(*at)]]
    parts = [*strokes(grid), *heads, *words(lines)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" '
            f'viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">\n'
            f"<title>{html.escape(title, quote=False)}</title>\n"
            f"<style>{STYLE}</style>\n"
            f'<rect class="back" width="{width}" height="{height}"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def main(argv):
    is_check, root = arguments(argv)
    if len(argv) - is_check > 2 or not root.is_dir():
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    errors, found = [], sorted((root / FOLDER).glob("*.txt"))
    for source in found:
        target = source.with_suffix(".svg")
        try:
            picture = drawn(source.read_text())
        except Wrong as why:
            errors.append(f"{source.relative_to(root)}: {why}")
            continue
        if not is_check:
            target.write_text(picture)
        elif not target.exists() or target.read_text() != picture:
            errors.append(f"{target.relative_to(root)}: not what its text "
                          "says; run tools/make_pictures.py")
    errors += [f"{target.relative_to(root)}: has no text"
               for target in sorted((root / FOLDER).glob("*.svg"))
               if target.with_suffix(".txt") not in found]
    print("\n".join(errors) if errors else "pictures: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
