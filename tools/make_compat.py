#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/reference/compat.md: the state of every function of the headers
about threads. weft exports the handled functions, cli/deviations.h names the
deviating ones; the rest is in compat_rows.py.

The names are those that the headers of the page's glibc declare. With another
glibc the script takes the names from the page itself, so that the page is the
same everywhere. It prints the further functions of such headers, which are no
error.

usage: make_compat.py [--check] [ROOT]
"""

import pathlib
import re
import sys

import compat_rows
from check_symbols import exported
from made_page import arguments, finish, preprocess

GLIBC = "2.36"
PAGE = pathlib.Path("docs/reference/compat.md")
CLASSES = ("handled", "handled, deviating", "passed through, deviating",
           "passed through")

HEAD = f"""\
# Functions about threads

Every function of the headers below that waits, is a cancellation point, or is
about threads, their identity, signals or scheduling, as glibc {GLIBC} declares
them. Made by `tools/make_compat.py`; `./dev lint` checks that it is up to date.

* *handled*: weft's own; [functions.md](functions.md) has remarks on some.
* *passed through*: libc's own, and what that means on weft.
* *deviating*: something is different from native threads, perhaps in some uses
  only; [limits.md](../guide/limits.md) has more.

Names that begin with two underscores are other names of these, or libc's own
business. `weft doctor PROGRAM` names the deviating functions that a program
calls.
"""


def own_text(header):
    """Returns the declarations of the header itself and of the files of bits/
    that it includes."""
    files, text = [], []
    for line in preprocess(header).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"(.*)', line)
        if marker is None:
            nearest = next((name for name in reversed(files)
                            if "/bits/" not in name), "")
            if nearest.endswith("/include/" + header):
                text.append(line)
        elif "1" in marker[2].split():
            files.append(marker[1])
        elif "2" in marker[2].split():
            files.pop()
    return "\n".join(text)


def innermost(pattern, text):
    """Removes pairs of braces or parentheses from the inside out."""
    while True:
        shorter = re.sub(pattern, " ", text)
        if shorter == text:
            return text
        text = shorter


def declared(header):
    """Returns {function: the symbol that a call of it refers to}."""
    names = {}
    text = own_text(header).replace("\n", " ")
    # A function body ends a declaration, like a semicolon.
    text = re.sub(r"\{\s*\}", ";", innermost(r"\{[^{}]*[^{}\s][^{}]*\}", text))
    for part in text.split(";"):
        redirect = re.search(r'__asm__\s*\(((?:\s*"\w*")+)\s*\)', part)
        part = re.sub(r"__(?:attribute|asm)__\s*\((?:[^()]|\((?:[^()]|"
                      r"\([^()]*\))*\))*\)", " ", part)
        name = re.search(r"\b(\w+)\s*\(", part)
        if name is None or re.match(r"\s*(?:typedef|_Static_assert)\b", part):
            continue
        symbol = redirect and "".join(re.findall(r"\w+", redirect[1]))
        names[name[1]] = symbol or name[1]
    for name in re.findall(r"^#define (pthread_cleanup_\w+|SIGRTM..)\b",
                           preprocess(header, "-dM"), re.M):
        if header in ("pthread.h", "signal.h") and \
                name.startswith("p") == (header == "pthread.h"):
            names[name] = name
    return {name: symbol for name, symbol in names.items()
            if not name.startswith("__")}


def glibc_version():
    found = re.findall(r"^#define __GLIBC(?:_MINOR)?__ (\d+)",
                       preprocess("features.h", "-dM"), re.M)
    return ".".join(sorted(found, key=int))


def on_page(text):
    """Returns {header: {function: class}} of a page that this script has
    made."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        rows = re.findall(r"^\| (`.*?) \| ([a-z, ]+) \|", section, re.M)
        found[section.split("\n", 1)[0].strip("`<>")] = {
            name: kind for names, kind in rows
            for name in re.findall(r"`(\w+)`", names)}
    return found


def deviations(text):
    """Returns {function: [reason, ...]} of cli/deviations.h."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    reasons = {match[1]: "".join(re.findall(r'"([^"]*)"', match[2]))
               for match in re.finditer(
                   r"^WF_REASON\((\w+),((?:\s*\"[^\"]*\")+)\)", text, re.M)}
    found = {}
    for reason, name in re.findall(
            r"^WF_DEVIATION\((\w+), \w+, (\w+)\)", text, re.M):
        found.setdefault(name, []).append(reasons[reason])
    return found


class Table:
    """The facts about each function."""

    def __init__(self, root):
        self.exported = set(exported(root))
        self.deviating = deviations((root / "cli/deviations.h").read_text())
        self.unconcerned = set(compat_rows.UNCONCERNED.split())
        self.passed = {}
        for text, names in compat_rows.PASSED:
            for name in names.split():
                if name in self.passed or name in self.unconcerned:
                    raise ValueError(f"compat_rows.py has {name} twice")
                self.passed[name] = text

    def classify(self, name, symbol):
        """Returns (class, remark) of a function, or None for an unknown one."""
        symbol = compat_rows.REACHES.get(name, symbol)
        is_handled = symbol in self.exported
        if name in self.deviating:
            kind = "handled" if is_handled else "passed through"
            return kind + ", deviating", "; ".join(self.deviating[name])
        if is_handled:
            return "handled", ""
        if name in self.passed:
            return "passed through", self.passed[name]
        return ("", "") if name in self.unconcerned else None

    def contradictions(self, headers):
        """Returns errors for rows of compat_rows.py that are wrong."""
        names = {name for names in headers.values() for name in names}
        for name in sorted(set(self.passed) | self.unconcerned):
            if name in self.exported or name in self.deviating:
                yield f"compat_rows.py has {name}, which is not libc's alone"
            elif name not in names:
                yield f"compat_rows.py has {name}, which no header declares"


def section(header, names, table):
    rows = {}
    for name, symbol in sorted(names.items()):
        known = table.classify(name, symbol)
        if known and known[0]:
            rows.setdefault(known, []).append(name)
    lines = [f"\n## `<{header}>`\n", "| functions | on weft | remarks |",
             "| --- | --- | --- |"]
    for (kind, remark), group in sorted(
            rows.items(), key=lambda row: (CLASSES.index(row[0][0]), row[1])):
        cells = ", ".join(f"`{name}`" for name in group)
        lines.append(f"| {cells} | {kind} | {remark} |".replace("  |", " |"))
    return "\n".join(lines) + "\n"


def main(argv):
    is_check, root = arguments(argv)
    page = root / PAGE
    errors = []
    table = Table(root)
    headers = {name: declared(name) for name in compat_rows.HEADERS}
    unclassified = [f"<{header}> has {name}, which compat_rows.py does not"
                    for header, names in headers.items()
                    for name, symbol in sorted(names.items())
                    if table.classify(name, symbol) is None]
    if glibc_version() == GLIBC:
        errors += unclassified
        errors += table.contradictions(headers)
    else:
        print("\n".join(f"note: {line}" for line in unclassified))
        kept = on_page(page.read_text())
        # A name's row stays valid if the name leads to another export.
        headers = {header: {name: headers[header].get(name, name)
                            for name in kept[header]}
                   for header in compat_rows.HEADERS}
    text = HEAD + "".join(section(header, headers[header], table)
                          for header in compat_rows.HEADERS)
    return finish(page, text, is_check, errors, "compat")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
