# SPDX-License-Identifier: MIT
"""Kinds of programs that are run natively and on weft. Each has a name,
run(prefix), and missing(), which returns None or why it cannot run. The tests
compare the output of run()."""

import dataclasses
import functools
import hashlib
import pathlib
import random
import re
import shutil
import tempfile

import runner

LIMIT_S = 120
DATA_MIB = 64
DATA_SEED = 20


def absent(command):
    """Why a command cannot be run, or None. A word that is an absolute path
    has to be a file."""
    if not shutil.which(command[0]):
        return f"there is no {command[0]}"
    for word in command:
        if str(word).startswith("/") and not pathlib.Path(word).exists():
            return f"there is no {word}"
    return None


@dataclasses.dataclass
class Program:
    """One command. Its output is compared, or the matches of the regular
    expression `shows` in its output and messages."""
    name: str
    command: list
    shows: str = ""
    limit_s: float = LIMIT_S

    def missing(self):
        return absent(self.command)

    def run(self, prefix):
        result = runner.run(prefix + self.command, self.limit_s)
        if self.shows:
            text = (result.stdout + result.stderr).decode(errors="replace")
            found = [match[0] for match in re.finditer(self.shows, text, re.M)]
            result.stdout = "".join(f"{line}\n" for line in found).encode()
        return result


@dataclasses.dataclass
class Script:
    """A shell script in a folder of its own; all its tools run on weft."""
    name: str
    tools: list
    script: str

    def missing(self):
        return next(filter(None, (absent([tool]) for tool in self.tools)),
                    None)

    def run(self, prefix):
        with tempfile.TemporaryDirectory(prefix="weft-script-") as folder:
            return runner.run(prefix + ["sh", "-euc", self.script], LIMIT_S,
                              cwd=folder)


@dataclasses.dataclass
class Crowd:
    """A program that prints the same for any number of threads; on weft it
    gets more than there can be natively."""
    name: str
    program: pathlib.Path
    native_threads: int = 2000
    weft_threads: int = 100000
    limit_s: float = LIMIT_S

    def missing(self):
        return absent([self.program])

    def run(self, prefix):
        threads = self.weft_threads if prefix else self.native_threads
        return runner.run(prefix + [self.program, str(threads)], self.limit_s)


@functools.cache
def data_file(mib):
    """A file of text and noise, the same for every run."""
    folder = tempfile.TemporaryDirectory(prefix="weft-data-")
    path = pathlib.Path(folder.name) / "data"
    source = random.Random(DATA_SEED)
    words = [source.randbytes(source.randrange(2, 12)) for _ in range(5000)]
    pages = [b" ".join(source.choices(words, k=2000)) for _ in range(64)]
    with open(path, "wb") as data:
        for _ in range(mib):
            noise = source.randbytes(1 << 16)
            text = b"".join(source.choices(pages, k=90))
            data.write((noise + text)[:1 << 20].ljust(1 << 20, b"."))
    # The folder is removed with this object, which the cache keeps.
    return folder, path


@dataclasses.dataclass
class RoundTrip:
    """Compresses and expands a file. The compressed bytes, which do not depend
    on the threads, are compared, and the data has to come back."""
    name: str
    compress: list
    expand: list
    mib: int = DATA_MIB
    limit_s: float = LIMIT_S

    def missing(self):
        return absent(self.compress[:1])

    def run(self, prefix):
        folder, original = data_file(self.mib)
        packed = runner.run(prefix + self.compress + [original],
                            self.limit_s)
        if packed.outcome() != "ok":
            return packed
        path = pathlib.Path(folder.name) / f"packed.{self.name}"
        path.write_bytes(packed.stdout)
        expanded = runner.run(prefix + self.expand + [path], self.limit_s)
        came_back = expanded.stdout == original.read_bytes()
        expanded.stdout = (f"{hashlib.sha256(packed.stdout).hexdigest()} "
                           f"came back: {came_back}\n").encode()
        expanded.seconds += packed.seconds
        return expanded
