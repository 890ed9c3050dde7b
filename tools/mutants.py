#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Standing mutants: changes of the source that tests must notice.

Each makes weft do nothing, or the wrong thing, in one place. The tables are
test/mutants/*.toml. A row has a name, the file, a text that occurs once in it,
the text that replaces it, and suites. One of the suites must notice the change
by an assertion: a crash or a hang does not count. Suites are

    posix PROGRAM[:CASE] [OPTIONS OF test/posix/run.py]
    unit PROGRAM
    cli FILE[::TEST]
    manners FILE[::TEST]    with test/manners/NAME.c of test_NAME.py
    see FILE[::TEST]        with all programs of test/see

usage: ./dev mutants [--list | --diff NAME | --of-commit N | NAME...]
"""

import argparse
import difflib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ROOT / "test/mutants"
WORK = ROOT / "build-mutants"
SOURCE, BUILD = WORK / "source", WORK / "build"
SUITE_LIMIT_S = 150
# pytest indents the reason as far as the statement.
PYTEST = r"\nE +(assert|AssertionError)"
ASSERTIONS = {"posix": "not true: ", "unit": "error: Failure!|not true: ",
              "cli": PYTEST, "manners": PYTEST, "see": PYTEST,
              "mpi": PYTEST + r"|\nE +Failed: has not ended"}
FIELDS = {"name", "file", "old", "new", "suites"}


class Problem(Exception):
    """A fault of the mutant itself, in one line."""


# --- the table ----------------------------------------------------------------

def table():
    """Returns {name: row} of all tables, in the order of the files."""
    rows = {}
    for path in sorted(TABLES.glob("*.toml")):
        for row in tomllib.loads(path.read_text())["mutant"]:
            name = row.get("name", "?")
            if set(row) != FIELDS or name in rows or not row["suites"]:
                raise Problem(f"{path.name}: {name} is not a row, or twice")
            for suite in row["suites"]:
                if suite.split()[0] not in ASSERTIONS:
                    raise Problem(f"{name}: no suite {suite}")
            rows[name] = row
    return rows


def mutated(row, root):
    """Returns the text of the mutant's file, without and with the change."""
    text = (root / row["file"]).read_text()
    if text.count(row["old"]) != 1:
        raise Problem(f"{row['name']}: {row['file']} has the old text "
                      f"{text.count(row['old'])} times, not once")
    return text, text.replace(row["old"], row["new"])


def diff(row):
    before, after = mutated(row, ROOT)
    return "".join(difflib.unified_diff(
        before.splitlines(True), after.splitlines(True),
        f"a/{row['file']}", f"b/{row['file']}"))


def of_commit(rows, number):
    """Chooses `number` names, other ones for each commit."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True,
                          capture_output=True).stdout.strip()
    return sorted(rows, key=lambda name: hashlib.sha256(
        f"{head} {name}".encode()).hexdigest())[:number]


# --- building -----------------------------------------------------------------

def tracked():
    """Returns the project's files. Outside of a checkout these are all but
    builds."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT,
                          capture_output=True, text=True)
    names = done.stdout.split("\0") if done.returncode == 0 else [
        str(path.relative_to(ROOT)) for top in ROOT.iterdir()
        if not top.name.startswith(("build", ".git"))
        for path in ([top] if top.is_file() else top.rglob("*"))]
    return [name for name in names if name and (ROOT / name).is_file()]


def copy_source():
    """Copies the working tree. Files without changes keep their time."""
    names = set(tracked())
    for name in names:
        to, data = SOURCE / name, (ROOT / name).read_bytes()
        if to.is_file() and to.read_bytes() == data:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data)
        shutil.copymode(ROOT / name, to)
    for path in SOURCE.rglob("*"):
        if path.is_file() and str(path.relative_to(SOURCE)) not in names and \
                "__pycache__" not in path.parts:
            path.unlink()


def configure():
    copy_source()
    if not (BUILD / "build.ninja").is_file():
        subprocess.run(["meson", "setup", BUILD, SOURCE,
                        "-Doptimization=1"], check=True,
                       stdout=subprocess.DEVNULL)


def targets(suites):
    """Returns the targets of ninja: the programs that the suites run, and weft
    if a suite runs on it."""
    found = set()
    for suite in suites:
        kind, program = suite.split()[:2]
        program = program.partition(":")[0]
        if kind != "unit":
            found |= {"weft", "libweft.so.0", "libweft-api.a"}
        if kind == "posix":
            found |= {f"test/posix/posix_{program}", "plugins"}
        elif kind == "unit":
            found.add(f"test/unit/unit_{program}")
        else:
            found.add("test/lib/filter")
        if kind == "manners":
            name = program.removeprefix("test_").removesuffix(".py")
            found.add(f"test/manners/manners_{name}")
        elif kind == "mpi":
            found.add("libweft-mpi.so.0")
        elif kind == "see":
            found.add("see_programs")
    return sorted(found)


def build(suites):
    done = subprocess.run(["ninja", "-C", BUILD, *targets(suites)],
                          capture_output=True, text=True)
    return None if done.returncode == 0 else \
        "\n".join(done.stdout.splitlines()[-15:])


# --- running ------------------------------------------------------------------

def command(suite):
    kind, program, *options = suite.split()
    python = sys.executable
    if kind == "posix":
        return [python, SOURCE / "test/posix/run.py", "--build", BUILD,
                "--mode", "weft", *options, program]
    if kind == "unit":
        return [BUILD / f"test/unit/unit_{program}"]
    return [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
            SOURCE / "test" / kind / program]


def run(suite):
    """Runs a suite. Returns (status, output); a hang has the status of
    timeout(1)."""
    environment = os.environ | {"WEFT_BUILD_DIR": str(BUILD),
                                "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command(suite), capture_output=True, text=True,
                              errors="replace", timeout=SUITE_LIMIT_S,
                              env=environment)
    except subprocess.TimeoutExpired as over:
        out = (over.stdout or b"") + (over.stderr or b"")
        return 124, out.decode(errors="replace")
    return done.returncode, done.stdout + done.stderr


def notices(suite):
    status, output = run(suite)
    return status != 0 and \
        re.search(ASSERTIONS[suite.split()[0]], output) is not None


def killer(row, passes):
    """Returns the suite that notices the mutant, or None. `passes` has the
    results of the suites without mutants."""
    before, after = mutated(row, SOURCE)
    path = SOURCE / row["file"]
    unknown = [suite for suite in row["suites"] if suite not in passes]
    problem = build(unknown) if unknown else None
    if problem is not None:
        raise Problem(f"the source does not build:\n{problem}")
    passes |= {suite: run(suite)[0] == 0 for suite in unknown}
    for suite in row["suites"]:
        if not passes[suite]:
            raise Problem(f"{row['name']}: {suite} fails without the mutant")
    path.write_text(after)
    try:
        problem = build(row["suites"])
        if problem is not None:
            raise Problem(f"{row['name']} does not build:\n{problem}")
        return next((suite for suite in row["suites"] if notices(suite)), None)
    finally:
        path.write_text(before)


def try_all(rows):
    nr_killed = 0
    passes = {}
    configure()
    for row in rows:
        suite = killer(row, passes)
        nr_killed += suite is not None
        print(f"{row['name']}: " +
              (f"killed by {suite}" if suite else "SURVIVED"), flush=True)
    print(f"killed {nr_killed}, survived {len(rows) - nr_killed}")
    return 0 if nr_killed == len(rows) else 1


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev mutants",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="mutants to try; all if none is given")
    parser.add_argument("--list", action="store_true",
                        help="name them, one line each")
    parser.add_argument("--diff", metavar="NAME",
                        help="print that one, for git apply")
    parser.add_argument("--of-commit", type=int, metavar="N",
                        help="try N, chosen by the commit's hash")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    rows = table()
    names = options.names or list(rows)
    if options.diff is not None:
        names = [options.diff]
    unknown = [name for name in names if name not in rows]
    if unknown:
        raise Problem(f"no mutant {unknown[0]}; --list names them")
    if options.list:
        for name in names:
            print(f"{name}: {rows[name]['file']}; "
                  f"{', '.join(rows[name]['suites'])}")
        return 0
    if options.diff is not None:
        sys.stdout.write(diff(rows[options.diff]))
        return 0
    if options.of_commit is not None:
        names = of_commit(rows, options.of_commit)
    return try_all([rows[name] for name in names])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        sys.exit(f"mutants: {problem}")
