#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the experiments of all papers and writes one page of them: the papers'
tables and figures beside ours, in build/papers/papers.html and papers.json.

After an interruption the same command goes on: results that were made with the
same options and the same library are kept.
"""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.papers.report import (about, compare, experiments,  # noqa: E402
                                 page, records, runner)

SAVED = ROOT / "bench/results"
MAKE_FIGURES = ROOT / "tools/make_figures.py"


def parse(argv):
    parser = argparse.ArgumentParser(prog="./dev bench papers",
                                     description=__doc__)
    names = [one.name for one in experiments.found()]
    parser.add_argument("--quick", action="store_true",
                        help="few and short runs: 8 minutes at most")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names,
                        help=f"run these only, of {', '.join(names)}; others "
                        "are shown as they were measured last")
    parser.add_argument("--resume", action="store_true",
                        help="keep results of the same options; this is the "
                        "default")
    parser.add_argument("--fresh", action="store_true",
                        help="keep no results")
    parser.add_argument("--save", action="store_true",
                        help="copy page and records to bench/results")
    parser.add_argument("--render", type=pathlib.Path, metavar="FILE.json",
                        help="run nothing, build the page of that file: "
                        "FILE.html")
    parser.add_argument("--figures", action="store_true",
                        help="run nothing, fill the saved result into the "
                        "documents")
    parser.add_argument("--compare", type=pathlib.Path, nargs=2,
                        metavar=("OLD.json", "NEW.json"),
                        help="run nothing, say what changed beyond noise")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where results go (papers in the build folder, "
                        "where --quick replaces those of a full run)")
    options = parser.parse_args(argv)
    if options.fresh and options.resume:
        parser.error("--fresh and --resume exclude each other")
    options.build = options.build.absolute()
    options.folder = (options.folder or options.build / "papers").absolute()
    return options


def stored(path):
    """Returns the contents of a papers.json, or exits with a message."""
    found = runner.read(path)
    if found is None or not isinstance(found.get("records"), list):
        sys.exit(f"papers: {path} holds no records of ./dev bench papers")
    return found


def collect(options, works, failed):
    """Returns all results with these options, which is the content of
    papers.json."""
    result = {"suite": "papers", "records": [], "missing": dict(failed),
              "runs": {}}
    for one in experiments.found():
        state = works.kept(one)
        if state is None:
            result["missing"].setdefault(
                one.name, "it has not been run with these options")
            continue
        result["runs"][one.name] = state
        data = runner.read(runner.result_path(works.folder, one.name))
        found, why = records.of(one.name, data)
        result["records"] += found
        if why:
            result["missing"][one.name] = why
    machine = about.describe(options.build)
    result["about"] = {**machine, "is_quick": options.quick}
    result["warnings"] = about.warnings(result["records"], result["runs"],
                                        machine["cpus"])
    return result


def write_page(path, result):
    """Writes the page beside its records, which lie at `path`."""
    path.with_suffix(".html").write_text(page.build(result))
    for line in result.get("warnings", ()):
        print(f"papers: warning: {line}")
    print(f"papers: {len(result['records'])} records; "
          f"{path.with_suffix('.html')}")


def save(path):
    SAVED.mkdir(parents=True, exist_ok=True)
    for one in (path, path.with_suffix(".html")):
        to = SAVED / f"papers{one.suffix}"
        if one.resolve() != to.resolve():
            shutil.copy(one, to)
        print(f"papers: saved {to}")
    print("papers: ./dev bench papers --figures fills it into the documents")


def interrupt(*_):
    raise KeyboardInterrupt


def measure(options):
    works = runner.Runner(options.folder, options.build, options.quick)
    wanted = [one for one in experiments.found()
              if not options.only or one.name in options.only]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        failed = works.run(wanted, options.fresh)
    except KeyboardInterrupt:
        print("\npapers: interrupted; the same command"
              f"{' without --fresh' if options.fresh else ''} goes on",
              file=sys.stderr)
        return 130
    result = collect(options, works, failed)
    path = options.folder / "papers.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    write_page(path, result)
    return 1 if failed else 0


def main(argv):
    options = parse(argv)
    if options.figures:
        return subprocess.run([sys.executable, MAKE_FIGURES],
                              check=False).returncode
    if options.compare:
        print(compare.text(*map(stored, options.compare)))
        return 0
    path = options.render or options.folder / "papers.json"
    if options.render:
        write_page(path, stored(path))
        status = 0
    else:
        status = measure(options)
    if options.save and status != 130:
        save(path)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
