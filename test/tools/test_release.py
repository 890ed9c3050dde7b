# SPDX-License-Identifier: MIT
"""The project has one version, and a well-formed change log."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = ["Added", "Changed", "Fixed"]


def first(pattern, name):
    return re.search(pattern, (ROOT / name).read_text(), re.M)[1]


def test_one_version():
    version = first(r"^  version: '([\d.]+)'", "meson.build")
    assert version == first(r'^#define WEFT_VERSION "([\d.]+)"',
                            "include/weft/weft.h")
    assert version == first(r"^weft \(([\d.]+)\) ", "debian/changelog")
    assert version == first(r"^## (\d[\d.]+)", "CHANGELOG.md")


def test_symbols_file():
    """It names the library and all versions of names, and names of libc's."""
    text = (ROOT / "debian/libweft0.symbols").read_text()
    assert text.startswith("libweft.so.0 libweft0 ")
    named = set(re.findall(r"^ \(symver\)(\S+) ", text, re.M))
    own = set(re.findall(r"^(\w+\.\d+) \{", (ROOT / "src/weft.map").read_text(),
                         re.M))
    assert named == own and '\n (regex)"@Base$" ' in text


def test_change_log():
    """Versions, groups in order, and changes of one line."""
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(),
                        flags=re.M)[1:]
    for section in sections:
        groups = re.findall(r"^### (.*)$", section, re.M)
        assert groups == [name for name in GROUPS if name in groups]
        for line in section.splitlines()[1:]:
            assert not line or line.startswith(("### ", "* ")), line
            assert len(line) <= 120, line


def test_licence_has_a_year():
    assert re.search(r"^Copyright \(c\) 2\d{3}", (ROOT / "LICENSE").read_text(),
                     re.M)
