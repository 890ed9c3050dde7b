# SPDX-License-Identifier: MIT
"""The processes of papers/arch. A machine is measured when its kernel rests,
and an interruption leaves no emulator behind. A script stands for the
emulator."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import arch_stand_in
from bench.papers.arch import (children, emulator, machines, output, rest, run,
                               systems)
from conftest import ROOT

LIMIT_S = 60


class Ready:
    """A machine with the files that were built for it."""
    machine = machines.named("mips64el")
    environment, kernel = None, "kernel"

    def __init__(self, folder):
        self.built = folder

    def command(self, *options):
        return [sys.executable, arch_stand_in.__file__, str(self.built),
                *options]

    def version(self):
        return "1"

    compiler_version = version


class Place:
    """Replaces prepare.Place."""

    def __init__(self, folder):
        self.folder = folder

    def ready(self, machine):
        return Ready(self.folder)

    def image(self, *_):
        return "image"


def lines(folder, name):
    path = folder / name
    return path.read_text().split() if path.exists() else []


def await_true(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "too late"
        time.sleep(0.01)


def is_running(pid):
    """Not as a zombie either."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


# --- rest ---------------------------------------------------------------------

def test_ticks_are_read():
    assert rest.parse("cpu  10 1 20 300 4 5 6 7 8 9") == rest.Ticks(353, 49)
    for line in ("", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 x 4 5", "cpu 1 2 3"):
        assert rest.parse(line) is None
    assert output.ticks(["[ 1.5] message @ticks cpu  1 2 3 4 5 6 7 8\r"]) == \
        rest.Ticks(36, 27)
    assert output.ticks(["@ready 6.1 mips64"]) is None


def samples(*each):
    """Returns the number of samples until the rest is reached, or None. Each
    sample is (all ticks, busy ticks) since the one before."""
    one, whole, busy = rest.Rest(), 0, 0
    assert not one.is_reached(rest.Ticks(0, 0))
    for nr, (more, more_busy) in enumerate(each, 1):
        whole, busy = whole + more, busy + more_busy
        if one.is_reached(rest.Ticks(whole, busy)):
            return nr
    return None


def test_rest_is_several_idle_samples_in_a_row():
    idle, busy, short = (20, 1), (20, 5), (3, 0)
    assert samples(*[idle] * 9) == rest.SAMPLES
    assert samples(busy, *[idle] * 9) == 1 + rest.SAMPLES
    assert samples(*[idle] * (rest.SAMPLES - 1), busy, *[idle] * 9) == \
        2 * rest.SAMPLES
    assert samples(*[busy] * 50) is None
    # Four short samples count as one long one.
    assert samples(*[short] * 9 * rest.SAMPLES) == 4 * rest.SAMPLES
    # A machine with a stopped clock does not rest.
    assert samples(*[(0, 0)] * 50) is None


def test_a_machine_is_measured_when_its_kernel_rests(tmp_path):
    (tmp_path / "answers").touch()
    with emulator.Emulator(Ready(tmp_path), "image", tmp_path) as machine:
        assert machine.run(["/bin/x"]).lines == ("figure 100",)
    got = lines(tmp_path, "lines")
    nr = got.index("run")
    assert got[:nr] == ["ticks"] * nr
    assert nr >= arch_stand_in.BUSY_SAMPLES + rest.SAMPLES


def test_a_machine_that_does_not_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(rest.Rest, "is_reached", lambda *_: False)
    with pytest.raises(emulator.Ended, match="did not rest in 2 s"):
        with emulator.Emulator(Ready(tmp_path), "image", tmp_path,
                               boot_s=2) as machine:
            pytest.fail(f"{machine} is measured")
    assert not is_running(lines(tmp_path, "pids")[0])


# --- the end ------------------------------------------------------------------

def test_no_process_starts_after_the_end():
    processes = children.Children()
    first = processes.start(["sleep", "600"])
    second = processes.start(["sleep", "600"])
    assert processes.end(first) == -signal.SIGKILL
    assert processes.processes == {second}
    processes.close()
    assert second.wait() == -signal.SIGKILL
    with pytest.raises(children.Closed):
        processes.start(["true"])
    with pytest.raises(emulator.Ended, match="interrupted"):
        systems.Here(processes).run(["true"])


def test_programs_of_this_machine():
    here = systems.Here(children.Children())
    assert here.run(["sh", "-c", "echo a; echo b >&2; exit 3"]) == \
        output.Answer(3, ("a", "b"))
    assert here.run(["sleep", "600"], limit_s=0.1).status == output.LATE
    assert not here.processes.processes


SCRIPT = """
import sys
sys.path[:0] = {paths!r}
import test_arch_processes as test
from bench.papers.arch import emulator, prepare, run
prepare.Place = test.Place
sys.exit(run.main(["--machines", "mips64el", "aarch64", "--systems", "--runs",
                   "1", "--build", sys.argv[1], "--json",
                   sys.argv[1] + "/out.json"]))
"""


def start_bench(tmp_path):
    """papers/arch with the stand-in, when both emulators have a program that
    does not end."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(
        paths=[str(ROOT), str(pathlib.Path(__file__).parent)]))
    folder = tmp_path / "arch"
    folder.mkdir()
    for name in ("out", "err"):
        (tmp_path / name).touch()
    bench = subprocess.Popen(
        [sys.executable, script, tmp_path], stdin=subprocess.DEVNULL,
        stdout=(tmp_path / "out").open("w"),
        stderr=(tmp_path / "err").open("w"), start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    wanted = min(2, len(os.sched_getaffinity(0)))
    await_true(lambda: bench.poll() is not None or sum(
        line in ("run", "count") for line in lines(folder, "lines")) == wanted)
    return bench, folder


@pytest.mark.parametrize("number, is_to_all", [
    (signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False),
    (signal.SIGHUP, False)])
def test_an_interruption_leaves_no_emulator(tmp_path, number, is_to_all):
    """Ctrl-C interrupts all processes of a terminal, kill the first alone."""
    bench, folder = start_bench(tmp_path)
    pids = lines(folder, "pids")
    assert bench.poll() is None and pids and all(map(is_running, pids))
    if is_to_all:
        os.killpg(bench.pid, number)
    else:
        os.kill(bench.pid, number)
    assert bench.wait(LIMIT_S) == 130, (tmp_path / "err").read_text()
    pids = lines(folder, "pids")
    assert not any(map(is_running, pids))
    assert "arch: interrupted" in (tmp_path / "err").read_text()
    assert not (tmp_path / "out.json").exists()


def test_all_machines_of_the_bench_rest_first(tmp_path, monkeypatch):
    folder = tmp_path / "arch"
    folder.mkdir()
    (folder / "answers").touch()
    monkeypatch.setattr(run.prepare, "Place", Place)
    monkeypatch.setattr(run, "native", lambda _: {})
    options = run.parse(["--machines", "mips64el", "--systems", "--runs", "1",
                         "--build", str(tmp_path), "--json",
                         str(tmp_path / "out.json")])
    assert run.run(options) == 0
    got = lines(folder, "lines")
    # Two passes, each with its own machine.
    assert len(lines(folder, "pids")) == 2
    assert got.count("ticks") >= 2 * (arch_stand_in.BUSY_SAMPLES + rest.SAMPLES)
    assert set(got) == {"ticks", "run", "count"}
