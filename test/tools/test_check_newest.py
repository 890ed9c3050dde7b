# SPDX-License-Identifier: MIT
"""tools/check_newest.py: flags for other compilers, and which compilers it
skips."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_newest.py"
spec = importlib.util.spec_from_file_location("check_newest", TOOL)
check_newest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_newest)

COMMAND = ("cc -I../src -flto=auto -fdiagnostics-color=always -Wall "
           "-std=gnu17 -O2 -g -fPIC '-DA=\"b c\"' '-D__nonnull(params)=' "
           "-mmemset-strategy=x -MD -MQ a.o -MF a.d -o a.o -c ../src/a.c")


def test_flags():
    flags = check_newest.flags_of(COMMAND, True)
    assert flags[:6] == ["-Wall", "-std=gnu17", "-O2", "-fPIC",
                         '-DA="b c"', "-D__nonnull(params)="]
    assert flags[6] == "-mmemset-strategy=x" and "-Werror" in flags
    assert "-mmemset-strategy=x" not in check_newest.flags_of(COMMAND, False)


def test_sources(tmp_path):
    entries = [{"directory": str(ROOT), "file": name, "command": name}
               for name in ("src/a.c", "cli/b.c", "test/c.c", "src/d.S")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(
        entries + entries[:1]))
    assert check_newest.sources(tmp_path) == {"src/a.c": "src/a.c",
                                              "cli/b.c": "cli/b.c"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become a user")
def test_without_root(tmp_path):
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, TOOL, tmp_path], text=True,
                          capture_output=True, user=65534, group=65534)
    if "Permission denied" in done.stderr:
        pytest.skip("others may not read the project")
    assert done.returncode == 0
    assert done.stdout == "skipped: only root can use chroot\n"


def test_without_a_mirror(tmp_path):
    """Nothing is downloaded where apt has no Debian."""
    tool = tmp_path / "apt-get"
    tool.write_text("#!/bin/sh\necho http://mirror/ubuntu Ubuntu\n")
    tool.chmod(0o755)
    done = subprocess.run(
        [sys.executable, TOOL, tmp_path], text=True, capture_output=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0
    assert done.stdout.startswith("skipped: ")


def test_usage():
    done = subprocess.run([sys.executable, TOOL], text=True,
                          capture_output=True)
    assert done.returncode == 2 and "usage" in done.stderr
