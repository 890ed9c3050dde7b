# SPDX-License-Identifier: MIT
"""Lets the tests import the tools, which are scripts."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))


@pytest.fixture
def tree(tmp_path):
    """Writes files into an empty tree: tree({"src/base/a.c": "text"})."""
    def write(files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path
    return write
