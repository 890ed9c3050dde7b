# SPDX-License-Identifier: MIT
"""Control groups for CPU time, which only root can make.

    with control_group("busy") as enter:
        if enter is None:
            ...                      that is not allowed here
        subprocess.run(command, preexec_fn=enter)
"""

import contextlib
import os
import pathlib
import time

# {the file with a group's weight: the largest weight}
WEIGHTS = {"cpu.shares": 262144, "cpu.weight": 10000}


def base():
    folder = pathlib.Path("/sys/fs/cgroup/cpu")
    return folder if folder.is_dir() else pathlib.Path("/sys/fs/cgroup")


@contextlib.contextmanager
def control_group(name, is_favoured=False):
    """Yields a function that moves the calling process into the group, or None
    if that is not allowed. A favoured group has the largest weight, so others
    take hardly any CPU time from it."""
    folder = base() / f"weft-bench-{name}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        files = [file for file in WEIGHTS if (folder / file).exists()]
        for file in files if is_favoured else ():
            (folder / file).write_text(str(WEIGHTS[file]))
        if files:
            yield lambda: (folder / "cgroup.procs").write_text("0")
        else:
            yield None
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)  # the kernel still has ended processes in it


@contextlib.contextmanager
def favoured():
    """Runs the body in a favoured group, with its children. Yields whether
    that is allowed."""
    with control_group("favoured", is_favoured=True) as enter:
        if enter is None:
            yield False
            return
        enter()
        try:
            yield True
        finally:
            (base() / "cgroup.procs").write_text("0")
