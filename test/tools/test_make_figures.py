# SPDX-License-Identifier: MIT
"""The papers' figures in the documents, made from a small stored result."""

import json
import pathlib
import shutil
import sys
import xml.etree.ElementTree

import make_figures
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test/bench")]

import papers_results  # noqa: E402
from bench.papers.report import documents, records  # noqa: E402

PAGE = "docs/guide/papers.md"
ALL = "".join(f"<!-- figure: {name} -->\n<!-- end of figure -->\n\n"
              for name in documents.FIGURES)


def result(*without, **more):
    found = [one for name, data in papers_results.ALL.items()
             if name not in without for one in records.of(name, data)[0]]
    return {"records": found, "missing": dict.fromkeys(without, "status 1"),
            "about": {"cpu": "a <CPU>", "cpus": 2, "date": "2026-01-02"},
            **more}


@pytest.fixture
def root(tmp_path):
    """The documents; the papers' page has all figures."""
    for name in make_figures.DOCUMENTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / PAGE).write_text(f"# Papers\n\n{ALL}The end.\n")
    return tmp_path


def store(root, stored):
    path = root / make_figures.RESULT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stored))


def run(root, *options):
    return make_figures.main(["", *options, str(root)])


def pictures(root):
    return sorted((root / make_figures.FOLDER).glob("*.svg"))


def test_the_documents_are_up_to_date(capsys):
    assert run(ROOT, "--check") == 0, capsys.readouterr().out


def test_all_figures_of_the_documents_are_known():
    names = [name for document in make_figures.DOCUMENTS for name, _ in
             make_figures.FIGURE.findall((ROOT / document).read_text())]
    assert set(names) == make_figures.NAMES


def test_figures_are_filled_in(root, capsys):
    store(root, result())
    assert run(root) == 0 and run(root, "--check") == 0
    out = capsys.readouterr().out
    assert "note" not in out
    text = (root / PAGE).read_text()
    for wanted in (
            "Measured 2026-01-02 on a <CPU>, 2 CPUs",
            "| create a thread | 11.0 us | 1.00 us | 11.0 |",
            "| join a thread | 5.00 us | - | |",
            "| travelling salesman, 11 cities, 8 threads, all CPUs | 52.0 ms |"
            " 51.0 ms | ~1.02 |",
            "| mutex call | ns | 11.0 | 11.0 | 5.00 | ~1.00 | 2.20 | 0.8 |",
            "| switch by mutex | 1.20 | 2.00 | 0.00 |",
            "| MIPS64 5KEf (Malta) | 40.0 | 1.00 |",
            "ns for an operation, 1 CPU:\n\n| | native | weft |",
            "![One-way latency, VPs and CPUs: 1](figures/ring.svg)",
            "![One-way latency, VPs and CPUs: 2](figures/ring-2.svg)"):
        assert wanted in text, wanted
    assert text.startswith("# Papers\n\n<!-- figure: environment -->\n\nMeas")
    assert text.endswith("<!-- end of figure -->\n\nThe end.\n")
    assert "| create a thread |" in (root / "README.md").read_text()
    for link in ("usable", "salesman", "locks", "nptl", "agents"):
        assert f"](figures/{link}.svg)" in text, link
    assert len(pictures(root)) == text.count("](figures/")
    for path in pictures(root):
        assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg")
    # A second run changes nothing.
    assert run(root) == 0 and (root / PAGE).read_text() == text


def test_a_figure_that_is_out_of_date(root, capsys):
    store(root, result())
    run(root)
    page = root / PAGE
    page.write_text(page.read_text().replace("11.0 us", "12.0 us"))
    pictures(root)[0].write_text("<svg/>")
    stale = root / make_figures.FOLDER / "old.svg"
    stale.write_text("<svg/>")
    assert run(root, "--check") == 1
    out = capsys.readouterr().out
    assert f"{PAGE} is out of date: run tools/make_figures.py" in out
    assert f"{pictures(root)[0].name} is out of date" in out
    assert "old.svg is no figure any more" in out
    assert run(root) == 0 and run(root, "--check") == 0
    assert not stale.exists()


def test_missing_peers_are_named(root, capsys):
    store(root, result("ring", "peers"))
    assert run(root) == 0 and run(root, "--check") == 0
    out = capsys.readouterr().out
    assert "has no value of papers/ring: status 1" in out
    text = (root / PAGE).read_text()
    assert "*Without a value here: `papers/ring` (status 1)." in text
    assert "`./dev bench papers --save` measures" in text
    # The other rows are still there.
    assert "| create a thread |" in text


def test_without_a_result(root, capsys):
    store(root, result())
    run(root)
    (root / make_figures.RESULT).unlink()
    assert run(root, "--check") == 1
    assert run(root) == 0 and run(root, "--check") == 0
    assert "there is no bench/results/papers.json yet" in \
        capsys.readouterr().out
    assert (root / PAGE).read_text().count("*Not measured yet.") == \
        len(documents.FIGURES)
    assert not pictures(root)


def test_a_quick_or_noisy_result_says_so(root):
    about = {**result()["about"], "is_quick": True}
    store(root, result(about=about, warnings=["busy"]))
    assert run(root) == 0
    text = (root / PAGE).read_text()
    assert "This is a quick run" in text and "has 1 warning;" in text


def test_wrong_input(root, capsys):
    page = root / PAGE
    page.write_text("<!-- figure: fly -->\n<!-- end of figure -->\n")
    assert run(root) == 1
    assert f"{PAGE}: no figure is called fly" in capsys.readouterr().out
    for text in ("[]", "{", "{}"):
        (root / make_figures.RESULT).parent.mkdir(parents=True, exist_ok=True)
        (root / make_figures.RESULT).write_text(text)
        assert run(root) == 1
        assert "papers.json" in capsys.readouterr().out


@pytest.mark.parametrize("name", documents.FIGURES)
def test_no_record_is_taken_for_granted(name):
    whole = result()
    experiments = documents.FIGURES[name][0]
    for nr, one in enumerate(whole["records"]):
        if one["experiment"] not in experiments:
            continue
        less = [*whole["records"][:nr], {**one, "value": None},
                *whole["records"][nr + 1:]]
        figures = make_figures.Figures({**whole, "records": less}, {})
        assert figures.text(name, PAGE)


PART = {"sides": {"native": {"requests": 100, "server_us": 50},
                  "weft uring": {"requests": 150, "server_us": 40}},
        "others": 0.25, "favoured": False, "runs": 5, "date": "2026-01-02",
        "cpus": 2}


def test_services(root):
    """The guide's tables and the plot of services."""
    path = root / make_figures.saved.PATH
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"parts": {"mariadb_point_16": PART,
                                          "nginx_keep_256": PART}}))
    store(root, result())
    assert run(root) == 0 and run(root, "--check") == 0
    text = (root / "docs/guide/mariadb.md").read_text()
    assert "| point, 16 | 100.0 | 150.0 | 1.50 | 50.0 | 40.0 | 0.80 |" in text
    assert "Other programs used at most 0.2 CPUs." in text
    assert "Rows that are missing are not measured yet" in text
    assert "| keep, 256 |" in (root / "docs/guide/nginx.md").read_text()
    assert "`./dev bench servers --save redis` fills this in" in \
        (root / "docs/guide/redis.md").read_text()
    plot = (root / make_figures.FOLDER / "services.svg").read_text()
    assert "MariaDB, 16 connections" in plot and "gunicorn" not in plot
