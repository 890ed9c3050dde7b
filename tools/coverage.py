#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures which lines and branches of src/ the quick tests execute.

usage: tools/coverage.py BUILD

BUILD has been configured with -Dcoverage=true and is built. The script runs
the tests and writes two files. BUILD/summary.json has line_percent and
branch_percent of all of src/ and of each file. BUILD/coverage.html is a page by
folder with the lines that no test reaches. The script fails if tests fail, or
below the goals.

Branches of WF_CHECK and WF_ASSERT are left out: a test that takes them ends its
process. Processes that end by SIGKILL, _exit or exec are counted, too: see
test/coverage/counters.c.
"""

import argparse
import collections
import html
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINE_GOAL = 92.0
BRANCH_GOAL = 80.0
LEFT_OUT = r".*\b(WF_CHECK|WF_ASSERT)\w*\(.*"
LIMIT_FACTOR = "4"  # counting slows programs down


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    return parser.parse_args(argv)


def forget(build):
    shutil.rmtree(build / "counters", ignore_errors=True)
    (build / "counters").mkdir()
    # Tests also run as other users, and these have to write there.
    (build / "counters").chmod(0o777)


def run_tests(build):
    log = build / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--suite",
                    "quick", "--print-errorlogs", "--timeout-multiplier",
                    LIMIT_FACTOR], check=False)
    return subprocess.run([sys.executable, ROOT / "tools/test_summary.py",
                           log], check=False).returncode


def dump(build):
    """Makes gcov's files from the counters."""
    for path in build.rglob("*.gcda"):
        path.unlink()
    for path in sorted((build / "counters").iterdir()):
        name = path.name.removesuffix(".counters")
        environment = dict(os.environ)
        if name == "library":
            command = "/bin/true"
            environment["LD_PRELOAD"] = str(build / "libweft.so.0")
            environment["COVERAGE_DUMP"] = "library"
        else:
            command = name.replace("!", "/")
            environment["COVERAGE_DUMP"] = "program"
        # skips copies that a test had made
        if pathlib.Path(command).is_file():
            subprocess.run([command], env=environment, check=True)


def gather(build):
    """Returns gcovr's table of files, each with its lines and their
    branches."""
    out = build / "coverage.json"
    subprocess.run(
        ["gcovr", "--root", ROOT, "--filter", f"{ROOT}/src/", "-j", "2",
         "--exclude-branches-by-pattern", LEFT_OUT, "--object-directory",
         build, "--gcov-ignore-parse-errors", "--json", out, build],
        check=True, stdout=subprocess.DEVNULL)
    return json.loads(out.read_text())["files"]


class Share:
    def __init__(self):
        self.of = collections.Counter()

    def add(self, kind, covered, total):
        self.of[kind + "_covered"] += covered
        self.of[kind + "_total"] += total

    def percent(self, kind):
        total = self.of[kind + "_total"]
        return 100.0 * self.of[kind + "_covered"] / total if total else 100.0

    def as_dict(self):
        return {"line_percent": round(self.percent("line"), 1),
                "branch_percent": round(self.percent("branch"), 1),
                **self.of}


def share_of(lines):
    share = Share()
    for line in lines:
        if line["gcovr/noncode"]:
            continue
        share.add("line", line["count"] > 0, 1)
        for branch in line["branches"]:
            share.add("branch", branch["count"] > 0, 1)
    return share


def missing(lines):
    """Returns the numbers of the lines that no test reaches, and the numbers of
    the lines with branches that no test takes."""
    never = [l["line_number"] for l in lines if l["count"] == 0 and
             not l["gcovr/noncode"]]
    partly = [l["line_number"] for l in lines if l["count"] > 0 and
              any(b["count"] == 0 for b in l["branches"])]
    return never, partly


def spans(numbers):
    """Writes numbers as ranges: [3, 4, 5, 9] as "3-5, 9"."""
    found = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in found)


def page(files, total):
    folders = collections.defaultdict(list)
    for file in files:
        folders[str(pathlib.Path(file["file"]).parent)].append(file)
    rows = []
    for folder, inside in sorted(folders.items()):
        share = share_of(l for file in inside for l in file["lines"])
        rows.append(f"<tr><th colspan=5><h2>{html.escape(folder)}: "
                    f"{share.percent('line'):.1f} % of lines, "
                    f"{share.percent('branch'):.1f} % of branches</h2>"
                    "<tr><th>file<th>lines<th>branches"
                    "<th>lines never reached"
                    "<th>lines with branches never taken")
        for file in sorted(inside, key=lambda f: f["file"]):
            share = share_of(file["lines"])
            never, partly = missing(file["lines"])
            rows.append(f"<tr><td>{html.escape(file['file'])}"
                        f"<td>{share.percent('line'):.1f}"
                        f"<td>{share.percent('branch'):.1f}"
                        f"<td>{spans(never)}<td>{spans(partly)}")
    return ("<!doctype html><meta charset=utf-8><title>weft: coverage</title>"
            "<style>body{font-family:sans-serif}td,th{text-align:left;"
            "vertical-align:top;padding:2px 12px}</style>"
            f"<h1>src/: {total.percent('line'):.1f} % of lines, "
            f"{total.percent('branch'):.1f} % of branches</h1><table>"
            + "\n".join(rows) + "</table>\n")


def main(argv):
    build = parse(argv).build.resolve()
    forget(build)
    status = run_tests(build)
    dump(build)
    files = gather(build)
    total = share_of(l for file in files for l in file["lines"])
    summary = total.as_dict()
    summary["files"] = {file["file"]: share_of(file["lines"]).as_dict()
                        for file in files}
    (build / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    (build / "coverage.html").write_text(page(files, total))
    for kind, name, goal in (("line", "lines", LINE_GOAL),
                             ("branch", "branches", BRANCH_GOAL)):
        covered = total.percent(kind)
        print(f"{name}: {covered:.1f} % of "
              f"{total.of[kind + '_total']}, the goal is {goal:.0f} %")
        if covered < goal:
            status = 1
    print(f"coverage: by folder in {build / 'coverage.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
