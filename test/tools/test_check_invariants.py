# SPDX-License-Identifier: MIT
import check_invariants
import pytest

TOP = ("/*\n * An idea.\n *\n"
       " * {}. The lock is held.\n * {}. So is\n *     this.\n */\n")
A = TOP.format("ALPHA-1", "ALPHA-2")


def check(tree, capsys, files):
    root = tree({"src/wait/alpha.c": A, **files})
    status = check_invariants.main(["", str(root)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name, text", [
    ("src/wait/alpha.h", "/* ALPHA-1 */\n"),
    ("src/b.c", "f(); /* relaxed: ALPHA-1, ALPHA-2 */\n"),
    ("src/b.c", "/*\n * ALPHA-2. It is left alone.\n */\n"),
    ("src/b.c", "/* As UTF-8, AVX-512, FNV-1a and ISO-8859-1; C11; N-1. */\n"),
    ("src/b.c", "/* In the L2 cache. */\nenum { A1 = 1 };\n/* A1: one */\n"),
    ("src/b.c", 'f("GAMMA-1 and U5"); /* done */\n'),
    ("src/io/b.c", TOP.format("B-1", "B-2")),
    ("src/io/alpha.c", TOP.format("IO_ALPHA-1", "IO_ALPHA-2")),
    ("src/io/beta/alpha.c", TOP.format("IO_ALPHA-1", "IO_ALPHA-2")),
    ("test/model/b.pml", "/* Models ALPHA-1 of src/wait/alpha.c. */\n"),
    ("test/mutants/b.toml", 'old = "f(); /* ALPHA-1 */"\n'),
    ("docs/b.md", "The lock is held (ALPHA-1 in `alpha.c`), not `U5`.\n"),
    ("tools/b.py", "# ALPHA-2\n"),
])
def test_allowed(tree, capsys, name, text):
    assert check(tree, capsys, {name: text}) == (0, "invariants: clean\n")


@pytest.mark.parametrize("name, text, line, why", [
    ("src/wait/alpha.h", "\n/* ALPHA-3 */\n", 2, "ALPHA-3: there is no such"),
    ("src/b.c", "f(); /* safe: ALPHA-1, ALPHA-12 */\n", 1, "ALPHA-12: there"),
    ("src/b.c", "/*\n * ALPHA-1, and\n * ALPHA-4.\n */\n", 3, "ALPHA-4: there"),
    ("src/b.c", "/*\n * ALPHA-5. As a label.\n */\n", 2, "ALPHA-5: there"),
    ("src/b.c", "/* GAMMA-1 */\n", 1, "GAMMA-1: there is no such"),
    ("test/model/b.pml", "/* ALPHA-3 */\n", 1, "ALPHA-3: there"),
    ("test/mutants/b.toml", '\nold = "f(); /* ALPHA-3 */"\n', 2, "ALPHA-3:"),
    ("docs/b.md", "# B\n\nThe lock\nis held (ALPHA-3).\n", 4, "ALPHA-3:"),
    ("README.md", "| a |\n| --- |\n| ALPHA-3 |\n", 3, "ALPHA-3:"),
    ("tools/b.py", "x = 1  # ALPHA-3\n", 1, "ALPHA-3:"),
    ("src/b.c", "f(); /* U5 */\n", 1, "U5: an invariant's name begins"),
    ("src/b.c", "/* (U5 in wait/ufutex.c) */\n", 1, "U5: "),
    ("src/b.c", "/*\n * U5. As a definition.\n */\n", 2, "U5: "),
    ("docs/b.md", "The lock is held (`alpha.c`, U5).\n", 1, "U5: "),
    ("src/beta.c", TOP.format("BETA-1", "BETA-1"), 5,
     "BETA-1: the name is taken: src/beta.c:4"),
    ("src/yet/alpha.c", TOP.format("YET_ALPHA-1", "ALPHA-2"), 5,
     "ALPHA-2: the name is taken: src/wait/alpha.c:5"),
    ("src/yet/alpha.c", TOP.format("YET_ALPHA-1", "ALPHA-9"), 5,
     "ALPHA-9: src/wait/alpha.c has the names ALPHA-..."),
    ("src/beta.c", TOP.format("BETA-1", "GAMMA-2"), 5,
     "GAMMA-2: there is no such"),
])
def test_found(tree, capsys, name, text, line, why):
    status, out = check(tree, capsys, {name: text})
    assert status == 1 and len(out.splitlines()) == 1
    assert out.startswith(f"{name}:{line}: ") and why in out


def test_definitions_below_the_top_comment(tree, capsys):
    """Only the first comment that numbers invariants defines."""
    status, out = check(tree, capsys, {
        "src/beta.c": TOP.format("BETA-1", "BETA-2") +
        "int x;\n/*\n * BETA-3. Too late.\n */\n"})
    assert status == 1 and "src/beta.c:10: BETA-3: there is no such" in out


def test_the_tree_is_clean(capsys):
    assert check_invariants.main([""]) == 0, capsys.readouterr().out
