# SPDX-License-Identifier: MIT
import platform
import shutil

import check_headers
import pytest

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]

GOOD = """#ifndef A_H
#define A_H
#include <stddef.h>
#include "base/b.h"
static inline size_t f(void) { return sizeof(struct b); }
#endif
"""


def test_allowed(tree):
    root = tree({"src/sched/a.h": GOOD,
                 "src/base/b.h": "#pragma once\nstruct b { int x; };\n",
                 "include/weft/weft.h": "int weft_is_active(void);\n"})
    assert check_headers.check(root, COMPILERS) == []


@pytest.mark.parametrize("content, why", [
    ("size_t f(void);\n", "size_t"),
    ("struct a { int x; };\n", "redefinition of"),
    ('#include "base/none.h"\n', "none.h"),
    ("#include <assert.h>\nint f(void) { int x; }\n", "x"),
])
def test_not_alone(tree, content, why):
    errors = check_headers.check(tree({"src/sched/a.h": content}), COMPILERS)
    assert len(errors) == len(COMPILERS)
    for error in errors:
        assert "sched/a.h alone" in error and why in error


@pytest.mark.parametrize("content, why", [
    ("enum a { A, };\n", "-std=c++98"),
    ("#include <time.h>\nvoid f(const struct timespec *t);\n", "-std=c99"),
])
def test_old_languages(tree, content, why):
    header = f"#ifndef A_H\n#define A_H\n{content}#endif\n"
    root = tree({"src/base/a.h": header})
    assert check_headers.check(root, COMPILERS) == []
    root = tree({"include/weft/a.h": header})
    errors = check_headers.check(root, COMPILERS)
    assert len(errors) == len(COMPILERS)
    for error in errors:
        assert "weft/a.h alone" in error and why in error


def test_other_architectures_are_not_for_this_compiler(tree):
    root = tree({"src/arch/vax/cpu.h": "#error vax\n"})
    assert check_headers.check(root, COMPILERS) == []
    root = tree({f"src/arch/{platform.machine()}/cpu.h": "#error here\n"})
    assert len(check_headers.check(root, COMPILERS)) == len(COMPILERS)


def test_missing_compiler(tree):
    errors = check_headers.check(tree({}), ["no-such-compiler"])
    assert errors == ["no-such-compiler is not installed"]
