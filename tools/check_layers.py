#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dependencies point downwards: a file in src/ includes only from folders of
lower rank or from its own.

usage: check_layers.py [ROOT]
"""

import pathlib
import re
import sys

FOLDERS = ("base arch os libc mem trace sched wait sync signal io thread "
           "boot ipc see api").split()
RANK = {folder: rank for rank, folder in enumerate(FOLDERS)}
PUBLIC_USERS = {"api", "boot", "see"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def judge(folder, included):
    """The fault of the include, or None."""
    target, slash, _ = included.partition("/")
    if target == "weft":
        if folder in PUBLIC_USERS:
            return None
        return "the public header is for " + ", ".join(sorted(PUBLIC_USERS))
    if not slash:
        return "write it as \"folder/file.h\", from src/"
    if target not in RANK:
        return f"there is no folder '{target}'"
    if RANK[target] > RANK[folder]:
        return (f"{folder} (rank {RANK[folder]}) may not include from "
                f"{target} (rank {RANK[target]})")
    return None


def check(root):
    src = pathlib.Path(root) / "src"
    errors = []
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".c", ".h", ".S"):
            continue
        parts = path.relative_to(src).parts
        folder = parts[0]
        if len(parts) < 2 or folder not in RANK:
            errors.append(f"{path}: in no known folder of src/")
            continue
        for nr, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and judge(folder, match.group(1))
            if complaint:
                errors.append(f"{path}:{nr}: {match.group(1)}: {complaint}")
    return errors


def main(argv):
    root = argv[1] if len(argv) > 1 else pathlib.Path(__file__).parents[1]
    errors = check(root)
    print("\n".join(errors) if errors else "layers: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
