# SPDX-License-Identifier: MIT
"""On which kernels and C libraries weft runs: a machine is emulated with a
kernel and a glibc of Debian's, and some of the POSIX tests run there natively
and on weft. Cases that fail natively lack something there, such as a shell.

    table = systems.table(place, build, ["trixie"], deadline)
"""

import dataclasses
import shutil
import subprocess
import time

from bench.lib.sides import environment
from bench.papers.arch import (children, cpio, emulator, machines,
                               output)
from tools.debian_packages import Skipped, extract

CPU = "x86-64"
# Where libc6 of older and of newer Debian releases has its files.
LIBC_FILES = ("./lib/x86_64-linux-gnu/*", "./usr/lib/x86_64-linux-gnu/*.so*")
WEFT = ("weft", "libweft.so.0")
TESTS = ("create_join", "mutex", "cond", "sem", "rwlock", "cancel", "signals",
         "io_waits", "fork", "keys")
LIMIT_S = 60
MOST_NAMES = 6
# One emulated CPU would hide races between virtual processors.
CPUS = 2


@dataclasses.dataclass(frozen=True)
class System:
    """Debian's suites of the kernel and of glibc. None: this machine's."""
    name: str
    kernel: str = None
    libc: str = None


# weft refuses the glibc of older suites.
ALL = (
    System("host"),
    System("bullseye", "bullseye", "bookworm"),
    System("bookworm", "bookworm", "bookworm"),
    System("trixie", "trixie", "trixie"),
    System("testing", "testing", "testing"),
)
NAMES = [system.name for system in ALL]


def command(name):
    return f"./dev bench papers/arch --machines --systems {name}"


def weft_files(build):
    """Returns {path in the machine: file} for weft's files."""
    return {f"weft/{name}": build / name for name in WEFT}


def doctor(lines):
    """Returns (kernel, libc) from the output of `weft doctor`."""
    found = {}
    for line in lines:
        name, _, value = line.partition("  ")
        found[name.strip()] = value.strip()
    kernel = found.get("kernel", "").removeprefix("Linux ")
    return kernel.partition(" on ")[0], found.get("C library", "")


class Packed:
    """The files with which such a system starts."""

    def __init__(self, place, build):
        self.place, self.build = place, build
        self.ready = place.ready(machines.named(CPU))

    def libc(self, suite):
        folder = self.place.folder / f"libc-{suite}"
        stamp = folder / "complete"
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            path = self.place.packages(f"packages-{suite}-amd64", suite,
                                       "amd64").fetch_alone("libc6")
            for pattern in LIBC_FILES:
                try:
                    extract(path, folder, pattern)
                except Skipped:
                    continue  # the package has its files at the other place
            path.unlink()
            stamp.touch()
        return {path.name: path for path in folder.rglob("*.so*")
                if path.is_file()}

    def kernel(self, suite):
        machine = dataclasses.replace(self.ready.machine, name=f"{CPU}-{suite}",
                                      suite=suite)
        return self.place.ready(machine)

    def image(self, system, ready):
        # Libraries that libc6 lacks, such as libgcc_s, are this machine's.
        ours = self.place.libraries(self.ready)
        libc = {**{path.name: path for path in ours.values()},
                **self.libc(system.libc)}
        loader = self.ready.machine.loader.lstrip("/")
        files = {"init": self.place.guest(self.ready),
                 loader: libc[loader.rpartition("/")[2]],
                 **{f"lib/{name}": path for name, path in libc.items()}}
        files.update(weft_files(self.build))
        for name in TESTS:
            files[f"bin/posix_{name}"] = \
                self.build / f"test/posix/posix_{name}"
        missing = [name for name, path in files.items() if not path.is_file()]
        if missing:
            raise Skipped(f"not built: {', '.join(missing[:3])}")
        path = ready.built / "systems.cpio"
        path.write_bytes(cpio.archive({name: file.read_bytes()
                                       for name, file in files.items()}))
        return path


class Here:
    """This machine, with the methods of Emulator, for the host's own system."""

    def __init__(self, processes):
        self.processes = processes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, words, limit_s=LIMIT_S):
        try:
            process = self.processes.start(
                list(map(str, words)), text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=environment(), errors="replace")
        except children.Closed as why:
            raise emulator.Ended(str(why)) from None
        with process:
            try:
                text, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                text = None
            status = self.processes.end(process)
        if text is None:
            return output.Answer(output.LATE, ())
        return output.Answer(status, tuple(text.splitlines()))


def passed(machine, *command):
    """The set of cases that pass."""
    answer = machine.run(command, limit_s=LIMIT_S)
    found = {line.removeprefix("ok ") for line in answer.lines
             if line.startswith("ok ")}
    if not found and answer.status != 0:
        raise Skipped(f"{command[0]}: status {answer.status} {answer.last}")
    return found


def run_tests(machine, weft, folder, deadline):
    """({program: number of cases that pass natively}, ["program:case"...] of
    those that fail on weft)"""
    natively, failed = {}, []
    for name in TESTS:
        if time.monotonic() > deadline:
            raise Skipped("the time was too short for it")
        program = f"{folder}/posix_{name}"
        cases = passed(machine, program)
        natively[name] = len(cases)
        failed += [f"{name}:{case}" for case in sorted(
            cases - passed(machine, weft, "run", "--", program))]
    return natively, failed


def tested(start, weft, folder, deadline):
    """start() returns the machine on which the tests run."""
    with start() as machine:
        kernel, libc = doctor(machine.run([weft, "doctor"]).lines)
        natively, failed = run_tests(machine, weft, folder, deadline)
    return {"kernel": kernel, "libc": libc, "natively": natively,
            "failed": failed}


def measured(place, build, system, deadline, pool, processes):
    """The row of one system. Its machine runs in a thread of the pool."""
    if system.kernel is None:
        return pool.submit(tested, lambda: Here(processes), build / "weft",
                           build / "test/posix", deadline).result()
    packed = Packed(place, build)
    ready = packed.kernel(system.kernel)
    image = packed.image(system, ready)

    def start():
        return emulator.Emulator(
            ready, image, ready.built, cpus=CPUS, processes=processes,
            boot_s=max(1, deadline - time.monotonic()))
    return pool.submit(tested, start, "/weft/weft", "/bin", deadline).result()


def table(place, build, names, deadline, pool, processes, say=print):
    """[{system, cpu, kernel, libc, natively, failed, command, why}...]. A row
    with an empty `why` has a value for each of these."""
    found = []
    for system in ALL:
        if system.name not in names:
            continue
        row = {"system": system.name, "cpu": CPU, "kernel": "", "libc": "",
               "natively": {}, "failed": [],
               "command": command(system.name), "why": ""}
        try:
            if time.monotonic() > deadline:
                raise Skipped("no time was left for it")
            row.update(measured(place, build, system, deadline, pool,
                                processes))
        except (Skipped, emulator.Ended, OSError) as why:
            row["why"] = str(why)
        found.append(row)
        whole = sum(row["natively"].values())
        say(f"{system.name}: Linux {row['kernel'] or '?'}, "
            f"{row['libc'] or '?'}: "
            + (row["why"] or f"{whole - len(row['failed'])} of {whole} cases "
               f"pass {' '.join(row['failed'][:MOST_NAMES])}".rstrip()))
    return found
