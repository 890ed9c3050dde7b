#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no file has more than 500 lines, no C function more than 60, and
no line more than 80 columns (a tab is 8). No folder of src/ has more than 6,000
lines of code, without the folders in it.

usage: check_lengths.py [ROOT]
"""

import pathlib
import re
import sys

MAX_FILE = 500
MAX_FUNCTION = 60
MAX_FOLDER = 6000
MAX_COLUMNS = 80
FOLDERS = ("src", "cli", "include", "test", "bench", "tools", ".ci")
C_SUFFIXES = (".c", ".h", ".cpp", ".hpp")
CODE_SUFFIXES = (".c", ".h", ".S")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SUFFIXES = C_SUFFIXES + (".S", ".py", ".sh", ".rs", ".pml")


def functions(lines):
    """Yields (first line, length) of each block with braces that stand alone at
    column 0. The first line is that of the opening brace."""
    start = None
    for nr, line in enumerate(lines, 1):
        if line == "{":
            start = nr
        elif line.startswith("}") and start is not None:
            yield start, nr - start + 1
            start = None


def check_file(path):
    lines = path.read_text().splitlines()
    errors = []
    if len(lines) > MAX_FILE:
        errors.append(f"{path}: {len(lines)} lines, {MAX_FILE} at most")
    for nr, line in enumerate(lines, 1):
        columns = len(line.expandtabs(8))
        if columns > MAX_COLUMNS:
            errors.append(f"{path}:{nr}: {columns} columns, "
                          f"{MAX_COLUMNS} at most")
    if path.suffix in C_SUFFIXES:
        for nr, length in functions(lines):
            if length > MAX_FUNCTION:
                errors.append(f"{path}:{nr}: a function of {length} lines, "
                              f"{MAX_FUNCTION} at most")
    return errors


def code_lines(text):
    """Returns the number of lines that are neither blank nor only comment."""
    return sum(1 for line in COMMENT.sub("", text).splitlines()
               if line.strip())


def check_folders(root):
    """Checks the size of each folder of src/, without the folders in it."""
    errors = []
    for folder in sorted(p for p in (root / "src").rglob("*") if p.is_dir()):
        lines = sum(code_lines(path.read_text()) for path in folder.iterdir()
                    if path.suffix in CODE_SUFFIXES)
        if lines > MAX_FOLDER:
            errors.append(f"{folder}: {lines} lines of code, {MAX_FOLDER} at "
                          "most")
    return errors


def files(root):
    yield from (p for p in [root / "dev"] if p.is_file())
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            is_script = folder == ".ci" and path.is_file()
            if is_script or path.suffix in SUFFIXES:
                yield path


def main(argv):
    root = argv[1] if len(argv) > 1 else pathlib.Path(__file__).parents[1]
    errors = check_folders(pathlib.Path(root))
    for path in files(pathlib.Path(root)):
        errors += check_file(path)
    print("\n".join(errors) if errors else "lengths: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
