# SPDX-License-Identifier: MIT
"""The prose of a source file or a document: comments, documents, messages.

    for unit in prose.units("src/wait/park.c", text):
        print(unit.line_at(0), unit.text)

A unit is a paragraph, an item of a list, a cell of a table or a message, on one
line: a sentence never leaves its unit. Code in a document is blanked.
"""

import bisect
import pathlib
import re

C_SUFFIXES = (".c", ".h", ".cpp", ".S", ".pml", ".rs", ".go", ".java", ".js")
HASH_SUFFIXES = (".sh", ".toml", ".build", ".pl", ".rb", ".map", ".ld")
MAN_SUFFIXES = (".1", ".3", ".in")
# Folders with string literals that users may see.
MESSAGES = ("src/", "cli/")

C_TOKEN = re.compile(
    r"//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/"
    r"|\"(?P<string>(?:\\.|[^\"\\\n])*)\"|'(?:\\[^'\n]+|[^'\\\n])'", re.S)
PYTHON_TOKEN = re.compile(
    r"#(?P<comment>[^\n]*)"
    r"|(?P<quote>\"\"\"|''')(?P<long>(?:\\.|(?!(?P=quote)).)*)(?P=quote)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
HASH_COMMENT = re.compile(r"(?:^|\s)#(?:\s+(.*))?$")
# "* ", "1. ", "UFUTEX-3. "
ITEM = re.compile(r"\s*(?:[*-]|(?:[A-Z][A-Z_]*-)?\d+\.|[A-Z]\d+\.)\s+")
CODE_SPAN = re.compile(r"(`+)(.+?)\1")
LICENCE = re.compile(r"^(/\*|//|#) SPDX-License-Identifier:.*\n", re.M)


class Unit:
    """`kind` is "comment", "document", "heading" or "message"; `item` is the
    marker of an item, as "1.", which its text does not contain."""

    def __init__(self, kind, pieces, item=""):
        self.kind = kind
        self.item = item
        self.text = ""
        self.starts, self.lines = [], []
        for nr, piece in pieces:
            if self.text:
                self.text += " "
            self.starts.append(len(self.text))
            self.lines.append(nr)
            self.text += piece
        if kind in ("document", "heading"):
            self.text = CODE_SPAN.sub(lambda m: "`" + "_" * (len(m[0]) - 2)
                                      + "`", self.text)

    def line_at(self, offset):
        """Returns the number of the line with the character at `offset`."""
        return self.lines[bisect.bisect_right(self.starts, offset) - 1]


def paragraphs(kind, lines):
    """Yields the units of [(number, text)]. An empty line or an item begins
    another."""
    pieces, label = [], ""
    for nr, line in lines:
        item = ITEM.match(line)
        if (item or not line.strip()) and pieces:
            yield Unit(kind, pieces, label)
            pieces, label = [], ""
        if item:
            label, line = item[0].strip(), line[item.end():]
        if line.strip():
            pieces.append((nr, line.strip()))
    if pieces:
        yield Unit(kind, pieces, label)


def of_c(text, has_messages):
    """Yields the comments of a C file. Adjacent // lines, and adjacent string
    literals, are one."""
    lines, literal, kind, end = [], [], None, 0
    nr, seen = 1, 0
    for match in C_TOKEN.finditer(text):
        between = text[end:match.start()]
        nr, seen = nr + text.count("\n", seen, match.start()), match.start()
        if match.lastgroup != kind or between.strip() or kind == "block":
            yield from paragraphs("comment", lines)
            if len(literal) > 0:
                yield Unit("message", literal)
            lines, literal = [], []
        kind, end = match.lastgroup, match.end()
        if kind == "line":
            lines.append((nr, match["line"]))
        elif kind == "block":
            lines += [(nr + i, re.sub(r"^\s*\*+(?=\s|$)", "", line))
                      for i, line in enumerate(match["block"].split("\n"))]
        elif kind == "string" and has_messages:
            literal.append((nr, match["string"].replace("\\n", " ")))
    yield from paragraphs("comment", lines)
    if literal:
        yield Unit("message", literal)


def of_python(text):
    """Yields comments and docstrings."""
    lines, end, nr, seen = [], 0, 1, 0
    for match in PYTHON_TOKEN.finditer(text):
        between = text[end:match.start()]
        nr, seen = nr + text.count("\n", seen, match.start()), match.start()
        if between.strip() or match["comment"] is None:
            yield from paragraphs("comment", lines)
            lines = []
        if match["comment"] is not None and not match["comment"][:1] == "!":
            lines.append((nr, match["comment"]))
        elif match["long"] is not None:
            # A docstring follows a colon, or begins the file after comments
            # only.
            code = text[:match.start()]
            is_first = re.fullmatch(r"(\s*#[^\n]*\n)*\s*", code)
            if is_first or re.search(r":\s*\n\s*$", between):
                yield from paragraphs("comment", [
                    (nr + i, line)
                    for i, line in enumerate(match["long"].split("\n"))])
        end = match.end()
    yield from paragraphs("comment", lines)


def of_hash(text):
    lines = []
    for nr, line in enumerate(text.splitlines(), 1):
        match = HASH_COMMENT.search(line)
        if match:
            if line[:match.start()].strip():
                lines.append((nr, ""))
            lines.append((nr, match[1] or ""))
        else:
            lines.append((nr, ""))
    yield from paragraphs("comment", lines)


def of_man(text):
    """Yields the text of a manual page. A macro for a font continues the
    sentence; other macros end it."""
    lines = []
    for nr, line in enumerate(text.splitlines(), 1):
        macro = re.match(r"\.(B|I|BR|RB|IR|RI|BI|IB)\s+(.*)", line)
        if macro:
            line = macro[2].replace('"', "")
        elif line.startswith((".", "'")):
            line = ""
        lines.append((nr, re.sub(r"\\(f.|-|&)", "", line)))
    yield from paragraphs("document", lines)


def of_markdown(text):
    lines, is_fenced, is_code, before = [], False, False, ""
    for nr, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
            line = ""
        is_code = is_fenced or (line.startswith("    ") and
                                (is_code or not before.strip()))
        before = line
        if is_code:
            line = ""
        if line.startswith("#"):
            yield Unit("heading", [(nr, line.lstrip("# "))])
            line = ""
        if line.startswith("|"):
            for cell in line.strip("|").split("|"):
                if cell.strip(" -:"):
                    yield Unit("document", [(nr, cell.strip())])
            line = ""
        lines.append((nr, line))
    yield from paragraphs("document", lines)


def units(name, text):
    """Returns the units of a file; `name` is its path from the root."""
    # The licence line is no sentence, and no sentence continues after it.
    text = LICENCE.sub("\n", text)
    path = pathlib.PurePath(name)
    if path.suffix == ".md":
        return of_markdown(text)
    if path.suffix in MAN_SUFFIXES:
        return of_man(text)
    if path.suffix == ".py":
        return of_python(text)
    if path.suffix in C_SUFFIXES:
        return of_c(text, name.startswith(MESSAGES))
    if path.suffix in HASH_SUFFIXES or name in ("dev", ".ci/run"):
        return of_hash(text)
    return iter(())
