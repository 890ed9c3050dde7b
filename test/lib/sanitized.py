# SPDX-License-Identifier: MIT
"""The project's own test programs, built with sanitizers. Each case without a
native report has to pass on weft, without a report."""

import dataclasses
import pathlib
import subprocess

import runner
from programs import Program

CASE_LIMIT_S = 60
REPORT = b"Sanitizer"


@dataclasses.dataclass
class Sanitized:
    """One program with those of its cases that pass natively. A case that
    natively fails or is reported proves nothing about weft: some misuse
    mutexes on purpose, and ThreadSanitizer does not know all of libc."""
    name: str
    program: pathlib.Path
    cases: list = dataclasses.field(default_factory=list)

    def missing(self):
        return None if self.program.exists() else f"there is no {self.program}"

    def all_cases(self):
        done = subprocess.run([self.program, "--list"], capture_output=True,
                              text=True, check=True, timeout=CASE_LIMIT_S)
        return done.stdout.split()

    def run_case(self, prefix, case):
        return runner.run(prefix + [self.program, case], CASE_LIMIT_S)

    def run(self, prefix):
        if not prefix:
            tried = {case: self.run_case([], case)
                     for case in self.all_cases()}
            self.cases = [case for case, result in tried.items()
                          if result.outcome() == "ok" and
                          REPORT not in result.stderr]
            seconds = sum(result.seconds for result in tried.values())
            return self.result(0, "", b"", seconds)
        seconds = 0
        for case in self.cases:
            result = self.run_case(prefix, case)
            seconds += result.seconds
            status = result.status
            if status == 0 and REPORT in result.stderr:
                status = 1
            if status != 0:
                return self.result(status, f"\nfailed: {case}", result.stderr,
                                   seconds, result.trace)
        return self.result(0, "", b"", seconds)

    def result(self, status, more, stderr, seconds, trace=""):
        text = "\n".join(self.cases) + more
        return runner.Result(status, text.encode(), stderr, seconds, trace)


# ThreadSanitizer supports 8128 threads in total.
ARGUMENTS = {"app_storm": ["100", "2"], "app_parked": ["1000"],
             "app_churn": ["20"]}


def all_sanitized(build):
    """The programs that are built: a few by default, all by `ninja
    sanitized`."""
    for path in sorted((build / "test/sanitized").glob("?san_*")):
        if not path.is_file():
            continue
        arguments = ARGUMENTS.get(path.name[5:])
        if arguments:
            yield Program(path.name, [path, *arguments])
        else:
            yield Sanitized(path.name, path)
