# SPDX-License-Identifier: MIT
"""The completions of shells."""

import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT


def test_files_agree_with_the_help(weft):
    if "without libdw" in weft("help", "stacks").stdout:
        pytest.skip("this command has not all options")
    subprocess.run([sys.executable, f"{ROOT}/tools/make_completions.py",
                    f"{BUILD}/weft", "--check"], check=True)


def output(*command):
    """Without the user's own settings of the shell."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE, timeout=60).stdout


@pytest.mark.parametrize("words, completed", [
    (["th"], "threads"), (["threads", "--st"], "--state"),
    (["run", "--vp"], "--vps"), (["threads", "--vp"], "")])
def test_bash(words, completed):
    script = (f"source {ROOT}/cli/completion/weft; "
              f"COMP_WORDS=(weft {' '.join(words)}); "
              f"COMP_CWORD={len(words)}; _weft; echo \"${{COMPREPLY[*]}}\"")
    assert output("bash", "--norc", "-c", script).strip() == completed


@pytest.mark.parametrize("words, completed", [
    (["th"], "threads"), (["core", "--"], "--help"),
    (["threads", "--st"], "--state"), (["run", "--vp"], "--vps")])
def test_zsh(words, completed):
    """compadd gets all words for the position; zsh selects by the prefix."""
    script = ("compadd() { print -r -- ${(M)@:#$PREFIX*} }; "
              f"words=(weft {' '.join(words)}); CURRENT={len(words) + 1}; "
              f"PREFIX={words[-1]}; source {ROOT}/cli/completion/_weft")
    assert completed in output("zsh", "-f", "-c", script).split()


@pytest.mark.parametrize("line, completed", [
    ("weft th", ["threads"]), ("weft threads --sta", ["--state"]),
    ("weft threads --vp", []), ("weft run --vp", ["--vps"])])
def test_fish(line, completed):
    script = (f"source {ROOT}/cli/completion/weft.fish; complete -C '{line}'")
    assert output("fish", "--no-config", "-c", script).split() == completed
