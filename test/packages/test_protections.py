# SPDX-License-Identifier: MIT
"""The installed files have the protections that docs/guide/packages.md
names."""

import subprocess

import pytest
from conftest import BUILD

LIBRARY = BUILD / "libweft.so.0"
COMMAND = BUILD / "weft"


def readelf(*args):
    return subprocess.run(["readelf", "--wide", *map(str, args)], text=True,
                          capture_output=True, check=True).stdout


def has_segment(path, kind):
    return kind in readelf("--program-headers", path)


def test_soname():
    assert "Library soname: [libweft.so.0]" in readelf("--dynamic", LIBRARY)
    assert (BUILD / "libweft.so").resolve() == LIBRARY.resolve()


def test_library():
    dynamic = readelf("--dynamic", LIBRARY)
    assert "BIND_NOW" in dynamic and " NOW" in dynamic
    assert "TEXTREL" not in dynamic
    assert has_segment(LIBRARY, "GNU_RELRO")


@pytest.mark.parametrize("path", [LIBRARY, COMMAND])
def test_no_stack_is_executable(path):
    line = next(line for line in readelf("--program-headers", path).splitlines()
                if "GNU_STACK" in line)
    assert " RW " in line and "RWE" not in line


@pytest.mark.parametrize("path", [LIBRARY, COMMAND])
def test_no_segment_is_writable_code(path):
    lines = readelf("--program-headers", path).splitlines()
    assert not [line for line in lines if "LOAD" in line and "RWE" in line]


def test_command():
    header = readelf("--file-header", COMMAND)
    if "EXEC" not in header:
        pytest.skip("with a sanitizer the command is a dynamic program")
    assert has_segment(COMMAND, "GNU_RELRO")
    assert not has_segment(COMMAND, "INTERP")


def test_canaries_of_the_command():
    """The command's own functions have canaries, too, not only libc's."""
    checked = subprocess.run(
        ["nm", "-u", BUILD / "weft.p/cli_unit_file.c.o"], text=True,
        capture_output=True, check=True).stdout
    assert "__stack_chk_fail" in checked
