# SPDX-License-Identifier: MIT
import check_layers
import pytest


@pytest.mark.parametrize("file, included", [
    ("sched/a.c", "sched/b.h"),
    ("sched/a.c", "base/list.h"),
    ("arch/x86_64/cpu.h", "base/compiler.h"),
    ("arch/x86_64/switch.S", "arch/x86_64/frame.h"),
    ("api/pthread.c", "boot/start.h"),
    ("api/weft.c", "weft/weft.h"),
    ("boot/start.c", "weft/weft.h"),
])
def test_allowed(tree, file, included):
    root = tree({f"src/{file}": f'#include "{included}"\n#include <x/y.h>\n'})
    assert check_layers.check(root) == []


@pytest.mark.parametrize("file, included, why", [
    ("base/a.c", "arch/b.h", "base (rank 0) may not include from arch"),
    ("sched/a.c", "wait/b.h", "sched (rank 6)"),
    ("arch/x86_64/switch.S", "os/b.h", "arch (rank 1)"),
    ("ipc/a.h", "api/b.h", "ipc (rank 13)"),
    ("sched/a.c", "thread.h", "from src/"),
    ("sched/a.c", "cli/cli.h", "no folder 'cli'"),
    ("sync/a.c", "weft/weft.h", "public header"),
])
def test_forbidden(tree, file, included, why):
    root = tree({f"src/{file}": f'\n  # include "{included}"\n'})
    errors = check_layers.check(root)
    assert len(errors) == 1
    assert f"{file}:2: {included}: " in errors[0] and why in errors[0]


@pytest.mark.parametrize("file", ["src/a.c", "src/misc/a.c"])
def test_unknown_folder(tree, file):
    assert "no known folder" in check_layers.check(tree({file: ""}))[0]


def test_status(tree, capsys):
    root = tree({"src/base/a.c": '#include "api/b.h"\n'})
    assert check_layers.main(["", str(root)]) == 1
    assert "api/b.h" in capsys.readouterr().out
