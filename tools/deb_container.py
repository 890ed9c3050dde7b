# SPDX-License-Identifier: MIT
"""Makes the container of docs/guide/containers.md with weft's packages, and
serves from it.

    print(check(pathlib.Path("build/deb/first")))

memcached runs on weft as process 1 of the container, without io_uring, as
Docker's default profile has it, and with io_uring. Then podman runs the same
root file system, where podman works. weft's counters say that memcached ran
there and how its threads waited.
"""

import contextlib
import json
import os
import pathlib
import re
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
# runc knows hybrid control groups, crun does not.
ENGINES = ("podman", "podman --runtime=runc")
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


def tried(*command, engine=None):
    """Runs the script, and returns how it ended."""
    return subprocess.run([SCRIPT, *command], text=True, capture_output=True,
                          check=False, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL, env=environment(engine))


def environment(engine):
    return os.environ | ({"PODMAN": engine} if engine else {})


def run(root, *command):
    done = tried("run", root, *command)
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
def serving(root, *command, engine=None):
    """Runs memcached in the container while the body of the `with` runs."""
    for name in (SOCKET, COUNTERS):
        (root / name).unlink(missing_ok=True)
    with subprocess.Popen([SCRIPT, *command, *SERVE], env=environment(engine),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
            # podman passes the signal on. unshare does not: the container's
            # process 1 is its child.
            children = f"/proc/{process.pid}/task/{process.pid}/children"
            for pid in [process.pid] if engine else map(
                    int, pathlib.Path(children).read_text().split()):
                os.kill(pid, signal.SIGTERM)
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
    """Connects all clients. Each stores a value and then gets it, while all are
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


def check_podman(root):
    """Runs memcached on weft in a podman container, and asks it. Returns
    "RUNTIME likewise" if that worked, else the reason why podman does not work
    on this machine."""
    reasons = []
    for engine in ENGINES:
        if shutil.which("podman") is None:
            return "podman is not installed"
        done = tried("podman", root, "weft", "doctor", engine=engine)
        if done.returncode == 0:
            with serving(root, "podman", root, engine=engine) as process:
                ask(root, process)
            check_counters(root, bool(re.search(r"^I/O backend +uring",
                                                done.stdout, re.M)))
            return f"{engine} likewise"
        reasons.append(f"{engine} does not work: {done.stderr.strip()[-300:]}")
    return "; ".join(reasons)


def check(packages):
    with tempfile.TemporaryDirectory(prefix="weft-") as place:
        root = pathlib.Path(place) / "root"
        make(packages, root)
        check_rights(root)
        for options in ([], ["--allow-io-uring"]):
            with serving(root, "run", root, *options) as process:
                ask(root, process)
            check_counters(root, bool(options))
        return (f"memcached served {CLIENTS} clients from a container, "
                f"without io_uring and with; {check_podman(root)}")
