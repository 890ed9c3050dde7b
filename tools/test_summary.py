#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the end of a `meson test`. For each failed test it prints the part of
the output that shows the fault, then one line: "N passed, N failed, N skipped".

Counts the cases inside a test where its output lists them (pytest, cmocka),
else the test itself.

usage: test_summary.py TESTLOG.json
"""

import json
import re
import sys

PYTEST = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", re.M)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) *\] (\d+) test", re.M)
FINDING = re.compile(r"^(FAIL|E  |\[  (ERROR|FAILED))", re.M)
MOST_LINES = 25
KEYS = ("passed", "failed", "skipped")
WORDS = {"error": "failed", "errors": "failed", "xfailed": "passed",
         "xpassed": "failed"}
PASSED = ("OK", "EXPECTEDFAIL")


def cases(output):
    """Returns the counts in a test's output, all 0 if it has none."""
    counts = dict.fromkeys(KEYS, 0)
    for summary in PYTEST.findall(output):
        for number, word in re.findall(r"(\d+) (\w+)", summary):
            key = WORDS.get(word, word)
            if key in counts:
                counts[key] += int(number)
    for word, number in CMOCKA.findall(output):
        counts[word.lower()] += int(number)
    return counts


def output_of(entry):
    return entry.get("stdout", "") + "\n" + entry.get("stderr", "")


def finding(entry):
    """Returns the lines of a failed test from the first that names a failure,
    or its last lines if no line does."""
    output = output_of(entry).strip()
    first = FINDING.search(output)
    if first:
        return output[first.start():].splitlines()[:MOST_LINES]
    return output.splitlines()[-MOST_LINES:]


def count(entry):
    """Returns the counts of one test of meson's log. A test that failed counts
    as at least one failure, also if its output has none."""
    counts = cases(output_of(entry))
    result = entry["result"]
    if result == "SKIP":
        return {"passed": 0, "failed": 0, "skipped": 1}
    if result not in PASSED:
        counts["failed"] = max(counts["failed"], 1)
    elif not any(counts.values()):
        counts["passed"] = 1
    return counts


def summarize(entries):
    total = dict.fromkeys(KEYS, 0)
    for entry in entries:
        counts = count(entry)
        for key in KEYS:
            total[key] += counts[key]
    return total


def print_failed(entries):
    for entry in entries:
        if entry["result"] not in (*PASSED, "SKIP"):
            print(f"{entry['name']}: {entry['result']}")
            for line in finding(entry):
                print(f"    {line}")


def main(argv):
    if len(argv) != 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    try:
        with open(argv[1]) as log:
            entries = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f"no test ran: {error}", file=sys.stderr)
        return 1
    total = summarize(entries)
    print_failed(entries)
    print(", ".join(f"{total[key]} {key}" for key in KEYS))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
