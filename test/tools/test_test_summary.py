# SPDX-License-Identifier: MIT
import json

import pytest
import test_summary


def line(result, stdout="", stderr=""):
    return json.dumps({"name": "x", "result": result, "stdout": stdout,
                       "stderr": stderr})


PYTEST = "..F [100%]\n1 failed, 12 passed, 3 skipped in 4.55s\n"
CMOCKA = ("[==========] 6 test(s) run.\n[  PASSED  ] 5 test(s).\n"
          "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] numbers\n"
          "\n 1 FAILED TEST(S)\n")


@pytest.mark.parametrize("lines, counts", [
    ([line("OK")], (1, 0, 0)),
    ([line("FAIL"), line("TIMEOUT"), line("ERROR")], (0, 3, 0)),
    ([line("SKIP"), line("EXPECTEDFAIL")], (1, 0, 1)),
    ([line("UNEXPECTEDPASS")], (0, 1, 0)),
    ([line("FAIL", PYTEST)], (12, 1, 3)),
    ([line("OK", "105 passed in 4.10s\n")], (105, 0, 0)),
    ([line("OK", "2 passed, 1 warning in 61.10s (0:01:01)\n")], (2, 0, 0)),
    ([line("FAIL", "2 passed, 1 error in 0.10s\n")], (2, 1, 0)),
    ([line("FAIL", "", CMOCKA)], (5, 1, 0)),
    ([line("OK", "[  PASSED  ] 5 test(s).", "[  SKIPPED ] 2 test(s)")],
     (5, 0, 2)),
    # Killed after its cases had passed.
    ([line("TIMEOUT", "[  PASSED  ] 5 test(s).")], (5, 1, 0)),
])
def test_counts(lines, counts):
    total = test_summary.summarize(map(json.loads, lines))
    assert tuple(total[k] for k in test_summary.KEYS) == counts


@pytest.mark.parametrize("lines, status, last", [
    ([line("OK"), line("SKIP")], 0, "1 passed, 0 failed, 1 skipped"),
    ([line("OK"), line("FAIL")], 1, "1 passed, 1 failed, 0 skipped"),
    ([line("SKIP")], 1, "0 passed, 0 failed, 1 skipped"),
    ([], 1, "0 passed, 0 failed, 0 skipped"),
])
def test_output(tmp_path, capsys, lines, status, last):
    log = tmp_path / "testlog.json"
    log.write_text("\n".join(lines) + "\n")
    assert test_summary.main(["", str(log)]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


@pytest.mark.parametrize("output, first, nr_lines", [
    ("ok 1\nFAIL locks --vps 2 seed 7: hang\nmore\n",
     "FAIL locks --vps 2 seed 7: hang", 2),
    ("    assert 1 == 2\nE   assert 1 == 2\n" + PYTEST,
     "E   assert 1 == 2", 3),
    (CMOCKA, "[  FAILED  ] 1 test(s), listed below:", 4),
    # Killed before it printed a result.
    ("".join(f"{i}\n" for i in range(40)), "15", 25),
    ("FAIL 1\n" * 40, "FAIL 1", 25),
    ("", "", 0),
])
def test_failed_tests_say_what_failed(tmp_path, capsys, output, first,
                                      nr_lines):
    log = tmp_path / "testlog.json"
    log.write_text("\n".join([line("OK", "FAIL of another"),
                              line("FAIL", output)]) + "\n")
    assert test_summary.main(["", str(log)]) == 1
    name, *shown, _ = capsys.readouterr().out.splitlines()
    assert name == "x: FAIL"
    assert len(shown) == nr_lines
    assert not shown or shown[0] == "    " + first


def test_no_log(tmp_path, capsys):
    assert test_summary.main(["", str(tmp_path / "none")]) == 1
    assert "no test ran" in capsys.readouterr().err
