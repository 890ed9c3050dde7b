# SPDX-License-Identifier: MIT
"""The table is made of the real ranks, and of ranks that are spoilt here."""

import pathlib
import shutil

import make_locks
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "docs/developer").mkdir(parents=True)
    shutil.copy(ROOT / make_locks.PAGE, tmp_path / make_locks.PAGE)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def check(root, capsys):
    status = make_locks.main(["", "--check", str(root)])
    return status, capsys.readouterr().out


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_clean(copy, capsys):
    assert check(copy, capsys) == (0, "locks: clean\n")


def test_table_that_is_out_of_date(copy, capsys):
    change(copy / make_locks.PAGE, "which VPs are idle", "which VPs run")
    status, out = check(copy, capsys)
    assert status == 1 and "out of date" in out
    assert make_locks.main(["", str(copy)]) == 0
    assert (copy / make_locks.PAGE).read_text() == \
        (ROOT / make_locks.PAGE).read_text()


@pytest.mark.parametrize("old, new, words", [
    ('"boot/start.c"', '"boot/begin.c"', "START: there is no src/boot/begin.c"),
    ('"threads")', '"nothing")', "1 rows of WF_RANKS are not X("),
    ("X(START,", 'X(UNUSED, "boot/start.c", "nothing", "memory") X(START,',
     "no file takes a lock of rank UNUSED"),
    ("X(START,", "X(BEGIN,", "there is no rank START"),
])
def test_ranks_that_are_wrong(copy, capsys, old, new, words):
    change(copy / make_locks.RANKS, old, new)
    status, out = check(copy, capsys)
    assert status == 1 and words in out
