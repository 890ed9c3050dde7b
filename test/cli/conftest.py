# SPDX-License-Identifier: MIT
"""Helpers that run the command and make programs for it."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
LIBRARY = str((BUILD / "libweft.so").resolve())
FILTER = BUILD / "test/lib/filter"
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH")


@pytest.fixture
def weft():
    """Runs the command: weft("run", "ls", env={...}, cwd=...)."""
    def run(*args, env=None, command=BUILD / "weft", **options):
        whole = {k: v for k, v in os.environ.items()
                 if k not in SCRUBBED and not k.startswith("WEFT_")}
        whole.update(env or {})
        whole = {k: v for k, v in whole.items() if v is not None}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   **options}
        return subprocess.run([str(command), *map(str, args)], env=whole,
                              text=True, timeout=60, **options)
    return run


@pytest.fixture
def compile_c(tmp_path):
    """Compiles a small program: compile_c("-static", source=..., cc=...)."""
    def make(*flags, source="int main(void) { return 0; }", name="program",
             cc="gcc"):
        if not shutil.which(cc):
            pytest.skip(f"{cc} is not installed")
        program = tmp_path / name
        subprocess.run([cc, "-D_GNU_SOURCE", "-x", "c", "-", "-o", program,
                        *flags],
                       input=source, text=True, check=True)
        return program
    return make


@pytest.fixture
def write_file(tmp_path):
    """Writes a file: write_file("name", "text", mode=0o755)."""
    def write(name, content, mode=0o755):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
        path.chmod(mode)
        return path
    return write


def complains(result, status, *words):
    """One line of weft's own on stderr with these words, and the status."""
    assert result.returncode == status, result.stderr
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("weft: "), result.stderr
    for word in words:
        assert word in lines[0]
