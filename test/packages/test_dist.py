# SPDX-License-Identifier: MIT
"""A tarball that `meson dist` makes of the last commit is complete: it builds
with and without tests, and a test in it passes."""

import os
import subprocess

import pytest
from conftest import BUILD, ROOT, need, version


def run(*command, folder):
    env = {key: value for key, value in os.environ.items()
           if key not in ("DESTDIR", "CFLAGS", "LDFLAGS")}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=env,
                          text=True, capture_output=True, timeout=600)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    need("meson", "git")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: the tree came in a tarball")
    place = tmp_path_factory.mktemp("dist")
    # In its own build folder, since BUILD may be in use.
    run("meson", "setup", place / "build", "-Dtests=false", folder=ROOT)
    run("meson", "dist", "-C", place / "build", "--no-tests", "--formats",
        "gztar", "--allow-dirty", folder=ROOT)
    archive, = (place / "build/meson-dist").glob("*.tar.gz")
    assert archive.name == f"weft-{version()}.tar.gz"
    run("tar", "-xf", archive, folder=place)
    return place / f"weft-{version()}"


def targets(build):
    return run("ninja", "-C", build, "-t", "targets", "all", folder=build)


def test_without_tests(tree):
    run("meson", "setup", "bare", "-Dtests=false", folder=tree)
    listed = targets(tree / "bare")
    assert "libweft.so.0:" in listed
    for left_out in ("test/posix", "bench/micro", "examples/kv"):
        assert left_out not in listed


def test_with_tests(tree):
    """Builds without optimisation to save time."""
    run("meson", "setup", "full", "-Doptimization=0", folder=tree)
    run("ninja", "-C", "full", "weft", "libweft.so.0",
        "test/unit/unit_sched_runq", "test/posix/posix_create_join",
        folder=tree)
    assert run("full/weft", "version", folder=tree) == f"weft {version()}\n"
    run("full/test/unit/unit_sched_runq", folder=tree)
    run("python3", "test/posix/run.py", "--mode", "weft",
        "full/test/posix/posix_create_join", folder=tree)


def test_this_build_has_its_tests():
    assert "test/posix/" in targets(BUILD)
