# SPDX-License-Identifier: MIT
"""tools/make_pictures.py: what it draws, and that it finds differences."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/make_pictures.py"
sys.path.insert(0, str(TOOL.parent))
spec = importlib.util.spec_from_file_location("make_pictures", TOOL)
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)

BOX = """A box

┌───┐ go()
│ a ├────▶ b
└───┘
"""


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / pictures.FOLDER).mkdir(parents=True)
    (tmp_path / pictures.FOLDER / "box.txt").write_text(BOX)
    return tmp_path


def paths(svg):
    return re.findall(r'class="(line[^"]*)" d="([^"]+)"', svg)


def test_lines_texts_and_heads():
    svg = pictures.drawn(BOX)
    found = tree.fromstring(svg)
    texts = ["".join(one.itertext()) for one in found.iter()
             if one.tag.endswith("}text")]
    assert texts == ["go()", "a", "b"]
    assert svg.count('class="head"') == 1
    assert '<tspan class="name">go()</tspan>' in svg
    assert found[0].text == "A box"
    # The borders are two horizontal and two vertical lines. The fifth line is
    # the arrow's, which begins in the middle of the right border.
    assert len(paths(svg)) == 5
    border = pictures.MARGIN + 4.5 * pictures.W
    assert any(d.startswith(f"M{pictures.number(border)},") for _, d in
               paths(svg))


def test_a_line_goes_on_through_a_crossing():
    svg = pictures.drawn("T\n\n  │\n──┼──\n  │\n")
    assert len(paths(svg)) == 2


def test_a_dashed_line_ends_where_a_solid_one_begins():
    assert sorted(kind for kind, _ in paths(pictures.drawn("T\n\n┄┄──\n"))) \
        == ["line", "line dashed"]


def test_a_hyphen_is_text():
    svg = pictures.drawn("T\n\nnot-yet-started  <a & b>\n")
    assert not paths(svg)
    assert ">not-yet-started<" in svg and "&lt;a &amp; b&gt;" in svg


@pytest.mark.parametrize("text, says", [
    ("", "no title"), ("T\n", "no title"), ("T\n\na\tb\n", "tab"),
    ("T\n\n┌─┐\n\n│\n", "line 3, column 1"),
    ("T\n\na ▶ b\n", "▶ continues no line"),
])
def test_damaged_pictures(folder, text, says):
    (folder / pictures.FOLDER / "box.txt").write_text(text)
    result = run(folder)
    assert result.returncode == 1
    assert "docs/pictures/box.txt: " in result.stdout and says in result.stdout


def test_check(folder):
    svg = folder / pictures.FOLDER / "box.svg"
    assert run("--check", folder).returncode == 1 and not svg.exists()
    assert run(folder).returncode == 0
    assert svg.read_text() == pictures.drawn(BOX)
    assert run("--check", folder).returncode == 0
    (folder / pictures.FOLDER / "box.txt").write_text(BOX.replace("a", "c"))
    result = run("--check", folder)
    assert result.returncode == 1 and "not what its text says" in result.stdout
    (folder / pictures.FOLDER / "box.txt").unlink()
    result = run("--check", folder)
    assert result.returncode == 1 and "has no text" in result.stdout


def test_usage():
    assert run("/nonexistent").returncode == 2
    assert run(ROOT, ROOT).returncode == 2


def test_the_pictures_of_the_documents():
    """Each picture equals its text, is shown by a document, and has colours
    for light and dark."""
    result = run("--check")
    assert result.returncode == 0, result.stdout
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in
             re.findall(r"pictures/([\w-]+)\.svg", page.read_text())}
    there = sorted((ROOT / pictures.FOLDER).glob("*.svg"))
    assert shown == {svg.stem for svg in there} and len(there) >= 7
    for svg in there:
        assert "prefers-color-scheme: dark" in svg.read_text()
