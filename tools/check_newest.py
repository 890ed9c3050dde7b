#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks src/ and cli/ with the newest gcc and clang of Debian testing.

usage: tools/check_newest.py BUILD

Unpacks the compilers and the headers that they need into BUILD/testing, and
installs nothing. There it compiles each file with the flags that BUILD has for
it and -Werror. It compiles with optimisation, since many warnings come from it,
and writes no object. It keeps the packages: the next run downloads only newer
ones.

The mirror is the one that apt has for Debian. If there is none, or it cannot
be reached, or the caller is not root, the check is skipped and prints one line
that says so.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from debian_packages import Packages, Skipped, output, unpack

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUITE = "testing"
PACKAGES = ["libc6-dev", "linux-libc-dev", "libdw-dev", "libzstd-dev",
            "binutils"]
FOLDERS = ("src", "cli", "include")
# Options of a compile command that both compilers get.
KEPT = re.compile(r"-(D|I|O|U|W(?!l,)|std=|f(?!lto|diagnostics)|m)")
# Options that only gcc knows.
GCC_ONLY = ("-mmemset-strategy",)


# --- compiling ----------------------------------------------------------------

def flags_of(command, is_gcc):
    """Returns the flags of a command of the build, with this tree's folders in
    place of the build's."""
    words = [word for word in shlex.split(command) if KEPT.match(word)]
    words = [word for word in words
             if not word.startswith("-I") and
             (is_gcc or not word.startswith(GCC_ONLY))]
    folders = ["-Isrc", "-Iinclude"]
    unknown = [] if is_gcc else ["-Wno-unknown-warning-option",
                                  "-Wno-gcc-install-dir-libstdcxx"]
    return [*words, *folders, "-Werror", *unknown]


def sources(build):
    """Returns {file from the root: command}, one for each file of src/ and
    cli/."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT):
            continue
        name = path.relative_to(ROOT)
        if name.parts[0] in ("src", "cli") and name.suffix == ".c":
            found.setdefault(str(name), entry["command"])
    return found


def check(tree, compiler, name, command):
    """Compiles one file and returns the compiler's output."""
    words = ["chroot", str(tree), "env", "-C", "/weft", "PATH=/usr/bin",
             compiler, *flags_of(command, compiler.startswith("gcc")), "-S",
             "-o", "/dev/null", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stderr.strip() or f"{name}: {compiler} failed"


def check_all(tree, compiler, files):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda item: check(tree, compiler, *item),
                        files.items())
        complaints = [text for text in said if text]
    version = output(["chroot", tree, compiler, "--version"]).splitlines()[0]
    print(f"{version}: {len(files)} files, {len(complaints)} with warnings")
    for text in complaints:
        print(text)
    return not complaints


def copy_sources(tree):
    target = tree / "weft"
    shutil.rmtree(target, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, target / folder)


def make_device(tree):
    (tree / "dev").mkdir(exist_ok=True)
    if not (tree / "dev/null").exists():
        output(["mknod", "-m", "666", tree / "dev/null", "c", "1", "3"])


def main(argv):
    if len(argv) != 1:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    build = pathlib.Path(argv[0]).resolve()
    folder = build / "testing"
    try:
        if os.geteuid() != 0:
            raise Skipped("only root can use chroot")
        packages = Packages(folder, SUITE)
        packages.apt_get("update")
        compilers = [packages.newest("gcc"), packages.newest("clang")]
        tree = folder / "tree"
        unpack(packages.fetch([*PACKAGES, *compilers, "coreutils"]), tree)
        copy_sources(tree)
        make_device(tree)
    except (Skipped, OSError) as why:
        print(f"skipped: {why}")
        return 0
    files = sources(build)
    results = [check_all(tree, compiler, files) for compiler in compilers]
    return 0 if all(results) and files else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
