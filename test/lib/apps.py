"""The real programs that are run natively and on weft: what to run, and what
they must print."""

import dataclasses
import functools
import hashlib
import pathlib
import random
import shutil
import tempfile

import runner

LIMIT_S = 120
PYTHON = "/usr/bin/python3"
APPS = runner.ROOT / "test/apps"
DATA_MIB = 64
DATA_SEED = 20


@dataclasses.dataclass
class Program:
    """One command; its output is compared."""
    name: str
    command: list
    limit_s: float = LIMIT_S

    def missing(self):
        """Why it cannot be run, or None."""
        absent = [part for part in self.command
                  if str(part).startswith("/") and
                  not pathlib.Path(part).exists()]
        return f"there is no {absent[0]}" if absent else None

    def run(self, prefix):
        return runner.run(prefix + self.command, self.limit_s)


@functools.cache
def data_file():
    """A file of text and noise, the same for every run."""
    folder = tempfile.TemporaryDirectory(prefix="weft-data-")
    path = pathlib.Path(folder.name) / "data"
    source = random.Random(DATA_SEED)
    words = [source.randbytes(source.randrange(2, 12)) for _ in range(5000)]
    pages = [b" ".join(source.choices(words, k=2000)) for _ in range(64)]
    with open(path, "wb") as data:
        for _ in range(DATA_MIB):
            noise = source.randbytes(1 << 16)
            text = b"".join(source.choices(pages, k=90))
            data.write((noise + text)[:1 << 20].ljust(1 << 20, b"."))
    # The folder goes away with the object that is kept in the cache.
    return folder, path


@dataclasses.dataclass
class RoundTrip:
    """Compresses and expands 64 MiB; what is compared are the compressed
    bytes, which do not depend on the threads, and that the data came back."""
    name: str
    compress: list
    expand: list
    limit_s: float = LIMIT_S

    def missing(self):
        tool = self.compress[0]
        return None if shutil.which(tool) else f"there is no {tool}"

    def run(self, prefix):
        folder, original = data_file()
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


def all_apps(build):
    built = build / "test/apps"
    return [
        Program("threads2000", [PYTHON, APPS / "threads2000.py"]),
        Program("cpp_threads", [built / "app_cpp_threads"]),
        Program("rust_threads", [built / "app_rust_threads"]),
        RoundTrip("pigz", ["pigz", "-1", "-p", "8", "-n", "-c"],
                  ["pigz", "-d", "-p", "8", "-c"]),
        RoundTrip("xz", ["xz", "-0", "-T", "8", "-c"],
                  ["xz", "-d", "-T", "8", "-c"]),
        RoundTrip("zstd", ["zstd", "-q", "-3", "-T8", "-c"],
                  ["zstd", "-q", "-d", "-c"]),
        Program("mp", [PYTHON, APPS / "mp.py"]),
        Program("openmp", [built / "app_openmp"]),
        Program("storm", [built / "app_storm"]),
        Program("churn", [built / "app_churn"]),
    ]


def difference(native, result):
    """What is wrong with a result, or None."""
    if native.outcome() != "ok":
        return f"native: {native.outcome()}"
    if result.outcome() != "ok":
        return f"{result.outcome()} after {result.seconds:.1f} s"
    if result.stdout != native.stdout:
        return "other output than natively"
    if b"came back: False" in result.stdout:
        return "the data did not come back"
    return None
