# SPDX-License-Identifier: MIT
import check_lengths
import pytest


def function(lines):
    """A function of that many lines, braces included."""
    return "int f(void)\n{\n" + "\tg();\n" * (lines - 2) + "}\n"


def complaints(tree, content, name="src/a.c"):
    root = tree({name: content})
    return check_lengths.check_file(root / name)


@pytest.mark.parametrize("content", [
    "x\n" * 500,
    function(60) + function(60),
    "\t" * 9 + "x" * 8 + "\n",
    "struct s {\n" + "\tint x;\n" * 100 + "};\n",
])
def test_allowed(tree, content):
    assert complaints(tree, content) == []


@pytest.mark.parametrize("content, why", [
    ("x\n" * 501, "501 lines"),
    (function(61), "a.c:2: a function of 61 lines"),
    (function(5) + function(90), "a function of 90 lines"),
    ("\t" * 9 + "x" * 9 + "\n", "a.c:1: 81 columns"),
    ("short\n" + "x" * 81 + "\n", "a.c:2: 81 columns"),
])
def test_too_long(tree, content, why):
    errors = complaints(tree, content)
    assert len(errors) == 1 and why in errors[0]


def test_only_c_has_functions(tree):
    assert complaints(tree, function(90), "tools/a.py") == []


@pytest.mark.parametrize("lines, ok", [(6000, True), (6001, False)])
def test_code_of_a_folder(tree, lines, ok):
    comments = "\n/*\n * x;\n */\n" * 100
    root = tree({"src/a/b.c": "x;\n" * 5000 + comments,
                 "src/a/b.h": "x; /* y */\n" * (lines - 5000),
                 "src/a/c/d.c": "x;\n" * 6000})
    errors = check_lengths.check_folders(root)
    assert (errors == []) == ok
    assert ok or "src/a: 6001 lines of code" in errors[0]


def test_where_it_looks(tree, capsys):
    long = "x" * 81
    root = tree({"src/a.S": long, "test/b.py": long, "tools/c.py": long,
                 ".ci/run": long, "dev": long, "docs/d.md": long,
                 "src/meson.build": long})
    assert check_lengths.main(["", str(root)]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 5
    assert "d.md" not in out and "meson.build" not in out
