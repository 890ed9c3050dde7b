# SPDX-License-Identifier: MIT
"""Results made of samples: medians, ratios, targets, the table."""

from bench.lib import measure, report
from bench.micro.rows import CASES


def row(samples, **more):
    return report.Row("row", "ns", 1, samples, **more)


def test_ratios_are_times_better():
    r = row({"native": [90, 100, 300], "weft": [10, 9, 50], "go": [40]})
    assert r.medians == {"native": 100, "weft": 10, "go": 40}
    assert r.ratios == {"native": 10, "go": 4}


def test_higher_is_better():
    r = row({"native": [2.0], "weft": [1.0]}, higher_is_better=True)
    assert r.ratios == {"native": 0.5}


def test_targets_are_shown_not_asserted():
    r = row({"native": [100], "weft": [10], "go": [20]},
            target=report.Target(native=10, go=3, at_most=9))
    assert r.checks == {">=10x native": True, ">=3x go": False,
                        "<=9 ns": False}
    text = report.line(r, ["native", "weft", "go"])
    assert ">=10x native yes" in text and ">=3x go NO" in text
    assert report.summary([r]) == "1 of 3 targets met"


def test_difference():
    target = report.Target(more_at_most=1)
    assert row({"native": [5], "weft": [6]}, target=target).checks == \
        {"<=native+1 ns": True}
    assert row({"native": [5], "weft": [6.5]}, target=target).checks == \
        {"<=native+1 ns": False}


def test_a_side_that_is_missing():
    r = row({"native": [], "weft": [10]}, target=report.Target(native=2),
            impossible={"native": "too many threads"})
    assert r.checks == {} and r.ratios == {}
    assert "impossible" in report.line(r, ["native", "weft"])


def test_a_side_that_failed():
    r = row({"native": [1], "weft": []}, errors={"weft": "status -11"})
    assert "failed" in report.line(r, ["native", "weft"])
    assert report.summary([r]).endswith("failed: row")


def test_results_of_a_command():
    def of(script, **more):
        return measure.run(["/bin/sh", "-c", script], **more)
    assert of("echo a 1; echo b 2.5e3").figures == {"a": 1, "b": 2500}
    assert of("echo impossible: no threads; exit 77").impossible == \
        "no threads"
    assert of("echo bad >&2; exit 3").error == "status 3 bad"
    assert of("kill -11 $$").error == "status -11"
    assert "unexpected" in of("echo a b").error
    assert "unexpected" in of("true").error
    assert of("sleep 10", limit_s=0.2).error == "no end after 0.2 s"
    assert measure.run(["/nonexistent"]).error


def test_in_turn():
    calls = []

    def side(name, *results):
        queue = iter(results)

        def run():
            calls.append(name)
            return next(queue)
        return run

    def good(figure):
        return measure.Result(figures={"row": figure})

    samples, impossible, errors = measure.in_turn({
        "a": side("a", good(1), good(2), good(3)),
        "b": side("b", good(9), measure.Result(error="status 1")),
        "c": side("c", measure.Result(impossible="why")),
    }, runs=2, discard=1)
    assert samples == {"a": {"row": [2, 3]}, "b": {}, "c": {}}
    assert impossible == {"c": "why"} and errors == {"b": "status 1"}
    assert calls == ["a", "b", "c", "a", "b", "a"]


def test_rows_have_names_of_their_own():
    names = [name for case in CASES for name in case.targets]
    assert len(names) == len(set(names))
