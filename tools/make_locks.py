#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table of docs/developer/locks.md from src/base/rank.h: the spin
locks in the order in which a thread may take them.

Also checks that each file of the table exists, that each rank is used, and that
no source file locks without a rank of the table.

usage: make_locks.py [--check] [ROOT]
"""

import pathlib
import re
import sys

from made_page import arguments, finish

PAGE = pathlib.Path("docs/developer/locks.md")
RANKS = pathlib.Path("src/base/rank.h")
TITLE = "## All locks"
HEAD = f"""\
{TITLE}

Made from [src/base/rank.h](../../src/base/rank.h) by `tools/make_locks.py`;
`./dev lint` checks that it is up to date.

| lock | in | protects | under it |
| --- | --- | --- | --- |
"""
ROW = re.compile(r'X\((\w+), "([^"]+)", "([^"]+)", "(memory|calls|threads)"\)')
USE = re.compile(r"\bWF_RANK_([A-Z_]+)\b")


def rows(text):
    """Returns the rows of the macro WF_RANKS: [(name, file, protects, under),
    ...]."""
    macro = text[text.index("#define WF_RANKS("):]
    macro = macro[:re.search(r"[^\\]\n", macro).start() + 1]
    joined = re.sub(r'"\s*"', "", re.sub(r"\s*\\\n\s*", " ", macro))
    return ROW.findall(joined), joined.count("X(")


def used(src):
    """Returns the ranks that the source files other than rank.h name."""
    return {name for path in src.rglob("*.[ch]") if path.name != "rank.h"
            for name in USE.findall(path.read_text())}


def check(root, table, nr_written):
    names = [row[0] for row in table]
    errors = []
    if len(table) != nr_written:
        errors.append(f"{RANKS}: {nr_written - len(table)} rows of WF_RANKS "
                      "are not X(NAME, \"file\", \"protects\", "
                      "\"memory\", \"calls\" or \"threads\")")
    for name, file, _, _ in table:
        if not (root / "src" / file).exists():
            errors.append(f"{RANKS}: {name}: there is no src/{file}")
    found = used(root / "src")
    for name in names:
        if name not in found:
            errors.append(f"{RANKS}: no file takes a lock of rank {name}")
    for name in sorted(found - set(names) - {"NONE", "NAME"}):
        errors.append(f"{RANKS}: there is no rank {name}")
    return errors


def main(argv):
    is_check, root = arguments(argv)
    table, nr_written = rows((root / RANKS).read_text())
    errors = check(root, table, nr_written)
    page = root / PAGE
    kept = page.read_text().split(TITLE)[0]
    text = kept + HEAD + "".join(
        f"| `{name}` | [{file}](../../src/{file}) | {protects} | {under} |\n"
        for name, file, protects, under in table)
    return finish(page, text, is_check, errors, "locks")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
