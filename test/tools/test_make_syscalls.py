# SPDX-License-Identifier: MIT
"""The section is made from the real rows, and from damaged rows."""

import pathlib
import shutil

import make_syscalls
import pytest
import syscall_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("src/api/state/kernel_calls.c", "docs/reference/syscalls.md")


@pytest.fixture
def copy(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "test").symlink_to(ROOT / "test")
    return tmp_path


def check(root, capsys):
    status = make_syscalls.main(["", "--check", str(root)])
    return status, capsys.readouterr().out


def test_clean(copy, capsys):
    status, out = check(copy, capsys)
    assert status == 0 and out == "syscalls: clean\n"


def test_section_that_is_out_of_date(copy, capsys):
    page = copy / FILES[1]
    page.write_text(page.read_text().replace("| `read` | process |",
                                             "| `read` | thread |"))
    status, out = check(copy, capsys)
    assert status == 1 and "out of date" in out
    assert make_syscalls.main(["", str(copy)]) == 0
    assert page.read_text() == (ROOT / FILES[1]).read_text()


def test_call_that_only_the_header_has(copy, capsys, monkeypatch):
    monkeypatch.setattr(make_syscalls, "in_header",
                        lambda: {0: "read", 9999: "new_call"})
    status, out = check(copy, capsys)
    assert status == 1 and "has new_call, which syscall_rows" in out


def test_call_with_another_number(copy, capsys, monkeypatch):
    monkeypatch.setattr(make_syscalls, "in_header", lambda: {0: "write"})
    status, out = check(copy, capsys)
    assert status == 1 and "has read with write's number" in out


def test_call_without_a_row(copy, capsys, monkeypatch):
    monkeypatch.setattr(syscall_rows, "NEWER",
                        {**syscall_rows.NEWER, 9999: "new_call"})
    status, out = check(copy, capsys)
    assert status == 1 and "does not say what new_call is" in out


def test_row_without_a_test(copy, capsys, monkeypatch):
    rows = syscall_rows.THREAD + (("read", "", "", "signals:no_such_case"),)
    monkeypatch.setattr(syscall_rows, "THREAD", rows)
    status, out = check(copy, capsys)
    assert status == 1 and "read has no test signals:no_such_case" in out


def test_table_with_a_call_of_the_process(copy, capsys):
    table = copy / FILES[0]
    table.write_text(table.read_text().replace("[SYS_setns] =",
                                               "[SYS_brk] ="))
    status, out = check(copy, capsys)
    assert status == 1 and "has brk, which is not about threads" in out


@pytest.mark.parametrize("test, is_there", [
    ("signals:masks_are_per_thread", True),
    ("kernel_state_each:option_timer_slack", True),
    ("fork:", True), ("regress/filters", True), ("none: a reason", True),
    ("none:", False), ("signals:", True), ("no_such_file:", False),
    ("signals:masks", False), ("regress/no_such_file", False)])
def test_tests_are_found(test, is_there):
    assert make_syscalls.has_test(ROOT, test) == is_there
