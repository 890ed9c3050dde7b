"""--bound: threads with kernel threads of their own. That they behave as all
others is test/posix's business, which runs with --bound, too."""

import shutil

import pytest

from conftest import PROGRAM, WEFT, run, statistics

OWN = "threads made with a carrier of their own"


def bound(pattern, *command):
    result = run([*WEFT, "--stats", "--bound", pattern, *command])
    rows = statistics(result)
    return rows[OWN], rows["threads made"], result


@pytest.mark.parametrize("pattern, nr", [
    ("manners_program", 8),
    ("manners", 8),
    ("libc.so", 0),
    (f"{PROGRAM.parent}/", 8),
    ("/manners_", 8),
    # Folders count only if the pattern has a slash.
    (PROGRAM.parent.parent.name + "/", 8),
    ("/usr/", 0),
])
def test_pattern(pattern, nr):
    own, made, result = bound(pattern, PROGRAM, "work")
    assert (result.returncode, result.stdout) == (0, "total 16000\n")
    assert (own, made) == (nr, 8)


def test_folders_do_not_count(tmp_path):
    program = tmp_path / "other"
    shutil.copy(PROGRAM, program)
    assert bound(tmp_path.name, program, "work")[:2] == (0, 8)
    assert bound(tmp_path.name + "/", program, "work")[:2] == (8, 8)


def test_object_of_a_library():
    """Python's start routine lies in the program or in libpython."""
    script = ("import threading\n"
              "t = [threading.Thread(target=int) for i in range(5)]\n"
              "[x.start() for x in t]; [x.join() for x in t]\n")
    own, made, _ = bound("python3", "/usr/bin/python3", "-c", script)
    assert (own, made) == (5, 5)


def test_end_of_a_process_with_bound_threads():
    for how in ("exit", "_exit", "quick_exit", "last"):
        own, made, result = bound("manners", PROGRAM, "end", how)
        assert result.returncode == (0 if how == "last" else 3)
        assert own == made == 9
