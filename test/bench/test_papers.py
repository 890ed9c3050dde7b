# SPDX-License-Identifier: MIT
"""The papers' report: its records, its page, kept results and repeated runs.
No experiment runs here: results are stored ones, suites are scripts."""

import html.parser
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import papers_results
from bench.papers import run as papers
from bench.papers.report import (about, compare, experiments, page, plots,
                                 records, runner)
from bench.papers.report.cells import Cells
from conftest import ROOT

KEYS = {"experiment", "row", "column", "value", "unit", "low", "high"}


def all_records():
    found = []
    for name, data in papers_results.ALL.items():
        rows, why = records.of(name, data)
        assert rows and why is None, (name, why)
        found += rows
    return found


def by_key(found):
    return {(r["experiment"], r["row"], r["column"]): r for r in found}


# --- records ------------------------------------------------------------------

def test_records():
    found = all_records()
    for one in found:
        assert KEYS <= one.keys() <= KEYS | {"why"}
        assert (one["value"] is None) == ("why" in one)
        json.dumps(one)
    cells = by_key(found)
    assert len(cells) == len(found), "two records for one cell"
    one = cells["locks", "libc mutex", "lock"]
    assert (one["value"], one["low"], one["high"]) == (10, 9, 11)
    one = cells["nptl", "mutex call, 1 CPU", "NPTL"]
    assert (one["low"], one["high"], one["unit"]) == (9.75, 11.25, "ns")
    one = cells["tsp", "11 cities", "native"]
    assert one["value"] == 52 and one["low"] is one["high"] is None
    assert cells["tsp", "11 cities, native, locks a city: 1", "mutex"][
        "low"] == 59
    assert cells["ring", "5 threads, 1 VP", "signals"]["value"] == 2000
    assert cells["power", "a word every 15 us, 2 VPs, cpu", "adaptive"][
        "value"] == 0.8
    assert cells["ptl-n", "slow-read-miss, 8 KiB, elapsed", "plain"][
        "value"] == 10
    assert cells["ptl-n", "slow-read-miss, 8 KiB, usable", "native"][
        "value"] == pytest.approx(95)


def test_missing_cells_say_why():
    cells = by_key(all_records())
    assert cells["locks", "bakery, 8 threads", "lock"]["why"] == \
        "no more than <2> threads"
    assert cells["nptl", "join, 1 CPU", "LinuxThreads"]["why"] == "status 1"
    assert cells["nptl", "witness, mutex call", "NPTL"]["value"] == 10
    assert cells["nptl", "witness, mutex call", "dietlibc"]["why"] == \
        "does not build: no <header>"
    assert cells["nptl", "witness, mutex call, calls", "NPTL"]["value"] == 0
    assert cells["tsp", "11 cities, native, locks a city: 1", "plain"][
        "why"] == "right on one CPU only"
    assert cells["ring", "1000 threads, 1 VP", "polling"]["why"] == \
        "over 10 s a round"
    assert cells["ptl-n", "slow-read-miss, 8 KiB, elapsed", "weft uring"][
        "why"] == "no io_uring"
    assert cells["ring", "5 threads, 1 VP", "agent + signal"]["why"] == \
        "the agent needs a CPU of its own"
    assert cells["decode", "slow, 64 KiB, decoding takes 1 of reading, "
                 "elapsed", "weft uring"]["why"] == "its samples differ"
    assert cells["priorities", "slow, large reads", "native"]["why"] == \
        "status 1"
    assert "cargo" in cells["peers", "ring of 5, 1 CPU", "may"]["why"]
    assert cells["peers", "ring of 5, all CPUs", "Go"]["why"] == "status 2"
    assert cells["power", "a word every 15 us, 2 VPs, latency", "2"]["why"] \
        == "status 1"
    assert "Go compiler" in cells["ring", "3 threads, 2 VPs", "Go channels"][
        "why"]
    rows = {"local-read-hit": papers_results.PTL_N["rows"]["local-read-hit"]}
    cells = by_key(records.of("ptl-n", {"rows": rows})[0])
    assert "libfuse3" in cells["ptl-n", "slow file system", "all sides"]["why"]


def without(data):
    """`data` with each of its keys left out, and each value made another."""
    if isinstance(data, dict):
        for key in data:
            yield {k: v for k, v in data.items() if k != key}
            yield {**data, key: None}
            for less in without(data[key]):
                yield {**data, key: less}


