# SPDX-License-Identifier: MIT
"""Executed lines are counted, however their process ends."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTING = ["-fprofile-arcs", "-ftest-coverage", "-fprofile-update=atomic",
            "-fprofile-info-section", "-fdata-sections"]
PROGRAM = r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	switch (argc > 1 ? argv[1][0] : '-') {
	case 'r':
		return 0;                         /* returns */
	case 'e':
		_exit(0);                         /* exits */
	case 'k':
		kill(getpid(), SIGKILL);          /* is killed */
		return 1;
	case 'x':
		execl("/bin/true", "true", NULL); /* executes */
		return 1;
	case 'f':
		if (fork() == 0)
			_exit(0);                 /* forks */
		return 0;
	}
	abort();                                  /* never */
}
"""


def executed(listing, comment):
    """How often gcov has seen the line with this comment."""
    line = next(l for l in listing.splitlines() if f"/* {comment} */" in l)
    count = line.split(":")[0].strip().rstrip("*")
    return 0 if count == "#####" else int(count)


def test_processes_are_counted(tmp_path):
    if shutil.which("gcc") is None or shutil.which("gcov") is None:
        pytest.skip("no gcc or no gcov")
    (tmp_path / "counters").mkdir()
    (tmp_path / "p.c").write_text(PROGRAM)

    def run(*command, **more):
        return subprocess.run(command, cwd=tmp_path, check=False,
                              capture_output=True, text=True, **more)

    run("gcc", "-O0", *COUNTING, "-c", "p.c").check_returncode()
    done = run("gcc", "-D_GNU_SOURCE", f"-I{ROOT}/src",
               '-DCOVERAGE_NAME="program"',
               f'-DCOVERAGE_FOLDER="{tmp_path}/counters"', "-o", "p",
               ROOT / "test/coverage/counters.c", "p.o", "-lgcov",
               f"-Wl,-T,{ROOT}/test/coverage/counters.ld")
    assert done.returncode == 0, done.stderr
    for way in "rekxf" * 3:
        run("./p", way)
    done = run("./p", env={**os.environ, "COVERAGE_DUMP": "program"})
    assert done.returncode == 0, done.stderr
    run("gcov", "p.gcda").check_returncode()
    listing = (tmp_path / "p.c.gcov").read_text()
    assert [executed(listing, what) for what in (
        "returns", "exits", "is killed", "executes", "forks", "never")] == \
        [3, 3, 3, 3, 3, 0]
