#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/guide/tried.md: the programs that the tests run natively and on
weft, and their results.

The rows are the tables of the tests (test/lib/apps.py and
test/conformance/run.py), so the page has each program that is tested, and no
other. The results are those of test/tried.json, which `--save` of
test/apps/run.py and of ./dev conformance writes.

usage: make_tried.py [--check] [ROOT]
"""

import importlib.util
import pathlib
import sys

from made_page import arguments, finish

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "test/lib"))

import apps  # noqa: E402
import tried  # noqa: E402
from programs import Crowd, Program, RoundTrip, Script  # noqa: E402

PAGE = "docs/guide/tried.md"
# The most characters that the page shows of a command.
LONGEST = 60
HEAD = """\
# Programs tried, with results

Each program runs natively and on weft, and has to print the same and to end in
the same way. Of servers the tests check each answer. Files that were
compressed have to be equal byte for byte. A result is `as natively`, or it
says in what it differed.

`tools/make_tried.py` makes this page from the tables of the tests, and from
the results that their option `--save` keeps. So each program here is one that
a test runs. `threads` is the number of threads that weft made for the program
and for the programs that it started. Processes that a signal killed are not
counted.
"""
APPS = """
## Programs and servers

    ./dev test                      a short run of each installed program

`test/apps/run.py --save` fills this table in.

| name | what runs | package | threads | result |
| --- | --- | --- | --: | --- |
"""
SUITES = """
## Public test suites

    ./dev conformance cpython glib ng

Each test of a suite has to end on weft as it ends natively. `./dev conformance
--save` fills in the results. Beside these, `ng` runs all stressors of stress-
ng for schedulers, pipes and interrupts, and `glib` the installed tests of
GLib.

| suite | tests | result |
| --- | --: | --- |
"""
NOT_TRIED = "not tried yet"


def module(path):
    spec = importlib.util.spec_from_file_location("conformance", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def shown(command):
    """Returns a command for the page: without folders, and cut if it is
    long."""
    words = [pathlib.PurePath(str(word)).name or "/" if
             str(word).startswith("/") else str(word) for word in command]
    text = " ".join(words).replace("|", "\\|")
    return f"`{text[:LONGEST].rstrip()}{'...' * (len(text) > LONGEST)}`"


def what_runs(app):
    if isinstance(app, Script):
        return f"a script with {', '.join(app.tools)}"
    if isinstance(app, RoundTrip):
        return f"{shown(app.compress)}, and back"
    if isinstance(app, Program):
        return shown(app.command)
    if isinstance(app, Crowd):
        return (f"{app.native_threads} threads natively, "
                f"{app.weft_threads} on weft")
    text = " ".join((type(app).__doc__ or "").split())
    # The first sentence.
    return text.partition(". ")[0].rstrip(".")


def app_row(app, results):
    found = results.get(app.name, {})
    return (f"| {app.name} | {what_runs(app)} | {found.get('package', '')} | "
            f"{found.get('threads', '')} | {found.get('result', NOT_TRIED)} |")


def suite_row(suite, results):
    found = results.get(suite, {})
    return (f"| {suite} | {found.get('tests', '')} | "
            f"{found.get('result', NOT_TRIED)} |")


def page(known, suites, results):
    """Returns (the page's text, errors)."""
    names = {app.name for app in known} | set(suites)
    errors = [f"{tried.PATH.name}: no test runs {name}"
              for name in sorted(set(results) - names)
              if not name.startswith(("glib/", "ng/"))]
    rows = [app_row(app, results) for app in known]
    text = HEAD + APPS + "\n".join(rows) + "\n" + SUITES + "\n".join(
        suite_row(suite, results) for suite in suites)
    # An empty cell has one space.
    return text.replace("|  |", "| |").replace("|  |", "| |") + "\n", errors


def known_apps(root):
    """Returns the programs that every machine tests. Those with sanitizers
    depend on the build, so they are not among them."""
    build = root / "build"
    return [*apps.own(build), *apps.compressors(), *apps.benchmarks(False),
            *apps.tools(), *apps.io(long=True)]


def main(argv):
    is_check, root = arguments(argv)
    conformance = module(REPOSITORY / "test/conformance/run.py")
    text, errors = page(known_apps(root), conformance.SUITES,
                        tried.read(root / "test" / tried.PATH.name))
    return finish(root / PAGE, text, is_check, errors, "tried")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