@pytest.mark.parametrize("name", papers_results.ALL)
def test_no_key_is_taken_for_granted(name, monkeypatch):
    # There are thousands of pages, and a plot does not know a value's source.
    monkeypatch.setattr(plots, "svg", lambda *_: "")
    for data in without(papers_results.ALL[name]):
        found, why = records.of(name, data)
        assert found or why
        text = page.build({"records": found, "missing": {name: why} if why
                           else {}})
        assert "</html>" in text


def test_strange_results():
    for data in ({}, {"rows": []}, {"rows": {"a": 3}}, {"rows": 7}):
        for name in papers_results.ALL:
            assert records.of(name, data)[1]
    assert records.of("new", {"rows": {}}) == \
        ([], "this report knows no such experiment yet")


# --- cells --------------------------------------------------------------------

def test_ratio_that_may_be_1():
    cells = Cells(all_records(), "nptl")
    ratio = cells.ratio(("mutex call, 1 CPU", "NPTL"),
                        ("mutex call, 1 CPU", "LinuxThreads"))
    assert ratio.may_be_1 and ratio.text().startswith("~")
    ratio = cells.ratio(("create, 1 CPU", "NPTL"), ("create, 1 CPU", "weft"))
    assert not ratio.may_be_1 and ratio.text() == "11.0"
    assert cells.ratio(("create, 1 CPU", "NPTL"), ("fly", "NPTL")) is None
    # There are only medians here.
    cells = Cells(all_records(), "tsp")
    assert cells.ratio(("11 cities", "native"),
                       ("11 cities", "weft, all VPs")).may_be_1


def test_cells_as_text():
    cells = Cells(all_records(), "locks")
    assert cells.get("Peterson, 2 threads", "lock fences").text() == "1"
    assert cells.get("libc mutex", "lock").text() == "10.0"
    assert cells.get("bakery, 8 threads", "lock").text() == "-"
    assert cells.get("fly", "lock").why == "not measured"


def test_warnings():
    state = {"ring": {"load": 3.0, "others": 0.3}, "tsp": {"load": 0.1}}
    found = about.warnings(
        [{"experiment": "locks", "value": 10, "low": 5, "high": 20}], state, 2)
    assert len(found) == 3
    assert "load average 3.0 on 2 CPUs" in found[0]
    assert "30%" in found[1] and found[2].startswith("locks: the samples")
    assert 0 <= about.Others().share() <= 1


# --- the page -----------------------------------------------------------------

