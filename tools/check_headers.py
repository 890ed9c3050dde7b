#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each header compiles alone, and twice in a row, with gcc and with
clang. The public headers have to do so in the oldest C and C++, too, that
programs may be written in.
usage: check_headers.py [ROOT]
"""

import concurrent.futures
import os
import pathlib
import platform
import shutil
import subprocess
import sys

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-Wno-unused-parameter"]
OURS = [["-std=gnu17", "-D_GNU_SOURCE", "-x", "c"]]
PUBLIC = OURS + [["-std=c99", "-pedantic", "-x", "c"],
                 ["-std=c++98", "-pedantic", "-Wno-long-long", "-x", "c++"]]


def headers(root):
    """Yields each header with the languages in which it has to compile. Headers
    of other architectures are left out."""
    for top, languages in (("src", OURS), ("include", PUBLIC)):
        for path in sorted((root / top).rglob("*.h")):
            parts = path.relative_to(root).parts
            if parts[:2] == ("src", "arch") and len(parts) > 3 and \
                    parts[2] != platform.machine():
                continue
            for language in languages:
                yield str(path.relative_to(root / top)), language


def compile_alone(compiler, root, name, language):
    """Returns the compiler's complaint, or an empty string."""
    line = f'#include "{name}"\n'
    run = subprocess.run([compiler, f"-I{root / 'src'}",
                          f"-I{root / 'include'}", *FLAGS, *language, "-"],
                         input=line + line, text=True, capture_output=True)
    return run.stderr if run.returncode != 0 else ""


def check(root, compilers=("gcc", "clang")):
    """Returns the list of complaints."""
    errors = [f"{c} is not installed" for c in compilers
              if not shutil.which(c)]
    if errors:
        return errors
    jobs = [(c, root, *header) for c in compilers for header in headers(root)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_alone(*job), jobs)
        for (compiler, _, name, how), complaint in zip(jobs, results):
            if complaint:
                errors.append(f"{compiler} {how[0]}: {name} alone:\n"
                              f"{complaint}")
    return errors


def main(argv):
    root = argv[1] if len(argv) > 1 else pathlib.Path(__file__).parents[1]
    errors = check(pathlib.Path(root).resolve())
    print("\n".join(errors) if errors else "headers: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
