#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Invariants have names that are unique in the tree, and citations name one.

usage: check_invariants.py [ROOT]

The comment on top of wait/ufutex.c numbers the invariants of the file, each on
a line of its own: " * UFUTEX-3. The thread that takes a waiter out ...". Where
two folders have files of one name, the folder comes first: IO_RING-1. Comments,
documents and the strings of test/mutants cite UFUTEX-3. One letter and a number
are no citation: they do not say which file has the invariant.
"""

import collections
import pathlib
import re
import sys

import prose

FOLDERS = ("src", "cli", "include", "test", "bench", "tools", "examples",
           "docs")
DEFINITION = re.compile(r"^ \* ([A-Z][A-Z_]*)-(\d+)\. ", re.M)
NAME = re.compile(r"(?<![\w-])([A-Z][A-Z_]*)-(\d+)\b(?!-)")
OLD = re.compile(r"(?<![\w.%/-])[A-Z]\d{1,2}(?![\w%-])")
# These match but name no invariant: a cache, a version of C.
OTHERS = re.compile(r"L[1-4] cache|C(?:11|17|23|99)\b")
# Before a dash and a number these words name no invariant.
ORDINARY = {"AVX", "FNV", "ISO", "SHA", "SSH", "UTF"}

Place = collections.namedtuple("Place", "file line")


def top_comment(text):
    """Returns the first comment that numbers invariants, as a match, or
    None."""
    for match in prose.C_TOKEN.finditer(text):
        if match.lastgroup == "block" and DEFINITION.search(match[0]):
            return match
    return None


def is_of_file(prefix, name):
    """Returns the prefixes that a file's invariants may have: UFUTEX and
    WAIT_UFUTEX in wait/ufutex.c, IO_RING also in io/backend/ring.c."""
    path = pathlib.PurePath(name)
    stem = path.stem.upper()
    return prefix == stem or prefix in {
        f"{folder.upper()}_{stem}" for folder in path.parts[:-1]}


def definitions(name, text):
    """Yields (prefix, number, place) of each invariant of a C file."""
    top = top_comment(text)
    for match in DEFINITION.finditer(top[0]) if top else ():
        if not is_of_file(match[1], name):
            continue
        # The match may begin at the end of the previous line.
        offset = top.start() + match.start(1)
        yield match[1], match[2], Place(name, text.count("\n", 0, offset) + 1)


def all_definitions(texts):
    """Returns ({name: place}, {prefix: file}, errors)."""
    places, owners, errors = {}, {}, []
    for name, text in texts.items():
        if not name.endswith(prose.C_SUFFIXES):
            continue
        for prefix, number, place in definitions(name, text):
            invariant = f"{prefix}-{number}"
            first = places.setdefault(invariant, place)
            if first != place:
                errors.append(f"{place.file}:{place.line}: {invariant}: the "
                              f"name is taken: {first.file}:{first.line}")
            elif owners.setdefault(prefix, name) != name:
                errors.append(f"{place.file}:{place.line}: {invariant}: "
                              f"{owners[prefix]} has the names {prefix}-...")
    return places, owners, errors


def code_of(text):
    """Returns a C file without comments and strings."""
    return prose.C_TOKEN.sub(" ", text)


def pieces(name, text):
    """Yields (line, text) of all texts that may cite an invariant."""
    if name.endswith(".toml"):
        for match in re.finditer(r"/\*.*?\*/", text, re.S):
            yield text.count("\n", 0, match.start()) + 1, match[0]
    for unit in prose.units(name, text):
        if unit.kind == "message":
            continue
        yield unit.line_at(0), unit.item
        for begin, end in zip(unit.starts, [*unit.starts[1:], None]):
            yield unit.line_at(begin), unit.text[begin:end]


def check_citations(name, text, places, owners):
    is_c = name.endswith(prose.C_SUFFIXES)
    code = None
    for line, piece in pieces(name, text):
        for match in NAME.finditer(piece):
            is_known = match[1] in owners or (
                match[1] not in ORDINARY and len(match[1]) > 2)
            if is_known and match[0] not in places:
                yield (f"{name}:{line}: {match[0]}: there is no such "
                       "invariant")
        for match in OLD.finditer(piece):
            if OTHERS.match(piece, match.start()):
                continue
            if code is None:
                code = set(OLD.findall(code_of(text))) if is_c else set()
            if match[0] not in code:
                yield (f"{name}:{line}: {match[0]}: an invariant's name "
                       "begins with that of its file, as UFUTEX-3")


def read(root):
    """Returns {path from the root: text} of the tree's files, in order."""
    paths = sorted(root.glob("*.md"))
    for folder in FOLDERS:
        paths += sorted((root / folder).rglob("*"))
    texts = {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path.is_file() and (name.endswith(prose.C_SUFFIXES) or
                               path.suffix in (".md", ".py", ".toml")):
            texts[name] = path.read_text()
    return texts


def main(argv):
    root = pathlib.Path(argv[1] if len(argv) > 1
                        else pathlib.Path(__file__).parents[1])
    texts = read(root)
    places, owners, errors = all_definitions(texts)
    for name, text in texts.items():
        errors += check_citations(name, text, places, owners)
    print("\n".join(errors) if errors else "invariants: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
