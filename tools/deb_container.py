# SPDX-License-Identifier: MIT
"""Makes the container of docs/guide/containers.md with weft's packages, and
serves from it.

    print(check(pathlib.Path("build/deb/first")))

memcached runs on weft as process 1 of the container, without io_uring, as
Docker's default profile has it, and with io_uring. weft's counters say that it
ran there and how its threads waited.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from debian_packages import Skipped

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / \
    "examples/container/container.sh"
SOCKET = "run/memcached.socket"
COUNTERS = "tmp/counters"
THREADS = 8
CLIENTS = 32
LIMIT_S = 60
# Docker's default capabilities, as a number.
CAPABILITIES = 0xa80425fb
SERVE = ("weft", "run", "--stats=json", "--stats-file", f"/{COUNTERS}",
         "memcached", "-u", "root", "-s", f"/{SOCKET}", "-t", str(THREADS))


class Failed(Exception):
    """The container does not do what its page says."""


def make(packages, root):
    if os.geteuid() != 0:
        raise Skipped("a container is made by root only")
    for tool in ("mmdebstrap", "unshare", "setpriv", "cc"):
        if shutil.which(tool) is None:
            raise Skipped(f"{tool} is not installed")
    names = [next(packages.glob(f"{name}_*.deb"))
             for name in ("libweft0", "weft")]
    done = subprocess.run([SCRIPT, "make", root, *names], text=True,
                          capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Skipped(f"mmdebstrap failed: {done.stderr.strip()[-300:]}")


def run(root, *command):
    done = subprocess.run([SCRIPT, "run", root, *command], text=True,
                          capture_output=True, check=False, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"{command}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def check_rights(root):
    text = run(root, "cat", "/proc/self/status")
    found = dict(line.split(":\t") for line in text.splitlines()
                 if line.startswith(("CapBnd", "Seccomp:")))
    if int(found["CapBnd"], 16) != CAPABILITIES or found["Seccomp"] != "2":
        raise Failed(f"other rights than Docker's: {found}")


@contextlib.contextmanager
def serving(root, command):
    """memcached, until the body is done."""
    for name in (SOCKET, COUNTERS):
        (root / name).unlink(missing_ok=True)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process
            # The container's process 1 is a child of unshare's.
            children = f"/proc/{process.pid}/task/{process.pid}/children"
            for pid in pathlib.Path(children).read_text().split():
                os.kill(int(pid), signal.SIGTERM)
            process.wait(LIMIT_S)
        finally:
            process.kill()


def connect(root, process):
    end = time.monotonic() + LIMIT_S
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(str(root / SOCKET))
            return client
        except OSError:
            client.close()
            if process.poll() is not None:
                raise Failed(f"no server: {process.stderr.read()}") from None
            if time.monotonic() > end:
                raise Failed("the server does not answer") from None
            time.sleep(0.05)


def ask(root, process):
    """Each client stores a value, and then gets it, while all are
    connected."""
    clients = [connect(root, process) for _ in range(CLIENTS)]
    for nr, client in enumerate(clients):
        client.settimeout(LIMIT_S)
        client.sendall(b"set key%d 0 0 4\r\n%04d\r\n" % (nr, nr))
    for nr, client in enumerate(clients):
        answers = client.makefile("rb")
        if answers.readline() != b"STORED\r\n":
            raise Failed("memcached stored nothing")
        client.sendall(b"get key%d\r\n" % nr)
        answers.readline()
        if answers.readline() != b"%04d\r\n" % nr:
            raise Failed("memcached has lost a value")
        client.close()


def check_counters(root, has_io_uring):
    counters = json.loads((root / COUNTERS).read_text().splitlines()[-1])
    if counters["threads_made"] < THREADS or counters["parks"] < CLIENTS:
        raise Failed(f"memcached did not run on weft: {counters}")
    if (counters["uring_requests"] > 0) != has_io_uring:
        raise Failed(f"io_uring allowed: {has_io_uring}; {counters}")


def check(packages):
    with tempfile.TemporaryDirectory(prefix="weft-") as place:
        root = pathlib.Path(place) / "root"
        make(packages, root)
        check_rights(root)
        for options in ([], ["--allow-io-uring"]):
            with serving(root, [SCRIPT, "run", root, *options,
                                *SERVE]) as process:
                ask(root, process)
            check_counters(root, bool(options))
    return (f"memcached served {CLIENTS} clients from a container, without "
            "io_uring and with")
