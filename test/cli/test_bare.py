# SPDX-License-Identifier: MIT
"""weft run executes the program before libc is initialised, or else with
libc."""

import shutil
import subprocess

import pytest

from conftest import BUILD, LIBRARY

BARE = BUILD / "cli/weft-bare.o"
PROGRAM = ["sh", "-c", 'echo "$LD_PRELOAD" $WEFT_VPS "$@"', "-", "a b"]
# libc makes these system calls first at its start, and weft makes none of them.
LIBC = {"brk", "arch_prctl", "set_tid_address"}

needs_bare = pytest.mark.skipif(not BARE.exists(),
                                reason="built with a sanitizer")


def strace(tmp_path, *options):
    """Returns the program's output, and the calls before its exec."""
    log = tmp_path / "log"
    command = ["strace", "-o", log, *options]
    if not shutil.which("strace") or subprocess.run(
            [*command, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("strace is not there or not allowed")
    result = subprocess.run(
        [*command, BUILD / "weft", "run", "--vps", "2", *PROGRAM],
        stdout=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 0
    calls = [line.split("(")[0] for line in log.read_text().splitlines()]
    return result.stdout, calls[1:calls.index("execve", 1)]


@needs_bare
def test_refers_to_nothing():
    result = subprocess.run(["nm", "-u", BARE], check=True, text=True,
                            stdout=subprocess.PIPE)
    assert result.stdout.split() == ["U", "_start"]


@needs_bare
def test_without_libc(tmp_path):
    output, calls = strace(tmp_path)
    assert output == f"{LIBRARY} 2 a b\n"
    assert not LIBC & set(calls), calls


@needs_bare
@pytest.mark.parametrize("call", ["readlink", "faccessat"])
def test_again_with_libc(tmp_path, call):
    output, calls = strace(tmp_path, "-e", f"inject={call}:error=EACCES:when=1")
    assert output == f"{LIBRARY} 2 a b\n"
    assert LIBC & set(calls), calls


@needs_bare
def test_many_variables(weft):
    env = {f"VARIABLE_{i}": str(i) for i in range(3000)}
    result = weft("run", "--vps", "2", "env", env=env)
    lines = result.stdout.splitlines()
    assert {f"{name}={value}" for name, value in env.items()} < set(lines)
    assert "WEFT_VPS=2" in lines


@needs_bare
def test_long_variables(weft):
    user = "none.so:" * 2000
    result = weft("run", "env", env={"LD_PRELOAD": user})
    assert f"LD_PRELOAD={user}{LIBRARY}" in result.stdout.splitlines()
