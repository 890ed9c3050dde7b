# SPDX-License-Identifier: MIT
"""Each mutant has a source that it changes, and a suite that exists."""

import pathlib
import tomllib

import mutants
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = [row["name"] for path in sorted((ROOT / "test/mutants").glob("*.toml"))
         for row in tomllib.loads(path.read_text())["mutant"]]


@pytest.mark.parametrize("name", NAMES)
def test_source_is_changed(name):
    before, after = mutants.mutated(mutants.table()[name], ROOT)
    assert before != after


def test_source_without_the_old_text():
    row = dict(mutants.table()[NAMES[0]], old="a text that no source has")
    with pytest.raises(mutants.Problem, match="0 times, not once"):
        mutants.mutated(row, ROOT)
