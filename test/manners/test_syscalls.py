# SPDX-License-Identifier: MIT
"""Compares docs/reference/syscalls.md with the source, strace and seccomp
filters."""

import collections
import errno
import functools
import re
import subprocess

import pytest

from conftest import (BUILD, FILTER, PROGRAM, ROOT, WEFT, environment, need,
                      need_ptrace, outcome, run)

CALLS = BUILD / "test/manners/manners_calls"
SKIPPED = 77
RUNS = [(PROGRAM, "work"), (PROGRAM, "timed"), (PROGRAM, "compute"),
        (PROGRAM, "end", "last"), (CALLS, "descriptors"), (CALLS, "signals"),
        (CALLS, "processes"), (CALLS, "shared"), (CALLS, "places"),
        (CALLS, "blocking")]
IDS = [command[1] for command in RUNS]
# Rare enough for a program under strace to make progress.
OPTIONS = [(), ("--vps", "1", "--preempt-every", "10ms"), ("--io", "workers"),
           ("--io", "process", "--io-nice", "1")]
WAYS = ["default", "preempted", "workers", "process"]
# Made by libc, by the kernel after a handler, or under another name.
BY_OTHERS = {"clone", "ppoll", "rt_sigreturn", "vfork"}
# The kernel uses this call to continue an interrupted one.
ALWAYS = {"restart_syscall"}


def documented():
    """Returns {system call: whether programs run on weft without it} from the
    reference page."""
    page = (ROOT / "docs/reference/syscalls.md").read_text()
    found = {}
    for names, refused in re.findall(r"^\| (`.*?) \|.*\| (.*) \|$", page, re.M):
        for name in re.findall(r"`(\w+)`", names):
            is_optional = not refused.startswith(
                ("needed", "refused", "a robust mutex"))
            found[name] = found.get(name, True) and is_optional
    return found


def test_page_and_source():
    made = set()
    for path in (ROOT / "src").rglob("*.[chS]"):
        # only programs that use libweft-api.a make these
        if path.parent.name == "ipc":
            continue
        made |= set(re.findall(r"\(\s*SYS_(\w+)\s*[,)]", path.read_text()))
    made.remove("name")  # the example in os/sys.h
    assert "futex" in made and made | BY_OTHERS == set(documented())


# --- strace ---

def lines_of(log):
    """Yields (pid, address of the instruction, call, the rest). The two halves
    of a call may have other threads' lines between them."""
    begun = {}
    for line in log.splitlines():
        match = re.match(r"(\d+) +\[([0-9a-f?]+)\] (.*)", line)
        if match is None:
            continue
        pid, address, text = match.groups()
        half = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        if half:
            text = begun.pop(pid, "") + half[1]
        call = re.match(r"(\w+)\((.*)", text)
        if text.endswith("<unfinished ...>"):
            begun[pid] = text.removesuffix("<unfinished ...>").rstrip()
        elif call:
            yield pid, address, call[1], call[2]
    # The process ended in these calls; strace does not always know which.
    for text in begun.values():
        if not text.startswith("?"):
            yield None, "?", text.split("(")[0], ""


def calls_in(log, program):
    """Names of the calls since the program began: all, and those with
    an instruction in libweft.so."""
    every, own, ranges = set(), set(), []
    loading = {}  # by pid: the descriptor of libweft.so
    for pid, address, name, rest in lines_of(log):
        if name == "execve" and rest.startswith(f'"{program}"'):
            every, own, ranges = set(), set(), []
        elif name == "openat" and '/libweft.so.0"' in rest:
            loading[pid] = rest.rsplit("= ", 1)[1].split()[0]
        elif name == "mmap" and f", {loading.get(pid)}, 0) = 0x" in rest:
            base = int(rest.rsplit("= ", 1)[1], 16)
            ranges.append(range(base, base + int(rest.split(", ")[1])))
            del loading[pid]
        every.add(name)
        if address.strip("?") and any(int(address, 16) in r for r in ranges):
            own.add(name)
    return every - ALWAYS, own - ALWAYS


@functools.cache
def traced(command, options=None):
    """Runs the command under strace and returns calls_in of its output. Runs it
    natively if options is None, else on weft."""
    weft = [] if options is None else [*WEFT, *options, "--"]
    strace = [need("strace"), "-f", "-i", "-o", "/dev/stdout"]
    result = run([*strace, *weft, *command])
    need_ptrace(result.stderr)
    assert result.returncode in (0, 3), result.stderr
    return calls_in(result.stdout, command[0])


@pytest.mark.parametrize("options", OPTIONS, ids=WAYS)
@pytest.mark.parametrize("command", RUNS, ids=IDS)
def test_calls_are_documented(command, options):
    native, _ = traced(command)
    every, own = traced(command, options)
    known = set(documented())
    assert {"clone", "rt_sigprocmask"} <= own
    assert own - known == set()
    assert every - native - known == set()


