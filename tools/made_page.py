# SPDX-License-Identifier: MIT
"""Shared by the scripts that make pages of docs/reference: the headers of the
compiler, and a page that is written or compared."""

import pathlib
import subprocess


def preprocess(header, *options):
    return subprocess.run(["cc", "-E", "-D_GNU_SOURCE", *options, "-xc", "-"],
                          input=f"#include <{header}>\n", text=True,
                          capture_output=True, check=True).stdout


def arguments(argv):
    """Reads the command line. Returns (is the page only checked, the tree's
    root)."""
    rest = [arg for arg in argv[1:] if arg != "--check"]
    root = rest[0] if rest else pathlib.Path(__file__).parents[1]
    return "--check" in argv, pathlib.Path(root)


def finish(page, text, is_check, errors, script):
    """Writes or compares the page and prints the errors; returns the exit
    status."""
    if not is_check:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        errors.append(f"{page} is out of date: run tools/make_{script}.py")
    print("\n".join(errors) if errors else f"{script}: clean")
    return 1 if errors else 0
