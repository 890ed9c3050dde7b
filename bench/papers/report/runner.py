# SPDX-License-Identifier: MIT
"""Runs experiments one after the other and remembers which are done.

Beside NAME.json, which the experiment writes, lies NAME.state.json: the options
and the library that it was made with, how long it took, and how busy the
machine was. The state is written last. An experiment that was interrupted has
no state and runs again. So does an experiment if its state has other options or
another library.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time

from bench.papers.report import about

TELL_EVERY_S = 20
# Seconds that an interrupted experiment has for its clean-up.
END_LIMIT_S = 30


def result_path(folder, name):
    return folder / f"{name}.json"


def state_path(folder, name):
    return folder / f"{name}.state.json"


def read(path):
    """Returns the object that a JSON file holds, else None."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def kept(folder, name, options, library):
    """Returns the state of a result if the result need not be made again, else
    None."""
    state = read(state_path(folder, name))
    if state is None or read(result_path(folder, name)) is None:
        return None
    same = (state.get("options") == options
            and state.get("library") == library)
    return state if same else None


def clock(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min"


class Estimate:
    """Estimates the time that is left. The times of the experiments so far,
    compared with their guesses, correct the guesses for the rest."""

    def __init__(self, guesses):
        self.left = dict(guesses)
        self.guessed = self.taken = 0.0

    def end(self, name, seconds):
        self.guessed += self.left.pop(name)
        self.taken += seconds

    def factor(self):
        """Returns how many times longer than guessed an experiment takes on
        this machine. The factor is limited, since one experiment with a guess
        that was far off says little of the rest."""
        if not self.guessed:
            return 1.0
        return min(3.0, max(0.5, self.taken / self.guessed))

    def seconds(self, running=None, since=0.0):
        """Returns the seconds left; the experiment `running` began `since`
        seconds ago."""
        left = {name: guess * self.factor()
                for name, guess in self.left.items()}
        if running in left:
            # While it runs, some time is left.
            left[running] = max(left[running] / 10, left[running] - since)
        return sum(left.values())


def follow(process, tell):
    """Prints what the process prints, indented, and calls `tell` now and then.
    Returns its last line."""
    last, rest = "", b""
    descriptor = process.stdout.fileno()
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    told = time.monotonic()
    while True:
        if waiting.poll(1000):
            more = os.read(descriptor, 65536)
            if not more:
                break
            *lines, rest = (rest + more).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                print(f"    {text}".rstrip(), flush=True)
                last = text.strip() or last
        if time.monotonic() - told >= TELL_EVERY_S:
            told = time.monotonic()
            tell()
    return rest.decode(errors="replace").strip() or last


def heed_interrupts():
    """Commands in a shell's background ignore SIGINT, so restore its
    action."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process):
    """Interrupts the experiment, so that ptl-n unmounts its file system."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_one(command, folder, name, tell):
    """Returns (status, last line, seconds, share of other programs)."""
    for path in (state_path(folder, name), result_path(folder, name)):
        path.unlink(missing_ok=True)
    others, start = about.Others(), time.monotonic()
    # In its own session, so that Ctrl-C reaches it once, through this program.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               start_new_session=True,
                               preexec_fn=heed_interrupts)
    try:
        last = follow(process, lambda: tell(time.monotonic() - start))
        status = process.wait()
    except KeyboardInterrupt:
        interrupt(process)
        raise
    return status, last, time.monotonic() - start, others.share()


class Runner:
    """folder: where results are stored. build: the build that is measured."""

    def __init__(self, folder, build, is_quick):
        self.folder, self.build, self.is_quick = folder, build, is_quick
        self.library = about.library(build)

    def kept(self, experiment):
        return kept(self.folder, experiment.name,
                    experiment.options(self.is_quick), self.library)

    def command(self, experiment):
        plot = ["--plot", str(self.folder / f"{experiment.name}.png")] \
            if experiment.has_plot else []
        return [sys.executable, "-u", str(experiment.script),
                *experiment.options(self.is_quick), "--build", str(self.build),
                "--json", str(result_path(self.folder, experiment.name)),
                *plot]

    def guess(self, experiment):
        """Seconds of the last run with these options, or the table's figure."""
        state = read(state_path(self.folder, experiment.name)) or {}
        if state.get("options") == experiment.options(self.is_quick) and \
                state.get("seconds"):
            return state["seconds"]
        return experiment.seconds(self.is_quick)

    def run(self, experiments, is_fresh):
        """Returns {name: why there is no result} of those that failed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        todo, load = [], os.getloadavg()[0]
        for one in experiments:
            state = None if is_fresh else self.kept(one)
            if state is None:
                todo.append(one)
                continue
            failed = ", some of its programs failed" \
                if state.get("status") else ""
            print(f"papers: {one.name}: kept, made "
                  f"{state.get('date', 'before')}{failed}", flush=True)
        if todo and load > about.BUSY_LOAD * len(os.sched_getaffinity(0)):
            print(f"papers: warning: the machine is busy (load {load:.1f}); do "
                  "not trust these figures", flush=True)
        estimate = Estimate({one.name: self.guess(one) for one in todo})
        missing, start = {}, time.monotonic()
        for nr, one in enumerate(todo, 1):
            where = f"{nr} of {len(todo)}: {one.name}"
            why = self.run_and_remember(one, where, estimate, load)
            if why:
                missing[one.name] = why
                print(f"papers: {one.name}: {why}", file=sys.stderr)
        if todo:
            print(f"papers: {len(todo)} of {len(experiments)} experiments took "
                  f"{clock(time.monotonic() - start)}", flush=True)
        return missing

    def run_and_remember(self, one, where, estimate, load):
        def tell(since):
            print(f"papers: {where}: {clock(since)} so far, about "
                  f"{clock(estimate.seconds(one.name, since))} left",
                  flush=True)

        print(f"papers: {where}: about {clock(estimate.seconds())} left",
              flush=True)
        status, last, seconds, others = run_one(
            self.command(one), self.folder, one.name, tell)
        estimate.end(one.name, seconds)
        if read(result_path(self.folder, one.name)) is None:
            return f"it ended with status {status} and without a result: {last}"
        state_path(self.folder, one.name).write_text(json.dumps({
            "options": one.options(self.is_quick), "library": self.library,
            "status": status, "seconds": seconds, "others": others,
            "load": load, "date": time.strftime("%Y-%m-%d %H:%M")},
            indent=1) + "\n")
        return None
