#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The long run: what ./dev test has a fast part of.

usage: test/conformance/run.py [OPTIONS] [PART]...

posix    the POSIX tests natively once, then on weft with 1, 2 and 8 VPs and
         with each backend of --io, each without and with --preempt-every 100us
cpython  CPython's own suites about threads, signals and processes, from the
         distribution's package: each test has to end on weft as it does
         natively
glib     GLib's own tests, from the distribution's package, likewise
ng       what stress-ng has for threads, processes, signals and pipes, a second
         each: what it says of them has to be the same
storm    the POSIX tests of calls on descriptors and of futexes while I/O
         servers that are processes are killed: none may hang
mutants  every change of test/mutants has to be noticed by a test
apps     servers and other programs that wait for descriptors, under their
         long loads, with each backend of --io

All, if none is named. --only takes part of a suite's or program's name.
--save keeps the results of suites in test/tried.json.
"""

import argparse
import functools
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import apps  # noqa: E402
import runner  # noqa: E402
import tried  # noqa: E402

PYTHON = "/usr/bin/python3"  # the one for which the package is made
SUITE_LIMIT_S = 900
GLIB_LIMIT_S = 120
NG_LIMIT_S = 60
GLIB_TESTS = pathlib.Path("/usr/share/installed-tests/glib")
VPS = (1, 2, 8)
PREEMPTION = ([], ["--preempt-every", "100us"])
NG_CLASSES = ("scheduler", "pipe", "interrupt")
STORMED = ("futex", "io_*", "file_*", "shared*")
SUITES = ("test_thread", "test_threading", "test_threading_local",
          "test_threadsignals", "test_queue", "test_signal", "test_fork1",
          "test_wait3", "test_wait4", "test_faulthandler", "test_subprocess",
          "test_concurrent_futures", "test_asyncio", "test_socketserver",
          "test_selectors", "test_timeout", "test_time",
          "test_multiprocessing_fork", "test_multiprocessing_forkserver",
          "test_multiprocessing_spawn", "test_multiprocessing_main_handling")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("parts", nargs="*",
                        metavar="|".join(PARTS))
    options = parser.parse_args(argv)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {' '.join(sorted(unknown))}")
    options.parts = options.parts or list(PARTS)
    # Suites run in their own directories.
    options.build = options.build.resolve()
    return options


def is_wanted(name, options):
    return not options.only or any(part in name for part in options.only)


# --- posix ---

def run_posix(options):
    """The number of configurations in which something failed."""
    programs = sorted(p for p in (options.build / "test/posix").glob("posix_*")
                      if p.is_file() and is_wanted(p.name, options))
    if not programs:
        return 0
    rows = [["--mode", "native"]]
    ways = [["--vps", str(vps)] for vps in VPS]
    ways += [["--vps", "2", "--io", backend]
             for backend in runner.backends(options.build)[1:]]
    rows += [["--mode", "weft", *way, *preemption]
             for way in ways for preemption in PREEMPTION]
    failed = 0
    for row in rows:
        print(f"== posix {' '.join(row)}", flush=True)
        done = subprocess.run([sys.executable, HERE.parent / "posix/run.py",
                               "--build", options.build, *row, *programs])
        failed += done.returncode != 0
    return failed


# --- storm ---

def run_storm(options):
    """The number of programs that hang."""
    found = options.build / "test/posix"
    programs = sorted(p for pattern in STORMED
                      for p in found.glob(f"posix_{pattern}")
                      if p.is_file() and is_wanted(p.name, options))
    failed = 0
    for program in programs:
        print(f"== storm {program.name}", flush=True)
        done = subprocess.run([sys.executable,
                               HERE.parent / "stress/killed_servers.py",
                               "--build", options.build, "--vps", "2",
                               "--only-hangs", program])
        failed += done.returncode != 0
    return failed


# --- suites of others ---

def differences(native, weft):
    return [f"{name}: {native.get(name, 'not run')} natively, "
            f"{weft.get(name, 'not run')} on weft"
            for name in sorted(native.keys() | weft.keys())
            if native.get(name) != weft.get(name)]


def check_suite(suite, run, options):
    """Returns whether each test ended as natively. run(PREFIX) returns how the
    command ended and how each test did. Some tests depend on time, so a suite
    with a difference is run again, on both sides."""
    for _ in range(2):
        native_end, native = run([])
        if not native:
            print(f"skip {suite}: natively {native_end.outcome()}")
            return True
        weft_end, weft = run([options.build / "weft", "run", "--"])
        found = differences(native, weft)
        if options.save:
            tried.save(suite, tests=len(weft),
                       result="; ".join(found[:3]) or tried.AS_NATIVELY)
        if not found:
            print(f"ok {suite}: {len(weft)} tests, "
                  f"native {native_end.seconds:.0f} s, "
                  f"weft {weft_end.seconds:.0f} s", flush=True)
            return True
    print(f"FAIL {suite}: {weft_end.outcome()}", *found[:20], sep="\n    ",
          flush=True)
    runner.print_trace(weft_end)
    return False


# --- cpython ---

def outcome_of(case):
    for kind in ("error", "failure", "skipped"):
        if case.find(kind) is not None:
            return kind
    return case.get("result") or case.get("status") or "ran"


def outcomes(report):
    """Returns each test's result by name, because a suite's output varies."""
    if not report.exists() or report.stat().st_size == 0:
        return {}
    tree = xml.etree.ElementTree.parse(report)
    return {f"{case.get('classname', '')}.{case.get('name')}":
            outcome_of(case) for case in tree.iter("testcase")}


# Some suites need the resource "network" for sockets on this machine. Their
# tests that need other machines are skipped on both sides.
def run_python_suite(suite, prefix):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        result = runner.run([*prefix, PYTHON, "-m", "test", "-u", "network",
                             "--junit-xml", report, suite], SUITE_LIMIT_S,
                            cwd=folder)
        return result, outcomes(report)


def is_there(suite):
    return subprocess.run([PYTHON, "-c", f"import test.{suite}"],
                          capture_output=True).returncode == 0


def check_python_suite(suite, options):
    if not is_there(suite):
        print(f"skip {suite}: not installed, or not in this version")
        return True
    return check_suite(suite, functools.partial(run_python_suite, suite),
                       options)


def run_cpython(options):
    """The number of suites with a difference."""
    return sum(not check_python_suite(suite, options) for suite in SUITES
               if is_wanted(suite, options))


# --- glib ---

def tap_outcomes(output):
    """Result of each line of TAP, by name. Why something is skipped may vary,
    and so do seeds in names."""
    lines = re.findall(r"^(ok|not ok) \d+ (.*?)( # SKIP.*)?$", output, re.M)
    return {re.sub(r"seed:\d+", "seed", name): "skipped" if skip else how
            for how, name, skip in lines}


def run_glib_program(command, prefix):
    with tempfile.TemporaryDirectory() as folder:
        result = runner.run([*prefix, *command], GLIB_LIMIT_S, cwd=folder)
    return result, tap_outcomes(result.stdout.decode()) | {
        "the program": result.outcome()}


def run_glib(options):
    """The number of programs with a difference."""
    if not GLIB_TESTS.is_dir():
        print("skip glib: no package with GLib's installed tests")
        return 0
    failed = 0
    for test in sorted(GLIB_TESTS.glob("*.test")):
        command = re.search(r"^Exec=(.*)", test.read_text(), re.M)[1]
        if is_wanted(f"glib/{test.stem}", options):
            run = functools.partial(run_glib_program, shlex.split(command))
            failed += not check_suite(f"glib/{test.stem}", run, options)
    return failed


# --- stress-ng ---

def ng_stressors():
    names = set()
    for kind in NG_CLASSES:
        said = subprocess.run(["stress-ng", "--class", f"{kind}?"],
                              capture_output=True, text=True).stdout
        names |= set(said.partition("stressors:")[2].split())
    return sorted(names)


def run_ng_stressor(name, prefix):
    with tempfile.TemporaryDirectory() as folder:
        result = runner.run([*prefix, "stress-ng", f"--{name}", "2",
                             "--timeout", "1", "--verify"],
                            NG_LIMIT_S, cwd=folder)
    return result, {name: result.outcome()}


def run_ng(options):
    """The number of stressors that fail on weft alone."""
    if not shutil.which("stress-ng"):
        print("skip ng: no stress-ng")
        return 0
    return sum(not check_suite(f"ng/{name}",
                               functools.partial(run_ng_stressor, name),
                               options)
               for name in ng_stressors() if is_wanted(f"ng/{name}", options))


# --- apps ---

def check_app(app, backend, native, options):
    """Returns whether the program behaves on weft as natively."""
    result = app.run([options.build / "weft", "run", "--io", backend, "--"])
    problem = apps.difference(native, result)
    if not problem:
        print(f"ok {app.name} --io {backend}: native {native.seconds:.0f} s, "
              f"weft {result.seconds:.0f} s", flush=True)
        return True
    shown = result if native.outcome() == "ok" else native
    print(f"FAIL {app.name} --io {backend}: {problem}",
          runner.text(shown.stdout[-2000:] + shown.stderr), sep="\n",
          flush=True)
    runner.print_trace(shown)
    return False


def run_apps(options):
    """The number of programs and backends with a difference."""
    failed = 0
    for app in apps.io(long=True):
        if not is_wanted(app.name, options):
            continue
        if app.missing():
            print(f"skip {app.name}: {app.missing()}")
            continue
        native = app.run([])
        failed += sum(not check_app(app, backend, native, options)
                      for backend in runner.backends(options.build))
    return failed


def run_mutants(options):
    done = subprocess.run([PYTHON, HERE.parents[1] / "tools/mutants.py"])
    return 1 if done.returncode else 0


PARTS = {"posix": run_posix, "storm": run_storm, "cpython": run_cpython,
         "mutants": run_mutants,
         "glib": run_glib, "ng": run_ng, "apps": run_apps}


def main(argv):
    options = parse(argv)
    failed = sum(PARTS[part](options) for part in options.parts)
    print(f"conformance: {failed or 'nothing'} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
