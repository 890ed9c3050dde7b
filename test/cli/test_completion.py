# SPDX-License-Identifier: MIT
"""The completions of shells."""

import subprocess
import sys

import pytest

from conftest import BUILD, ROOT


def test_files_agree_with_the_help(weft):
    if "without libdw" in weft("help", "stacks").stdout:
        pytest.skip("this command has not all options")
    subprocess.run([sys.executable, f"{ROOT}/tools/make_completions.py",
                    f"{BUILD}/weft", "--check"], check=True)


@pytest.mark.parametrize("words, completed", [
    (["th"], "threads"), (["threads", "--st"], "--state"),
    (["run", "--vp"], "--vps"), (["threads", "--vp"], "")])
def test_bash(words, completed):
    script = (f"source {ROOT}/cli/completion/weft; "
              f"COMP_WORDS=(weft {' '.join(words)}); "
              f"COMP_CWORD={len(words)}; _weft; echo \"${{COMPREPLY[*]}}\"")
    result = subprocess.run(["bash", "--norc", "-c", script], check=True,
                            text=True, stdout=subprocess.PIPE)
    assert result.stdout.strip() == completed
