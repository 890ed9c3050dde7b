# SPDX-License-Identifier: MIT
"""Elements of an SVG picture, and its colours in light and dark.

    drawing = Drawing()
    drawing.text(10, 20, "threads", "middle")
    drawing.line([(0, 0), (10, 5)], nr=3)
    drawing.svg(300, 200, "a title", is_alone=True)

A picture that is a file of its own has its style inside. The page has the style
once, for all pictures.
"""

import html

# The average width of a character, at most.
EM = 12
CHARACTER = 0.6 * EM
LIGHT = ("#1f6fb2", "#c8540a", "#2a8a3e", "#c0292b", "#7d4bb5", "#8a5a3c",
         "#b83a8f", "#5f6b73", "#7d7800", "#0b7f89")
DARK = ("#6cb2f0", "#ff9a52", "#63cf78", "#ff8080", "#bb92f2", "#cf9f80",
        "#f28ad0", "#a9b6bf", "#d5cf4e", "#4fd3de")


def colours(palette, ink, paper, grid):
    return "\n".join([
        f".plot {{ color: {ink}; }}",
        f".plot .back, .plot .hollow {{ fill: {paper}; }}",
        f".plot .grid {{ stroke: {grid}; }}",
        *(f".plot .c{nr} {{ color: {colour}; }}"
          for nr, colour in enumerate(palette))])


STYLE = f"""
.plot {{ font: {EM}px sans-serif; }}
.plot text {{ fill: currentColor; }}
.plot .title {{ font-weight: bold; }}
.plot .grid {{ stroke-width: 1; }}
.plot .axis {{ stroke: currentColor; fill: none; }}
.plot .line {{ fill: none; stroke: currentColor; stroke-width: 1.7; }}
.plot .dashed {{ stroke-dasharray: 5 3; }}
.plot .mark {{ fill: currentColor; stroke: currentColor; stroke-width: 1.3; }}
{colours(LIGHT, "#222", "#fff", "#ddd")}
.plot .hollow {{ stroke: currentColor; stroke-width: 1.3; }}
@media (prefers-color-scheme: dark) {{
{colours(DARK, "#ddd", "#1b1d20", "#3a3d42")}
}}
"""

# Closed paths around (0, 0).
SHAPES = (
    "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "M-3,-3h6v6h-6z",
    "M0,-4.2L4,3h-8z",
    "M0,-4.5L4,0L0,4.5L-4,0z",
    "M0,4.2L4,-3h-8z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
    "M-3,-4L4,0L-3,4z",
    "M3,-4L-4,0L3,4z",
    "M0,-4.5L1.2,-1.2L4.5,0L1.2,1.2L0,4.5L-1.2,1.2L-4.5,0L-1.2,-1.2z",
    "M-4,-2L0,-4.4L4,-2V2L0,4.4L-4,2z",
)
CROSS = "M-4,-4L4,4M-4,4L4,-4"


def width(text):
    return len(text) * CHARACTER


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def colour(nr):
    return "" if nr is None else f" c{nr % len(LIGHT)}"


class Drawing:
    def __init__(self):
        self.parts = []

    def text(self, x, y, words, anchor="start", turned=False, kind=""):
        turn = f' transform="rotate(-90 {number(x)} {number(y)})"' \
            if turned else ""
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"'
            f'{kind}{turn}>{html.escape(words, quote=False)}</text>')

    def line(self, points, nr=None, kind="line"):
        """nr: number of the colour."""
        path = "L".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(f'<path class="{kind}{colour(nr)}" d="M{path}"/>')

    def box(self, x, y, size, nr=None, kind="mark"):
        w, h = size
        self.parts.append(
            f'<rect class="{kind}{colour(nr)}" x="{number(x)}" '
            f'y="{number(y)}" width="{number(w)}" height="{number(h)}"/>')

    def mark(self, x, y, nr, is_hollow=False):
        kind = "hollow" if is_hollow else "mark"
        self.shape(x, y, SHAPES[nr % len(SHAPES)], f"{kind}{colour(nr)}")

    def cross(self, x, y):
        self.shape(x, y, CROSS, "line")

    def shape(self, x, y, path, kind):
        self.parts.append(f'<path class="{kind}" transform="translate('
                          f'{number(x)} {number(y)})" d="{path}"/>')

    def svg(self, w, h, title, is_alone=False):
        """The element <svg>; with is_alone the content of a file."""
        w, h = round(w), round(h)
        style = f"<style>{STYLE}</style>\n" if is_alone else ""
        space = ' xmlns="http://www.w3.org/2000/svg"' if is_alone else ""
        inside = "\n".join(self.parts)
        return (f'<svg{space} class="plot" viewBox="0 0 {w} {h}" width="{w}" '
                f'height="{h}" role="img">\n'
                f"<title>{html.escape(title, quote=False)}</title>\n{style}"
                f'<rect class="back" width="{w}" height="{h}"/>\n{inside}\n'
                "</svg>\n")
