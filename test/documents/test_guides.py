# SPDX-License-Identifier: MIT
"""The page of each service has the command, results of a command that the page
names, what to set and what to watch."""

import re
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT))

from bench.servers.run import KINDS  # noqa: E402

# {page: the services that it has results of}
PAGES = {"mariadb": ["mariadb"], "postgresql": ["postgres-clients"],
         "nginx": ["nginx"], "apache": ["apache"], "java": ["tomcat", "java"],
         "python": ["gunicorn", "django", "waitress"], "puma": ["puma"],
         "redis": ["redis"], "openmp": ["openmp", "blas"]}


def sections(page):
    """{title: text}"""
    text = (ROOT / f"docs/guide/{page}.md").read_text()
    return dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.M))


def test_each_service_has_a_page():
    assert sorted(sum(PAGES.values(), [])) == sorted(KINDS)


@pytest.mark.parametrize("page", PAGES)
def test_parts_of_a_page(page):
    found = sections(page)
    command = found.get("The command") or found["The commands"]
    assert re.search(r"^    weft run \S", command, re.M)
    assert re.search(r"^\| .* \| .* \|$", found["What to set"], re.M)
    assert re.search(r"^\* ", found["What to watch"], re.M)


@pytest.mark.parametrize("page", PAGES)
def test_results_of_a_page(page):
    """A figure for each service, below the command that measures it. The
    figure has numbers."""
    text = sections(page)["What it brings"]
    for kind in PAGES[page]:
        command, _, rest = text.partition(f"<!-- figure: service-{kind} -->")
        figure = rest.partition("<!-- end of figure -->")[0]
        assert f"`./dev bench servers {kind}`" in command
        for load in KINDS[kind][0].loads:
            assert re.search(rf"^\| {load}, \d+ \| \d", figure, re.M), (
                f"{kind} is not measured with {load}")