class Parser(html.parser.HTMLParser):
    """Fails for tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.words = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def parsed(text):
    parser = Parser()
    parser.feed(text)
    parser.close()
    assert not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    return parser


def result(**more):
    return {"suite": "papers", "records": all_records(), "missing": {},
            "about": {"cpu": "a <CPU>", "is_quick": True}, **more}


def test_page():
    text = page.build(result(warnings=["locks: the machine was busy"]))
    parser = parsed(text)
    assert "script" not in parser.tags and "img" not in parser.tags
    assert set(papers_results.ALL) <= set(parser.ids)
    words = "".join(parser.words)
    for wanted in ("a <CPU>", "no more than <2> threads", "quick run",
                   "the machine was busy", "To lock, kernel semaphore over "
                   "plain variable: 80.0 times; the paper: 1.61.",
                   "11 cities, all virtual processors over one: 0.505 times; "
                   "the paper: 0.600.",
                   "5 threads with 1 VP, signals over weft's words: 20.0 times",
                   "a word every 15 us, 4 VPs: without agents the latency is "
                   "30.0 times that of one agent, which uses 3.00 times",
                   "Slow file system, io-nice -5 over io-nice 0: small read "
                   "0.750, small",
                   "95 to 95 % of the time that can be hidden",
                   "With 1 CPU native threads take 30 to 100 times as long",
                   "faster than the best peer in 1 rows, slower in 1, and may "
                   "be equal in 0. The best peer is tokio in 1, Go in 1.",
                   "3 threads on 2 CPUs, signals over polling: 1/400 times; "
                   "the paper: 1/2557.",
                   "model favoured over plain I/O: ~1.10 times",
                   "native: 95 to 95 %; the paper: about 90 %",
                   "1.00 system calls for an operation",
                   "System calls of switch by mutex: NPTL futex 1.20; "
                   "LinuxThreads kill 1.00, rt_sigsuspend 1.00; weft none."):
        assert wanted in words, wanted
    assert parser.tags.count("svg") >= 8


def test_page_of_nothing():
    text = page.build({"missing": {"ring": "status 1", "new": "unknown"}})
    words = "".join(parsed(text).words)
    assert "No result: status 1." in words and "No result: unknown." in words
    assert words.count("No result: it has not been run.") == \
        len(papers_results.ALL) - 1


# --- what the command does ----------------------------------------------------

def command(*args):
    return subprocess.run(
        [sys.executable, str(ROOT / "bench/run.py"), "papers",
         *map(str, args)], capture_output=True, text=True, timeout=60)


def test_help():
    done = subprocess.run([ROOT / "dev", "bench", "papers", "--help"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for option in ("--quick", "--resume", "--fresh", "--only", "--save",
                   "--compare", "--render"):
        assert option in done.stdout


def test_results_that_are_there_are_kept(tmp_path):
    """All of them: nothing runs, and the page is built."""
    for one in experiments.KNOWN:
        runner.result_path(tmp_path, one.name).write_text(
            json.dumps(papers_results.ALL[one.name]))
        runner.state_path(tmp_path, one.name).write_text(json.dumps(
            {"options": list(one.quick), "library": "", "status": 0}))
    done = command("--quick", "--folder", tmp_path, "--build", tmp_path,
                   "--only", *papers_results.ALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": kept, made before") == len(experiments.KNOWN)
    stored = json.loads((tmp_path / "papers.json").read_text())
    assert stored["records"] == [
        r for one in experiments.KNOWN
        for r in records.of(one.name, papers_results.ALL[one.name])[0]]
    assert {"cpu", "kernel", "libc", "compiler", "weft", "date"} <= \
        stored["about"].keys()
    parsed((tmp_path / "papers.html").read_text())


def test_render(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(result()))
    done = command("--render", path)
    assert done.returncode == 0, done.stderr
    parsed((tmp_path / "old.html").read_text())
    path.write_text("[]")
    done = command("--render", path)
    assert done.returncode == 1 and "holds no records" in done.stderr


def test_save(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "SAVED", tmp_path / "saved")
    path = tmp_path / "old.json"
    path.write_text(json.dumps(result()))
    assert papers.main(["--render", str(path), "--save"]) == 0
    assert json.loads((tmp_path / "saved/papers.json").read_text()) == result()
    assert (tmp_path / "saved/papers.html").exists()


# A suite that records its runs, and does what the file "how" beside it says.
SUITE = """
import json, pathlib, sys, time
here = pathlib.Path(__file__).parent
out = pathlib.Path(sys.argv[sys.argv.index("--json") + 1])
(here / "runs").open("a").write(here.name + "\\n")
print("a line of", here.name)
how = (here / "how").read_text() if (here / "how").exists() else "write"
if how == "sleep":
    time.sleep(60)
while how == "wait" and not (here / "go").exists():
    time.sleep(0.01)
if how != "fail":
    out.write_text(json.dumps({"rows": {}}))
