# SPDX-License-Identifier: MIT
"""examples/container/confine: what Docker's default seccomp profile refuses,
and weft under it. tools/deb_container.py makes the whole container."""

import errno
import json
import subprocess

import pytest
from conftest import BUILD

CONFINE = BUILD / "examples/container/confine"
NOT_SET = 125
WEFT = BUILD / "weft"
# Makes one system call and prints its error, or 0.
CALL = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
print(0 if libc.syscall(*map(int, sys.argv[1:])) >= 0 else ctypes.get_errno())
"""
# Threads that wait for descriptors, each for its neighbour.
SERVER = """
import socket, threading
pairs = [socket.socketpair() for _ in range(20)]
def pass_on(i):
    pairs[i + 1][0].sendall(pairs[i][1].recv(10))
threads = [threading.Thread(target=pass_on, args=[i]) for i in range(19)]
for thread in threads:
    thread.start()
pairs[0][0].sendall(b"served")
print(pairs[19][1].recv(10).decode())
for thread in threads:
    thread.join()
"""


@pytest.fixture
def confine():
    def run(*command):
        done = subprocess.run([str(word) for word in (CONFINE, *command)],
                              text=True, capture_output=True, timeout=60)
        if done.returncode == NOT_SET:
            pytest.skip("filters are not permitted")
        return done
    return run


@pytest.mark.parametrize("call, error", [
    ((425, 1, 0), errno.EPERM),              # io_uring_setup
    ((435, 0, 0), errno.ENOSYS),             # clone3
    ((438, 0, 0, 0), errno.EPERM),           # pidfd_getfd
    ((451, -1, 0, 0, 0), errno.ENOSYS),      # cachestat, newer than the list
    ((272, 0x10000000), errno.EPERM),        # unshare, a user namespace
    ((56, 0x10000000 | 17, 0), errno.EPERM),  # clone with one
    ((135, 0xffffffff), 0),                  # personality, which it asks for
    ((135, 0x40000), errno.EPERM),           # no randomised addresses
    ((41, 40, 1, 0), errno.EPERM),           # socket, AF_VSOCK
    ((41, 1, 1, 0), 0),                      # AF_UNIX
    ((39,), 0)])                             # getpid
def test_what_is_refused(confine, call, error):
    done = confine("/usr/bin/python3", "-c", CALL, *call)
    assert (done.returncode, done.stdout) == (0, f"{error}\n"), done.stderr


def test_io_uring_can_be_allowed(confine):
    """The other calls stay refused."""
    allowed = ("--allow-io-uring", "/usr/bin/python3", "-c", CALL)
    # The kernel reads no parameters at address 0.
    done = confine(*allowed, 425, 1, 0)
    if int(done.stdout) in (errno.EPERM, errno.ENOSYS):
        pytest.skip("this machine refuses io_uring")
    assert int(done.stdout) == errno.EFAULT
    assert int(confine(*allowed, 438, 0, 0, 0).stdout) == errno.EPERM


@pytest.mark.parametrize("options", [[], ["--allow-io-uring"]])
def test_threads_wait(confine, options, tmp_path):
    done = confine(*options, WEFT, "run", "--stats=json", "--stats-file",
                   tmp_path / "stats", "/usr/bin/python3", "-c", SERVER)
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr
    counters = json.loads((tmp_path / "stats").read_text())
    assert counters["threads_made"] >= 19 and counters["parks"] >= 19
    if not options:
        assert counters["uring_requests"] == 0
    elif "uring" in backend(confine):
        assert counters["uring_requests"] > 0


def backend(confine):
    text = confine("--allow-io-uring", WEFT, "doctor").stdout
    return next(line for line in text.splitlines() if "I/O backend" in line
                ).split()[2]


def test_usage(confine):
    assert confine().returncode == 2
    assert confine("--other", "true").returncode == 2
    done = confine("/nonexistent")
    assert done.returncode == 127 and "/nonexistent" in done.stderr
