#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the packages of Debian and checks them.

usage: tools/deb.py [--check]

Writes the .deb files and the .changes file into build/deb/. The script copies
the tree first, so that the build leaves no files in it, and all builds are of
the same files. --check also makes these checks:

  lintian   has to find no error in the .changes file
  again     the packages are built once more, elsewhere, and have to be equal
  chroots   in a fresh bookworm and a fresh trixie they are installed,
            upgraded, used and purged: tools/deb_chroot.py
  container memcached runs on weft in a container: tools/deb_container.py

The script skips a check that this machine cannot make, with a line that gives
the reason.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import deb_chroot
import deb_container
from debian_packages import Skipped

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "deb"
LEFT_OUT = {".git", "__pycache__", ".pytest_cache"}


class Failed(Exception):
    """The packages are wrong."""


def run(*command, **more):
    """Returns the command's output, or raises Failed with the end of the
    output."""
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: status "
                     f"{done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def files(root):
    """Returns the project's files: git's files and new ones, or in a tarball
    all files but the built ones."""
    if (root / ".git").exists():
        names = run("git", "-C", root, "ls-files", "-z", "--cached", "--others",
                    "--exclude-standard").split("\0")
        return [name for name in names
                if name and (root / name).is_file()]
    return [str(path.relative_to(root)) for path in root.rglob("*")
            if path.is_file() and not LEFT_OUT & set(path.parts) and
            not path.relative_to(root).parts[0].startswith("build")]


def copy_tree(root, to):
    for name in files(root):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target)


def snapshot():
    """Makes a copy of the project's files as they are now."""
    shutil.rmtree(PLACE / "source", ignore_errors=True)
    copy_tree(ROOT, PLACE / "source")
    return PLACE / "source"


def build(source, place, name):
    """Builds in the folder place/name; returns the folder of the packages."""
    shutil.rmtree(place, ignore_errors=True)
    tree = place / name
    shutil.copytree(source, tree)
    environment = {key: os.environ[key] for key in ("PATH", "HOME", "TERM")
                   if key in os.environ}
    environment |= {"LC_ALL": "C.UTF-8",
                    # Meson is a script for Debian's Python.
                    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    # The build reads no standard input.
    (place / "log").write_text(run(
        "dpkg-buildpackage", "--build=binary", "--no-sign", cwd=tree,
        env=environment, stdin=subprocess.DEVNULL))
    return place


def packages(place):
    return sorted(place.glob("*.deb"))


def digests(place):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in packages(place)}


def compare(first, second):
    one, other = digests(first), digests(second)
    if not one or set(one) != set(other):
        raise Failed(f"other packages: {sorted(one)}, {sorted(other)}")
    differ = sorted(name for name in one if one[name] != other[name])
    if differ:
        raise Failed(f"built twice, not equal: {', '.join(differ)}; "
                     f"compare {first} and {second} with diffoscope")
    return f"{len(one)} packages, built twice, are equal"


def lint(place):
    if shutil.which("lintian") is None:
        raise Skipped("lintian is not installed")
    changes, = place.glob("*.changes")
    # As root lintian warns about itself. Tags that it has for the machine's
    # packages do not concern weft's.
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit",
         "0", changes], text=True, capture_output=True, check=False)
    print(done.stdout, end="")
    if done.returncode != 0:
        raise Failed(f"lintian: status {done.returncode}\n{done.stderr}")
    return "lintian finds no error"


def publish(place):
    """Puts the packages into build/deb/, without other files."""
    for path in PLACE.glob("weft*"):
        path.unlink()
    for path in PLACE.glob("libweft*"):
        path.unlink()
    for path in place.iterdir():
        if path.is_file() and path.name != "log":
            shutil.copy2(path, PLACE)


def check(source, first):
    """Makes all checks and returns the lines of a summary. Raises Failed at the
    first fault."""
    steps = [("lintian", lambda: lint(first)),
             ("again", lambda: compare(first, build(
                 source, PLACE / "second", "elsewhere")))]
    steps += [(suite, lambda suite=suite: deb_chroot.check(suite, first))
              for suite in deb_chroot.SUITES]
    steps.append(("container", lambda: deb_container.check(first)))
    for name, step in steps:
        try:
            print(f"{name}: {step()}", flush=True)
        except Skipped as reason:
            print(f"{name}: skipped: {reason}", flush=True)


def main(argv):
    if argv[1:] not in ([], ["--check"]):
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    try:
        source = snapshot()
        first = build(source, PLACE / "first", "weft")
        publish(first)
        for path in sorted(PLACE.iterdir()):
            if path.suffix in (".deb", ".changes"):
                print(path.relative_to(ROOT))
        if argv[1:]:
            check(source, first)
    except (Failed, deb_chroot.Failed, deb_container.Failed) as problem:
        print(f"deb: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
