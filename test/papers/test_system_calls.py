# SPDX-License-Identifier: MIT
"""Checks the paper's explanations for NPTL and LinuxThreads by the system
calls of one operation: which library enters the kernel, and for what. Runs
natively on x86-64, on one CPU, with a counting tracer."""

import platform

import pytest

from conftest import BUILD
from bench.lib import measure, sides
from bench.papers.arch import rows as arch
from bench.papers.nptl import counting, rows, run as nptl

NPTL, LT, WEFT = nptl.SIDES
SWITCHES = ("switch by mutex", "switch by semaphore", "switch by condition")
CREATE_JOIN = "create and join"
# How a LinuxThreads thread is restarted: another thread sends it a signal, the
# handler returns, and the thread waits for the next signal.
RESTART = {"kill", "rt_sigreturn", "rt_sigsuspend"}

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="the model is for x86-64 only")
ROWS = {row.name: row for row in (*rows.ROWS, *rows.COUNTED)}


@pytest.fixture(scope="module")
def programs():
    return nptl.Programs(nptl.parse(["--build", str(BUILD), "--scale", "1"]))


@pytest.fixture
def kinds(programs):
    """kinds(row, side): {system call: number of an operation}"""
    def count(name, side):
        result = programs.calls(ROWS[name], side)
        if "ptrace" in result.impossible:
            pytest.skip(result.impossible)
        assert result.figures, (name, side, result)
        found = nptl.kinds(result.figures)
        # All counted calls have a kind.
        assert abs(sum(found.values()) - result.figures["calls"]) < \
            len(rows.CALLS) * nptl.LEAST_CALLS
        return found
    return count


@pytest.mark.parametrize("side", nptl.SIDES)
@pytest.mark.parametrize("name", [rows.SELF, "mutex call", rows.SEM])
def test_calls_without_contention_stay_out_of_the_kernel(kinds, name, side):
    """Today's NPTL semaphore enters the kernel only under contention, too."""
    assert kinds(name, side) == {}


def test_a_semaphore_that_always_wakes_enters_the_kernel(kinds):
    """NPTL's semaphore of that time always woke. So the paper found it slower
    than LinuxThreads'."""
    found = kinds(rows.WAKING_SEM, NPTL)
    assert set(found) == {"futex"}
    assert found["futex"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_of_nptl_is_made_by_futexes(kinds, name):
    found = kinds(name, NPTL)
    assert set(found) == {"futex"}
    assert 0.5 <= found["futex"] <= 3


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_of_linuxthreads_is_made_by_restart_signals(kinds, name):
    found = kinds(name, LT)
    assert RESTART <= set(found) and "futex" not in found
    for call in RESTART:
        assert 0.5 <= found[call] <= 3, found
    # Every signal interrupts one wait.
    assert found["kill"] == pytest.approx(found["rt_sigsuspend"], abs=0.1)
    assert sum(found.values()) > sum(kinds(name, NPTL).values()) + 1


@pytest.mark.parametrize("name", [*SWITCHES, CREATE_JOIN])
def test_nothing_of_wefts_enters_the_kernel(kinds, name):
    assert kinds(name, WEFT) == {}


def test_nptl_creates_a_thread_by_one_call_and_joins_it_by_a_futex(kinds):
    found = kinds(CREATE_JOIN, NPTL)
    assert found.get("clone3", 0) + found.get("clone", 0) == \
        pytest.approx(1, abs=0.05)
    assert not set(found) & {"read", "write", "kill", "wait4"}
    assert found["futex"] <= 1.1


def test_linuxthreads_asks_a_manager_through_a_pipe(kinds):
    """The manager creates the thread, and reaps it like any process."""
    found = kinds(CREATE_JOIN, LT)
    assert found["clone"] == pytest.approx(1, abs=0.05)
    for call in ("write", "read", "wait4"):
        assert found[call] >= 0.9, found
    # Both the joining and the creating thread are restarted.
    assert RESTART <= set(found)
    assert sum(found.values()) > 1.5 * sum(kinds(CREATE_JOIN, NPTL).values())


@pytest.mark.parametrize("name, number", [
    (arch.READ, 0), (arch.SET, 0), (arch.SWITCH, 0), (arch.SET_CALL, 1),
    (arch.SWITCH_CALL, 1)])
def test_the_thread_register(programs, name, number):
    """By an instruction nothing enters the kernel; by arch_prctl each time,
    which stands for CPUs on which only the kernel sets it."""
    row = next(row for row in arch.ROWS if row.name == name)
    program = BUILD / "bench/papers/arch" / row.program
    result = counting.counted(programs.counter, [program, "1", *row.args],
                              rows.COUNTED_OPS)
    if result.impossible:
        pytest.skip(result.impossible)
    assert result.figures["calls"] == pytest.approx(number, abs=0.02), result


@pytest.fixture
def dietlibc(programs):
    """dietlibc(kind): {system call: number of an operation} with its threads,
    which are of the family of LinuxThreads and are not ours."""
    if programs.no_dietlibc:
        pytest.skip(programs.no_dietlibc)

    def count(kind):
        row = next(row for row in rows.WITNESS if row.args == (kind,))
        result = programs.calls(row, "dietlibc")
        if result.impossible:
            pytest.skip(result.impossible)
        assert result.figures, result
        return nptl.kinds(result.figures)
    return count


@pytest.mark.parametrize("kind", ["mutex", "sem"])
def test_the_witness_stays_out_of_the_kernel_too(dietlibc, kind):
    assert dietlibc(kind) == {}


@pytest.mark.parametrize("kind", ["turn_sem", "turn_cond"])
def test_the_witness_switches_by_restart_signals_too(dietlibc, kind):
    found = dietlibc(kind)
    assert RESTART <= set(found) and "futex" not in found
    for call in RESTART:
        assert 0.5 <= found[call] <= 3, found


def test_the_witness_has_a_manager_too(dietlibc):
    found = dietlibc("create_join")
    assert found["clone"] == pytest.approx(1, abs=0.05)
    assert {"read", "write", "wait4"} <= set(found)
