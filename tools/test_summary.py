#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One line for the whole of a `meson test`: "N passed, N failed, N skipped".

Counts the cases inside a test where its output lists them (pytest, cmocka),
else the test itself.

usage: test_summary.py TESTLOG.json
"""

import json
import re
import sys

PYTEST = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", re.M)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) *\] (\d+) test", re.M)
KEYS = ("passed", "failed", "skipped")
WORDS = {"error": "failed", "errors": "failed", "xfailed": "passed",
         "xpassed": "failed"}
PASSED = ("OK", "EXPECTEDFAIL")


def cases(output):
    """Counts from the output, all 0 if it has none."""
    counts = dict.fromkeys(KEYS, 0)
    for summary in PYTEST.findall(output):
        for number, word in re.findall(r"(\d+) (\w+)", summary):
            key = WORDS.get(word, word)
            if key in counts:
                counts[key] += int(number)
    for word, number in CMOCKA.findall(output):
        counts[word.lower()] += int(number)
    return counts


def count(entry):
    """Counts of one test of meson's log. A test that failed counts as at least
    one failure, also if its output has none."""
    counts = cases(entry.get("stdout", "") + "\n" + entry.get("stderr", ""))
    result = entry["result"]
    if result == "SKIP":
        return {"passed": 0, "failed": 0, "skipped": 1}
    if result not in PASSED:
        counts["failed"] = max(counts["failed"], 1)
    elif not any(counts.values()):
        counts["passed"] = 1
    return counts


def summarize(lines):
    total = dict.fromkeys(KEYS, 0)
    for line in lines:
        if line.strip():
            counts = count(json.loads(line))
            for key in KEYS:
                total[key] += counts[key]
    return total


def main(argv):
    if len(argv) != 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    try:
        with open(argv[1]) as log:
            total = summarize(log)
    except OSError as error:
        print(f"no test ran: {error}", file=sys.stderr)
        return 1
    print(", ".join(f"{total[key]} {key}" for key in KEYS))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
