#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills I/O servers in a loop while threads wait for them. Each case of a
POSIX test program has to pass. Calls that have moved bytes may fail with EIO,
and so may the cases that make such calls: with --only-hangs they only have to
end.

usage: test/stress/killed_servers.py [OPTIONS] PROGRAM..."""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import runner  # noqa: E402

LIMIT_S = 60
PAUSE_S = 0.002
HANG = "hang"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    runner.add_weft_arguments(parser)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only-hangs", action="store_true")
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    options = parser.parse_args(argv)
    options.io = "process"
    return options


def servers():
    """The ids of the I/O servers of the programs that this test has started."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            name, _, rest = (entry / "stat").read_text().partition(")")
            parent = int(rest.split()[1])
            if name.endswith("(weft-io") and \
                    os.getsid(parent) == parent and \
                    os.getpgid(parent) in started:
                yield int(entry.name)
        except (OSError, ValueError, IndexError):
            continue


started = set()


def kill_some(is_over, nr_killed):
    while not is_over.wait(PAUSE_S):
        for pid in servers():
            if random.random() < 0.5:
                try:
                    os.kill(pid, signal.SIGKILL)
                    nr_killed.append(pid)
                except ProcessLookupError:
                    pass


def run_case(command):
    """Returns an error, or None."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env=runner.environment(),
                               start_new_session=True)
    started.add(process.pid)
    try:
        output = process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        trace = runner.backtraces(process.pid, command)
        # Kill the children, too, since they hold the output open.
        for pid in [process.pid, *runner.session_processes(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
        return f"{HANG}: {pathlib.Path(trace).read_text(errors='replace')}"
    finally:
        started.discard(process.pid)
    if process.returncode in (0, runner.SKIP_STATUS):
        return None
    return f"status {process.returncode}\n{runner.text(output)}"


def main(argv):
    options = parse(argv)
    is_over, killed = threading.Event(), []
    killer = threading.Thread(target=kill_some, args=(is_over, killed),
                              daemon=True)
    nr_cases = nr_failed = 0
    killer.start()
    for program in options.programs * options.repeat:
        cases = subprocess.run([program, "--list"], capture_output=True,
                               text=True, check=True).stdout.split()
        for case in cases:
            wrong = run_case([*runner.weft_prefix(options), program, case])
            if wrong and options.only_hangs and not wrong.startswith(HANG):
                wrong = None
            nr_cases += 1
            nr_failed += wrong is not None
            if wrong:
                print(f"FAIL {program.name}:{case}: {wrong}", flush=True)
    is_over.set()
    killer.join()
    print(f"{nr_cases} cases, {nr_failed} failed, {len(killed)} servers killed")
    # Some programs use no server.
    has_killed = bool(killed) or options.only_hangs
    return 1 if nr_failed or not has_killed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
