#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dependencies point downwards: a file in src/ includes only from folders of
lower rank or from its own. The objects of a build hold to the same order: they
take no symbol from a higher folder. The one exception is the table of
base/upcall.h. Only src/libc/ names what is inside of glibc: members of its
objects, and symbols that it does not offer to programs.

usage: check_layers.py [BUILD_DIR [ROOT]]

Without BUILD_DIR only the includes are read.
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = ("base arch os libc mem trace sched wait sync signal io shared "
           "thread monitor boot ipc see api").split()
RANK = {folder: rank for rank, folder in enumerate(FOLDERS)}
# Folders of folders, in their order. Files that lie beside these come first.
PARTS = {"io": ["file", "backend", "call"]}
# Libraries of their own: a file includes only from its own folder.
APART = {"mpi"}
PUBLIC_USERS = {"api", "boot", "see"}
# Lower folders call it, and api/ fills it.
UPCALLS = "wf_upcall"
OBJECTS = "libweft.so.p"

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# Reserved names that are not glibc's inside.
ORDINARY = re.compile(
    "__(ATOMIC_|atomic_|builtin_|ORDER_|NR_)\\w+|__m\\d+i|__W[A-Z]+|"
    # the compiler's
    "__(ASSEMBLER|BYTE_ORDER|VA_ARGS|asm|attribute|func|has_attribute|int128|"
    "aarch64|riscv|thread|typeof|x86_64)_?_?|__get_cpuid_count|__dso_handle|"
    "__cxa_atexit|"
    # types of headers
    "__(kernel_timespec|user_cap_header_struct|priority_which_t|"
    "rlimit_resource|rusage_who_t|ptrace_request|jmp_buf_tag)|"
    # pthread_cleanup_push and what it expands to
    "__(pthread_unwind_buf_t|cancel_jmp_buf|sigsetjmp_cancel|"
    "pthread_(un)?register_cancel)")
RESERVED = re.compile(r"\b(?:__[A-Za-z]\w*|_(?:dl|rtld|nl|nptl|IO)_\w+)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Meson writes src/io/call/read.c as src_io_call_read.c.o.
OBJECT = re.compile(r"src_([a-z]+)_(([a-z]+)_.*|.*)\.o")


def rank(folder, part):
    parts = PARTS.get(folder, [])
    return RANK[folder], parts.index(part) + 1 if part in parts else 0


def rank_of(path):
    """Returns the rank of a file in src/, named like "io/call/read.c"."""
    folder, _, rest = path.partition("/")
    return rank(folder, rest.partition("/")[0])


def judge(name, included):
    """Returns the fault of the include in the file, or None."""
    folder = name.partition("/")[0]
    target, slash, _ = included.partition("/")
    if folder in APART:
        return None if target in (folder, "weft") else (
            f"{folder} is a library of its own, without {target}")
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
    if rank_of(included) > rank_of(name):
        return f"in {folder}/ the order is " + ", ".join(PARTS[folder])
    return None


def interposed(src):
    """Returns the names of libc that weft exports: libc offers them to
    programs."""
    path = src / "interposed.txt"
    return set(path.read_text().split()) if path.exists() else set()


def inside_glibc(text, offered):
    """Returns [(line number, name)] of the names that only src/libc/ may
    know."""
    text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return [(text.count("\n", 0, match.start()) + 1, match[0])
            for match in RESERVED.finditer(text)
            if match[0] not in offered and not ORDINARY.fullmatch(match[0])]


def check(root):
    src = pathlib.Path(root) / "src"
    offered = interposed(src)
    errors = []
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".c", ".h", ".S"):
            continue
        parts = path.relative_to(src).parts
        folder = parts[0]
        if len(parts) < 2 or folder not in RANK.keys() | APART:
            errors.append(f"{path}: in no known folder of src/")
            continue
        text = path.read_text()
        if folder != "libc":
            errors += [f"{path}:{nr}: {name} is inside of glibc: only "
                       "src/libc/ may name it, see src/libc/fields.h"
                       for nr, name in inside_glibc(text, offered)]
        for nr, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and judge("/".join(parts), match.group(1))
            if complaint:
                errors.append(f"{path}:{nr}: {match.group(1)}: {complaint}")
    return errors


def symbols(objects):
    """Returns ({symbol: the object that defines it}, [(object, needed
    symbol)])."""
    # gcc-nm also reads objects of link-time optimization.
    run = subprocess.run(["gcc-nm", "--format=posix", "-A", *objects],
                         check=True, text=True, capture_output=True)
    defined, needed = {}, []
    for line in run.stdout.splitlines():
        place, name, kind = line.split()[:3]
        place = pathlib.Path(place.removesuffix(":"))
        if kind in "Uvw":
            needed.append((place, name))
        elif kind.isupper():
            defined[name] = place
    return defined, needed


def folder_of(path):
    """Returns (folder, part or another word) of an object file's path, or
    None."""
    match = OBJECT.fullmatch(path.name)
    return match.group(1, 3) if match and match[1] in RANK else None


def check_objects(build):
    objects = sorted((pathlib.Path(build) / OBJECTS).glob("*.o"))
    if not objects:
        return [f"{build}/{OBJECTS}: no objects; build first"]
    errors = [f"{path}: of no known folder of src/" for path in objects
              if folder_of(path) is None]
    if errors:
        return errors
    defined, needed = symbols(objects)
    for path, name in needed:
        if name not in defined or name == UPCALLS:
            continue
        user, owner = folder_of(path), folder_of(defined[name])
        if rank(*owner) > rank(*user):
            errors.append(f"{path.name}: {name} is in {defined[name].name}, "
                          "which is above it; see src/base/upcall.h")
    return errors


def main(argv):
    root = argv[2] if len(argv) > 2 else pathlib.Path(__file__).parents[1]
    errors = check(root)
    if len(argv) > 1:
        errors += check_objects(argv[1])
    print("\n".join(errors) if errors else "layers: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
