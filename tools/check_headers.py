#!/usr/bin/env python3
"""Each header compiles alone, and twice in a row, with gcc and with clang.

usage: check_headers.py [ROOT]
"""

import concurrent.futures
import os
import pathlib
import platform
import shutil
import subprocess
import sys

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
         "-Werror", "-Wno-unused-parameter", "-x", "c", "-"]


def headers(root):
    """How to include each, without those of other architectures."""
    for top in ("src", "include"):
        for path in sorted((root / top).rglob("*.h")):
            parts = path.relative_to(root).parts
            if parts[:2] == ("src", "arch") and len(parts) > 3 and \
                    parts[2] != platform.machine():
                continue
            yield str(path.relative_to(root / top))


def compile_alone(compiler, root, name):
    """The compiler's complaint, or an empty string."""
    line = f'#include "{name}"\n'
    run = subprocess.run([compiler, f"-I{root / 'src'}",
                          f"-I{root / 'include'}", *FLAGS],
                         input=line + line, text=True, capture_output=True)
    return run.stderr if run.returncode != 0 else ""


def check(root, compilers=("gcc", "clang")):
    """Returns the list of complaints."""
    errors = [f"{c} is not installed" for c in compilers
              if not shutil.which(c)]
    if errors:
        return errors
    jobs = [(c, root, name) for c in compilers for name in headers(root)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_alone(*job), jobs)
        for (compiler, _, name), complaint in zip(jobs, results):
            if complaint:
                errors.append(f"{compiler}: {name} alone:\n{complaint}")
    return errors


def main(argv):
    root = argv[1] if len(argv) > 1 else pathlib.Path(__file__).parents[1]
    errors = check(pathlib.Path(root).resolve())
    print("\n".join(errors) if errors else "headers: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
