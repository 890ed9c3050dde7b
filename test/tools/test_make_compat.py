# SPDX-License-Identifier: MIT
"""The page is made from the real headers, and from damaged tables."""

import pathlib
import shutil

import compat_rows
import make_compat
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("src/weft.map", "src/interposed.txt", "cli/deviations.h",
         "docs/reference/compat.md")

needs_page_glibc = pytest.mark.skipif(
    make_compat.glibc_version() != make_compat.GLIBC,
    reason="the headers are not those of the page")


@pytest.fixture
def copy(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def check(root, capsys):
    status = make_compat.main(["", "--check", str(root)])
    return status, capsys.readouterr().out


def test_clean(copy, capsys):
    status, out = check(copy, capsys)
    assert status == 0 and out.endswith("compat: clean\n")


def test_page_that_is_out_of_date(copy, capsys):
    replace(copy / FILES[3], "`sem_post`, ", "")
    assert make_compat.main(["", str(copy)]) == 0
    status, _ = check(copy, capsys)
    assert status == 0
    replace(copy / FILES[3], "handled |", "passed through |")
    status, out = check(copy, capsys)
    assert status == 1 and "out of date" in out


@needs_page_glibc
def test_function_that_is_no_longer_exported(copy, capsys):
    replace(copy / FILES[1], "\nnanosleep\n", "\n")
    status, out = check(copy, capsys)
    assert status == 1 and "<time.h> has nanosleep" in out


def test_reach_of_another_name(copy):
    table = make_compat.Table(copy)
    assert table.classify("pthread_atfork", "pthread_atfork")[0] == "handled"
    assert table.classify("sigpause", "__xpg_sigpause")[0] == "handled"
    assert table.classify("new_function", "new_function") is None


@needs_page_glibc
def test_row_that_is_not_libcs_alone(copy, capsys):
    replace(copy / FILES[1], "\nnanosleep\n", "\nnanosleep\ngetpgrp\n")
    status, out = check(copy, capsys)
    assert status == 1 and "has getpgrp, which is not libc's alone" in out


@needs_page_glibc
def test_row_without_a_function(copy, capsys, monkeypatch):
    monkeypatch.setattr(compat_rows, "UNCONCERNED",
                        compat_rows.UNCONCERNED + " gone_function")
    status, out = check(copy, capsys)
    assert status == 1 and "gone_function, which no header declares" in out


def test_another_glibc(copy, capsys, monkeypatch):
    """With another glibc's functions the page is the same, and a message says
    so."""
    declared = make_compat.declared

    def other(header):
        names = declared(header)
        if header == "time.h":
            names["new_function"] = "new_function"
            names.pop("nanosleep", None)
        return names
    monkeypatch.setattr(make_compat, "declared", other)
    monkeypatch.setattr(make_compat, "glibc_version", lambda: "3.0")
    status, out = check(copy, capsys)
    assert status == 0 and "note: <time.h> has new_function" in out
    replace(copy / FILES[3], "`nanosleep`, ", "")
    replace(copy / FILES[1], "\nsleep\n", "\n")
    status, out = check(copy, capsys)
    assert status == 1 and "out of date" in out


def test_names_of_headers():
    names = make_compat.declared("signal.h")
    assert names["sigpause"] == "__xpg_sigpause"
    assert names["kill"] == "kill" and names["pthread_kill"]
    # Declarations of included headers, types and bodies are not listed.
    assert "usleep" not in names and "sigaction_t" not in names
    assert make_compat.declared("pthread.h").keys() >= {
        "pthread_equal", "pthread_exit", "pthread_cleanup_push", "pthread_self"}


def test_deviations():
    found = make_compat.deviations(
        '/* WF_DEVIATION(A, ALWAYS, no) */\nWF_REASON(A, "one "\n'
        '\t  "text")\nWF_REASON(B, "two")\n'
        'WF_DEVIATION(A, ALWAYS, f)\nWF_DEVIATION(B, SOMETIMES, f)\n')
    assert found == {"f": ["one text", "two"]}
