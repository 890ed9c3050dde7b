# SPDX-License-Identifier: MIT
"""Emulated machines for the tests of the papers' programs."""

import contextlib
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT))

from bench.papers.arch import emulator, machines, prepare  # noqa: E402
from tools.debian_packages import Skipped  # noqa: E402


@contextlib.contextmanager
def started(name, wanted, counts=False):
    """The machine of that name with these programs. Skips where the packages
    for it are not below the build folder."""
    place = prepare.Place(BUILD / "arch")
    machine = machines.named(name)
    if not place.has(machine):
        pytest.skip("the packages are not there: ./dev bench papers/arch "
                    f"--machines {name} --systems")
    try:
        ready = place.ready(machine)
        image = place.image(ready, wanted, name="tests.cpio")
    except Skipped as why:
        pytest.skip(str(why))
    with emulator.Emulator(ready, image, ready.built, counts) as found:
        yield found
    image.unlink()
