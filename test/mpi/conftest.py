# SPDX-License-Identifier: MIT
"""MPI programs with two ranks, on weft and natively, with each MPI library that
is installed. They are compiled here and not by Meson: the build of weft needs
no MPI."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
WEFT = BUILD / "weft"
PLACE = BUILD / "test/mpi"
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH",
            "MALLOC_PERTURB_")
# A machine with a load of 50 takes a minute for what else takes two seconds.
PATIENCE_S = 240


class Result:
    def __init__(self, process, output, counters):
        self.status = process.returncode
        self.output = output
        self.counters = counters

    def count(self, name):
        """The sum of all ranks."""
        return sum(rank.get("mpi_" + name, 0) for rank in self.counters)


class Mpi:
    """One of Debian's MPI libraries, with its compilers and its mpiexec."""

    def __init__(self, name, *options):
        self.name = name
        self.options = options

    @property
    def missing(self):
        needed = [f"mpicc.{self.name}", f"mpiexec.{self.name}"]
        return [tool for tool in needed if shutil.which(tool) is None]

    def compile(self, source, name, *options, compiler="mpicc"):
        """Returns the path; compiles only what has changed."""
        target = PLACE / f"{self.name}-{name}"
        newest = max(path.stat().st_mtime for path in HERE.iterdir())
        if target.exists() and target.stat().st_mtime > newest:
            return target
        PLACE.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        subprocess.run([f"{compiler}.{self.name}", "-O1", "-g", "-w",
                        "-pthread", "-o", fresh, source, *options],
                       check=True, cwd=PLACE)
        fresh.rename(target)
        return target

    def program(self, name):
        return self.compile(HERE / f"{name}.c", name)

    def command(self, weft, program, *args):
        on_weft = [WEFT, "run", "--mpi"] if weft else []
        return [*on_weft, program, *args]

    def run(self, program, *args, weft=True, extra=None, stats=None,
            ranks=None):
        """`stats` is a folder: the ranks write their counters there."""
        more = dict(extra or {})
        if stats is not None:
            path = stats / "counters"
            path.unlink(missing_ok=True)
            more |= {"WEFT_STATS": "json", "WEFT_STATS_FILE": str(path)}
        words = ranks or ["-n", "2", *self.command(weft, program, *args)]
        process = subprocess.Popen(
            list(map(str, [f"mpiexec.{self.name}", *self.options, *words])),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment(more),
            start_new_session=True)
        try:
            output, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            output, _ = process.communicate()
            pytest.fail(f"has not ended: {words}\n{output}")
        return Result(process, output,
                      counters_in(path) if stats is not None else [])


def counters_in(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in map(json.loads, lines) if "mpi_parked" in line]


def environment(extra):
    whole = {k: v for k, v in os.environ.items()
             if k not in SCRUBBED and not k.startswith("WEFT_")}
    whole |= {"OMPI_ALLOW_RUN_AS_ROOT": "1",
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return whole | extra


MPIS = [Mpi("mpich"), Mpi("openmpi", "--oversubscribe")]


@pytest.fixture(params=MPIS, ids=[mpi.name for mpi in MPIS])
def mpi(request):
    if request.param.missing:
        pytest.skip(f"not installed: {', '.join(request.param.missing)}")
    return request.param
