#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Removes the files that `meson install` puts into the prefix of a build, and
the folders below the prefix that are empty then.

usage: tools/uninstall.py BUILD PREFIX
"""

import contextlib
import json
import pathlib
import subprocess
import sys

# The first folders below these prefixes belong to the system, even if they are
# empty.
SYSTEM = {pathlib.Path("/usr"), pathlib.Path("/usr/local")}


def installed(build):
    """Returns the installed paths below the prefix."""
    text = subprocess.run(["meson", "introspect", "--installed", build],
                          check=True, capture_output=True, text=True).stdout
    return [pathlib.Path(path) for path in json.loads(text).values()]


def remove_empty(folder, prefix):
    """Yields the folder and those above it, up to the prefix, which stays."""
    while prefix in folder.parents:
        if folder.parent in SYSTEM:
            return
        folder.rmdir()
        folder = folder.parent


def main(argv):
    if len(argv) != 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    prefix = pathlib.Path(argv[1])
    removed = 0
    for path in installed(argv[0]):
        if path.is_file() or path.is_symlink():
            path.unlink()
            removed += 1
        with contextlib.suppress(OSError):
            remove_empty(path.parent, prefix)
    print(f"{removed} files removed from {prefix}")
    return 0 if removed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
