"""The model of LinuxThreads passes its tests on Debian's arm64 kernel, in an
emulated machine. Skipped where the packages for it are not below the build
folder."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT))

from bench.papers.arch import (emulator, machines, prepare,  # noqa: E402
                               programs)
from tools.debian_packages import Skipped  # noqa: E402

# Entering the kernel takes up to 80 times as long there. One emulated CPU: two
# that wake each other take many times as long on a busy machine.
CASE_LIMIT_S = 120


@pytest.fixture(scope="module")
def arm():
    """The machine with the tests, started."""
    place = prepare.Place(BUILD / "arch")
    machine = machines.named("aarch64")
    if not place.has(machine):
        pytest.skip("the packages are not there: ./dev bench papers/arch "
                    "--machines aarch64 --systems")
    try:
        ready = place.ready(machine)
        image = place.image(ready, programs.TESTS, name="tests.cpio")
    except Skipped as why:
        pytest.skip(str(why))
    with emulator.Emulator(ready, image, ready.built) as found:
        yield found
    image.unlink()


@pytest.mark.parametrize("name, self_by", [("linuxthreads", "register"),
                                           ("linuxthreads_ends", "stack")])
def test_linuxthreads(arm, name, self_by):
    assert arm.cpu == "aarch64"
    program = f"/bin/test_{name}"
    preload = {"LD_PRELOAD": f"/lib/{prepare.LIBRARY}",
               "LINUXTHREADS_SELF": self_by}
    cases = arm.run([program, "--list"]).lines
    assert len(cases) >= 5, cases
    failed = {}
    for case in cases:
        answer = arm.run([program, case], preload, limit_s=CASE_LIMIT_S)
        if answer.status != 0 or answer.last != f"ok {case}":
            failed[case] = answer
    assert not failed
