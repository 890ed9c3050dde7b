# SPDX-License-Identifier: MIT
"""Names of kernel threads, as ps -L, top -H and debuggers show them."""

import errno
import pathlib
import re

import pytest

from outside import await_dump, dump

OWN = re.compile(r"weft-(vp\d+|spare|monitor|signals|io\d+|watcher|clock|"
                 r"closer)")


def names_of(pid):
    """Returns {kernel thread id: name} of the process."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            found[int(task.name)] = (task / "comm").read_text().rstrip("\n")
        except OSError:
            continue
    return found


def wait_for(condition, what):
    """A kernel thread names itself after it has started."""
    while not condition():
        assert pathlib.Path(f"/proc/{what}").exists()


@pytest.fixture(params=["1", "2"])
def names(program, request):
    return program("see_names", options=["--vps", request.param])


def has_all_own(pid):
    found = names_of(pid)
    others = [name for tid, name in found.items() if tid != pid]
    return others and all(OWN.fullmatch(name) for name in others) and \
        "weft-monitor" in others and "weft-signals" in others


def test_own_kernel_threads_have_names(names):
    wait_for(lambda: has_all_own(names.pid), names.pid)
    assert names_of(names.pid)[names.pid] == "chief"
    assert names.end() == 0


def test_each_vp_has_its_carrier(program):
    names = program("see_names", options=["--vps", "3"])
    wanted = {f"weft-vp{n}" for n in range(1, 3)}
    wait_for(lambda: wanted <= set(names_of(names.pid).values()), names.pid)
    assert names.end() == 0


def test_a_bound_thread_names_its_kernel_thread(names):
    assert names.ask("bind") == "0"
    wait_for(lambda: "bound-one" in names_of(names.pid).values(), names.pid)
    assert names.ask("rename") == "0"
    found = list(names_of(names.pid).values())
    assert "bound-two" in found and "bound-one" not in found
    assert names_of(names.pid)[names.pid] == "chief"
    assert names.end() == 0


def test_a_thread_that_asks_is_bound(names):
    assert names.ask("ask") == "0"
    row, = [t for t in await_dump(names.pid, lambda threads: any(
        t["name"] == "asked-one" and "carrier" in t for t in threads))
        ["threads"] if t["name"] == "asked-one"]
    assert row["bound"] == "asked"
    carrier = row["carrier"]["tid"]
    assert names_of(names.pid)[carrier] == "asked-one"
    # Both numbers find it.
    for tid in row["tid"], carrier:
        found, = dump(names.pid, f"--tid={tid}")["threads"]
        assert found["name"] == "asked-one"
    assert names.end() == 0


def test_without_weft_none_is_bound(program):
    names = program("see_names", native=True)
    assert names.ask("ask") == str(errno.ENOTSUP)
    assert names.end() == 0


def test_io_workers_have_names(program):
    names = program("see_names", options=["--io", "workers"])
    assert names.ask("sync") == "0"
    wait_for(lambda: any(re.fullmatch(r"weft-io\d+", name) for name in
                         names_of(names.pid).values()), names.pid)
    assert names.end() == 0


@pytest.mark.parametrize("native", [False, True])
def test_children_have_the_name_of_their_maker(program, native):
    names = program("see_names", native=native)
    for how in "fork", "vfork":
        child = int(names.ask(how))
        assert names_of(child)[child] == "forker", how
    assert names.end() == 0


def test_a_child_names_its_own_kernel_threads(names):
    child = int(names.ask("fork"))
    wait_for(lambda: has_all_own(child), child)
    assert names_of(child)[child] == "forker"
    assert names.end() == 0


def test_exec_gives_the_name_of_the_program(names):
    child = int(names.ask("exec"))
    wait_for(lambda: names_of(child).get(child) == "sleep", child)
    assert names.end() == 0
