# SPDX-License-Identifier: MIT
"""The page of programs that were tried: made of the tests' tables."""

import json
import pathlib
import shutil
import sys

import make_tried
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/lib"))

import apps  # noqa: E402
import tried  # noqa: E402


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "test").mkdir()
    return tmp_path


def run(root, *options):
    return make_tried.main(["", *options, str(root)])


def save(root, **results):
    (root / "test/tried.json").write_text(json.dumps(results))


def page(root):
    return (root / make_tried.PAGE).read_text()


def test_the_page_is_up_to_date(capsys):
    assert run(ROOT, "--check") == 0, capsys.readouterr().out


def test_each_program_and_suite_has_a_row(root):
    assert run(root) == 0
    for app in make_tried.known_apps(ROOT):
        assert f"\n| {app.name} | " in page(root), app.name
    assert "\n| test_threading | | not tried yet |" in page(root)


def test_results(root):
    save(root, nginx={"result": "as natively", "package": "nginx 1.2",
                      "threads": 16},
         git={"result": "other output than natively", "package": "",
              "threads": 9},
         test_queue={"result": "as natively", "tests": 40})
    assert run(root) == 0 and run(root, "--check") == 0
    text = page(root)
    assert " | nginx 1.2 | 16 | as natively |" in text
    assert "| git | a script with git | | 9 | other output than" in text
    assert "| test_queue | 40 | as natively |" in text


def test_a_page_that_is_out_of_date(root, capsys):
    run(root)
    save(root, redis={"result": "as natively", "package": "", "threads": 4})
    assert run(root, "--check") == 1
    assert "is out of date: run tools/make_tried.py" in capsys.readouterr().out


def test_a_result_of_a_program_that_no_test_runs(root, capsys):
    save(root, gone={"result": "as natively"})
    assert run(root) == 1
    assert "no test runs gone" in capsys.readouterr().out


def test_what_runs_is_said_of_each():
    for app in make_tried.known_apps(ROOT):
        assert make_tried.what_runs(app), app.name
        assert apps.program_of(app), app.name


def test_saved_results_replace_older_ones(tmp_path):
    path = tmp_path / "tried.json"
    tried.save("b", path, result="hang")
    tried.save("a", path, result="as natively")
    tried.save("b", path, result="as natively")
    assert list(tried.read(path)) == ["a", "b"]
    assert tried.read(path)["b"]["result"] == "as natively"


def test_counters_of_a_run():
    counters = tried.Counters()
    assert counters.threads() == 0
    counters.file.write_text('{"threads_made": 2}\n{"threads_made": 3}\n')
    assert counters.threads() == 5
    assert counters.options()[-1] == str(counters.file)


@pytest.mark.parametrize("version, wanted", [
    ("1.22.1-9+deb12u1", "1.22.1"), ("1:10.11.19-0+deb12u1", "10.11.19"),
    ("1:3.1", "3.1"), ("3.1", "3.1"), ("1.0.20+ds-5", "1.0.20+ds"),
    ("2.0-rc1-1", "2.0-rc1")])
def test_upstream_version(version, wanted):
    assert tried.upstream(version) == wanted


def test_package_of_a_program():
    if shutil.which("dpkg-query") is None:
        pytest.skip("there is no dpkg")
    assert tried.package("dpkg-query").startswith("dpkg ")
    assert tried.package("no-such-program") == ""