def test_files_read_often_stay_open():
    """To find out whether a carrier sleeps, weft reads a file many times."""
    script = ("import ctypes, os, threading, time\n"
              "reader, writer = os.pipe()\n"
              "def read():\n"
              "    ctypes.CDLL(None).syscall(0, reader, bytes(1), 1)\n"
              "for _ in range(40):\n"
              "    thread = threading.Thread(target=read)\n"
              "    thread.start()\n"
              "    time.sleep(0.005)\n"
              "    os.write(writer, b'x')\n"
              "    thread.join()\n")
    result = run([need("strace"), "-f", "-e", "trace=openat,pread64",
                  "-o", "/dev/stdout", *WEFT, "--vps", "1",
                  "/usr/bin/python3", "-c", script])
    need_ptrace(result.stderr)
    assert result.returncode == 0, result.stderr
    opened = collections.Counter(
        re.findall(r'openat\(\d+, "(\d+)/stat"', result.stdout))
    assert opened and max(opened.values()) == 1
    nr_asked = len(re.findall(r'pread64\(.*?"\d+ \(.*?\) [A-Z] ',
                              result.stdout))
    assert nr_asked > 5 * len(opened)


# --- filters ---

@functools.cache
def numbers():
    need("gcc")
    macros = subprocess.run(["gcc", "-E", "-dM", "-include", "sys/syscall.h",
                             "-xc", "/dev/null"], text=True, check=True,
                            capture_output=True).stdout
    # cachestat is newer than the headers of some systems.
    return {"cachestat": "451"} | \
        dict(re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.M))


def filtered(how, names, command, options=None):
    """Sets the filter of the arguments `how` before the program starts; it
    does not affect the command that starts it."""
    weft = [] if options is None else [*WEFT, *options, "--"]
    result = run([*weft, FILTER, *how, *(numbers()[name] for name in names),
                  "--", *command])
    if result.returncode == SKIPPED:
        pytest.skip("filters are not permitted")
    return outcome(result)


@pytest.mark.parametrize("options", OPTIONS, ids=WAYS)
@pytest.mark.parametrize("command", RUNS, ids=IDS)
def test_documented_calls_are_enough(command, options):
    native = set().union(*(traced(command)[0] for command in RUNS)) | ALWAYS
    expected = outcome(run(command))
    assert filtered(["allow"], native - {"exit_group"}, command)[0] < 0
    assert filtered(["allow"], native, command) == expected
    assert filtered(["allow"], native | set(documented()), command,
                    options) == expected


@pytest.mark.parametrize("options", OPTIONS, ids=WAYS)
@pytest.mark.parametrize("command", RUNS, ids=IDS)
@pytest.mark.parametrize("pattern", [".*", "io_uring", "membarrier",
                                     "close_range", "mremap|timer_.*"])
def test_optional_calls_are_optional(command, options, pattern):
    """The program's own calls go through."""
    native, _ = traced(command)
    refused = {name for name, is_optional in documented().items()
               if is_optional and re.match(pattern, name)} - native
    assert refused
    assert filtered(["refuse", str(errno.EPERM)], refused, command,
                    options) == outcome(run(command))


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOSYS, errno.ENOMEM,
                                   errno.EAGAIN, errno.EACCES])
@pytest.mark.parametrize("command", [RUNS[0], RUNS[2], RUNS[4]],
                         ids=["work", "compute", "descriptors"])
def test_optional_calls_fail_in_any_way(command, error):
    """weft does not take a failed optional call for done."""
    native, _ = traced(command)
    refused = {name for name, is_optional in documented().items()
               if is_optional} - native
    if error in (errno.EINVAL, errno.ENOMEM, errno.EAGAIN):
        # calls that return these errors anyway
        refused -= {"preadv2", "pwritev2"}
    assert filtered(["refuse", str(error)], refused, command,
                    ("--vps", "2")) == outcome(run(command))


@pytest.mark.parametrize("names, words", [
    (["clone"], "refuses a system call (Operation not permitted)"),
    (["clone", "clone3"], "refuses a system call (Operation not permitted)"),
    (["rt_sigprocmask"], "refuses a system call (Operation not permitted)")])
def test_refused_calls_of_the_start(names, words):
    """The program gets an error from pthread_create, the user the reason."""
    status, out, err = filtered(["refuse", str(errno.EPERM)], names, RUNS[0],
                                ())
    assert (status, out) == (99, "")
    assert [words in line for line in err.splitlines()] == [True, False]


def test_a_thread_that_blocks_unseen():
    """Without /proc and membarrier the other threads continue, too."""
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if run([*apart, "true"]).returncode != 0:
        pytest.skip("there can be no namespaces")
    script = ("import ctypes, os, threading, time\n"
              "reader, writer = os.pipe()\n"
              "def read():\n"
              "    ctypes.CDLL(None).syscall(0, reader, bytes(1), 1)\n"
              "thread = threading.Thread(target=read)\n"
              "thread.start()\n"
              "time.sleep(0.05)\n"
              "os.write(writer, b'x')\n"
              "thread.join()\n"
              "print('read')\n")
    result = run([*apart, FILTER, "refuse", errno.EPERM,
                  numbers()["membarrier"], "--", *WEFT, "--vps", "1",
                  "/usr/bin/python3", "-c", script])
    if result.returncode == SKIPPED:
        pytest.skip("filters are not permitted")
    assert outcome(result) == (0, "read\n", "")