sys.exit(3 if how == "fail" else 0)
"""


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """Two suites. how(name, what) sets what one does; runs() returns which
    ran."""
    for name in ("one", "two"):
        (tmp_path / "papers" / name).mkdir(parents=True)
        (tmp_path / "papers" / name / "run.py").write_text(SUITE)
    monkeypatch.setattr(experiments, "PAPERS", tmp_path / "papers")

    class Suites:
        folder = tmp_path / "results"

        def how(self, name, what):
            (tmp_path / "papers" / name / "how").write_text(what)

        def runs(self):
            found = []
            for path in sorted((tmp_path / "papers").glob("*/runs")):
                found += path.read_text().split()
                path.unlink()
            return found

        def main(self, *args):
            return papers.main([*args, "--folder", str(self.folder),
                                "--build", str(tmp_path)])
    return Suites()


def test_resume(suites, tmp_path, capsys):
    suites.how("two", "fail")
    assert suites.main() == 1
    assert suites.runs() == ["one", "two"]
    out = capsys.readouterr()
    assert "1 of 2: one: about" in out.out and "a line of one" in out.out
    assert "papers: 2 of 2 experiments took 0:0" in out.out
    assert "status 3 and without a result: a line of two" in out.err
    stored = json.loads((suites.folder / "papers.json").read_text())
    assert "status 3" in stored["missing"]["two"]
    suites.how("two", "write")
    assert suites.main("--resume") == 0 and suites.runs() == ["two"]
    assert suites.main() == 0 and suites.runs() == []
    assert suites.main("--fresh", "--only", "one") == 0
    assert suites.runs() == ["one"]
    (tmp_path / "libweft.so").write_text("another library")
    assert suites.main() == 0 and suites.runs() == ["one", "two"]


def test_progress(suites, monkeypatch, capsys):
    """While an experiment runs, the remaining time is shown."""
    estimate = runner.Estimate.seconds

    def seconds(self, running=None, since=0.0):
        if running == "two":
            (experiments.PAPERS / "two/go").touch()
        return estimate(self, running, since)
    monkeypatch.setattr(runner.Estimate, "seconds", seconds)
    monkeypatch.setattr(runner, "TELL_EVERY_S", 0)
    suites.how("two", "wait")
    assert suites.main() == 0
    assert re.search(r"^papers: 2 of 2: two: 0:0\d min so far, about \S+ min "
                     "left$", capsys.readouterr().out, re.M)


def test_interrupted(suites):
    suites.how("two", "sleep")
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        # Like a job in the background of a shell.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os._exit(suites.main())
    ran = experiments.PAPERS / "two/runs"
    while not ran.exists() or not ran.read_text():
        assert time.monotonic() - started < 30
        time.sleep(0.02)
    os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert time.monotonic() - started < 30
    assert suites.runs() == ["one", "two"]
    suites.how("two", "write")
    assert suites.main() == 0 and suites.runs() == ["two"]


def test_the_plan_has_an_end():
    """By the experiments' estimates a quick run takes 8 minutes at most, and a
    full one two hours. Each experiment has an estimate."""
    known = {one.name: one for one in experiments.KNOWN}
    assert [one.name for one in experiments.found()] == list(known)
    for is_quick, limit_s in ((True, experiments.QUICK_LIMIT_S),
                              (False, experiments.FULL_LIMIT_S)):
        # Emulated machines stop at a limit of their own, which is above the
        # estimate.
        options = known["arch"].options(is_quick)
        arch_s = int(options[options.index("--seconds") + 1])
        assert known["arch"].seconds(is_quick) <= arch_s
        assert arch_s + sum(one.seconds(is_quick) for one in known.values()
                            if one.name != "arch") <= limit_s


def test_estimate():
    estimate = runner.Estimate({"a": 10, "b": 100, "c": 30})
    assert estimate.seconds() == 140
    assert estimate.seconds("a", 4) == 136
    estimate.end("a", 20)
    assert estimate.seconds() == 260
    assert estimate.seconds("c", 90) == 206
    estimate.end("b", 1)
    assert estimate.seconds() == 15


# --- comparison ---------------------------------------------------------------

def one_record(row, value, low=None, high=None, unit="ns"):
    return {"experiment": "e", "row": row, "column": "c", "value": value,
            "unit": unit, "low": low, "high": high}


def test_compare(tmp_path):
    old = {"about": {"cpu": "A"}, "records": [
        one_record("apart", 10, 9, 11), one_record("overlap", 10, 9, 14),
        one_record("little", 100), one_record("much", 100),
        one_record("counted", 0.0, unit="calls"), one_record("gone", 1),
        one_record("none", None)]}
    new = {"about": {"cpu": "B"}, "records": [
        one_record("apart", 20, 19, 21), one_record("overlap", 15, 13, 16),
        one_record("little", 109), one_record("much", 50),
        one_record("counted", 0.01, unit="calls"), one_record("none", 3)]}
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, stored in zip(paths, (old, new)):
        path.write_text(json.dumps(stored))
    done = command("--compare", *paths)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "not the same cpu: A, B",
        "e: apart: c: 10.0 -> 20.0 ns (2.00 times, slower)",
        "e: much: c: 100.0 -> 50.0 ns (0.50 times, faster)",
        "e: gone: c: has no value any more",
        "e: none: c: has a value now",
        "2 of 6 cells changed beyond noise"]
    assert "0 of 6 cells" in compare.text(new, new)
