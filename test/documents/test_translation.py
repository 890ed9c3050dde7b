# SPDX-License-Identifier: MIT
"""README.ja.md says what README.md says: the same headings in number and
order, the same commands, links, pictures and figures."""

import re

import pytest

from conftest import ROOT
from test_documents import blocks, commands

TEXTS = {name: (ROOT / name).read_text()
         for name in ("README.md", "README.ja.md")}


def levels(text):
    return re.findall(r"^(#+) ", text, re.M)


def links(text):
    """But for those from one README to the other."""
    return {target for target in re.findall(r"\]\(([^)]+)\)", text)
            if not target.startswith("README")}


def all_commands(text):
    return [[re.sub(r" +#.*", "", line) for line in commands(block)]
            for block in blocks(text)]


def figures(text):
    return re.findall(r"^<!-- figure: (\S+) -->\n(.*?)^<!-- end", text,
                      re.M | re.S)


@pytest.mark.parametrize("part", [levels, links, all_commands, figures])
def test_the_readme_in_japanese(part):
    english, japanese = (part(text) for text in TEXTS.values())
    assert english == japanese and english


def test_each_names_the_other():
    assert "(README.ja.md)" in TEXTS["README.md"]
    assert "(README.md)" in TEXTS["README.ja.md"]
