# SPDX-License-Identifier: MIT
"""Two ranks in two network namespaces, over tcp. The network between them is
test/lib/delay.c, which delays each packet."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
WEFT = BUILD / "weft"
DELAY_US = 3000
ROUNDS = 4
LIMIT_S = 300
# The SIZE of network.c.
SIZE = 1000
# Programs read the devices of a namespace from a /sys that is mounted in it.
INSIDE = ["unshare", "--mount", "sh", "-c",
          'mount -t sysfs none /sys && exec "$@"', "sh"]
# Both MPIs call it in place of ssh: [OPTIONS] HOST WORD...
LAUNCHER = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in
{cases}
esac
shift
exec nsenter --net="$path" {inside} sh -c "$*"
"""
MPIS = {
    "mpich": ["-launcher", "ssh", "-launcher-exec", "{launcher}", "-iface",
              "slow0", "-hosts", "{hosts}", "-n", "2"],
    "openmpi": ["--mca", "plm_rsh_agent", "{launcher}", "--host", "{hosts}",
                "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", "slow0",
                "--mca", "oob_tcp_if_include", "slow0",
                "--oversubscribe", "-n", "2"],
}
SETTINGS = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "slow0",
            "MPIR_CVAR_NOLOCAL": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Over a slow network MPI_Finalize of these may hang: see network.c.
STAYING = {"mpich"}
HOSTS = ("10.77.0.1", "10.77.0.2")


class Network:
    """`paths`: the two namespaces. `launcher`: starts a command in one."""

    def __init__(self, paths, folder):
        self.paths = paths
        self.launcher = folder / "launcher"
        cases = "\n".join(f"{host}) path={path} ;;"
                          for host, path in zip(HOSTS, paths))
        self.launcher.write_text(LAUNCHER.format(
            cases=cases, inside=shlex.join(INSIDE)))
        self.launcher.chmod(0o755)

    def started(self, nr, command):
        """A process that runs the command in a namespace."""
        return subprocess.Popen(
            ["nsenter", f"--net={self.paths[nr]}", *INSIDE,
             *map(str, command)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **SETTINGS})

    def run(self, nr, command):
        with self.started(nr, command) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(command, process.returncode, out,
                                           err)

    def sent(self, nr):
        """The bytes that the namespace has sent to the slow network."""
        text = self.run(nr, ["cat", "/proc/net/dev"]).stdout
        line = next(line for line in text.splitlines() if "slow0:" in line)
        return int(line.split(":")[1].split()[8])

    def mpiexec(self, mpi, prefix, path, nr_threads):
        """Returns the time that rank 0 prints, and stderr."""
        words = [word.format(launcher=self.launcher, hosts=",".join(HOSTS))
                 for word in MPIS[mpi]]
        stay = ["stay"] if mpi in STAYING else []
        with self.started(0, [f"mpiexec.{mpi}", *words, *prefix, path,
                              nr_threads, ROUNDS, *stay]) as process:
            limit = threading.Timer(LIMIT_S, process.terminate)
            limit.start()
            line = process.stdout.readline()
            if stay:
                process.terminate()
            _, err = process.communicate()
            limit.cancel()
        assert line, err
        assert stay or process.returncode == 0, err
        return int(line), err


@contextlib.contextmanager
def slow_network(delay_us, folder):
    with subprocess.Popen([BUILD / "test/lib/delay", str(delay_us)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as relay:
        paths = [relay.stdout.readline().strip() for _ in HOSTS]
        impossible = [line for line in paths if not line.startswith("/proc/")]
        if impossible:
            pytest.skip(impossible[0])
        network = Network(paths, folder)
        done = network.run(0, ["true"])
        if done.returncode != 0:
            pytest.skip(done.stderr.strip())
        yield network
        relay.stdin.close()
        assert relay.wait(timeout=LIMIT_S) == 0


@pytest.fixture(scope="module", params=MPIS)
def program(request, tmp_path_factory):
    """(name of the MPI, the program built with it)"""
    mpi = request.param
    for tool in (f"mpicc.{mpi}", f"mpiexec.{mpi}"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    path = tmp_path_factory.mktemp(mpi) / "network"
    subprocess.run([f"mpicc.{mpi}", "-O1", "-pthread", "-o", path,
                    HERE / "network.c"], check=True, timeout=LIMIT_S)
    return mpi, path


def check_messages(program, folder, nr_threads, prefix):
    """Each rank sends a message of SIZE bytes per thread and round, and a
    message takes as long as the delay."""
    mpi, path = program
    with slow_network(DELAY_US, folder) as network:
        time_us, stderr = network.mpiexec(mpi, prefix, path, nr_threads)
        for nr in range(2):
            assert network.sent(nr) > nr_threads * ROUNDS * SIZE
    assert time_us >= 2 * ROUNDS * DELAY_US
    return stderr


def test_native_threads(program, tmp_path):
    check_messages(program, tmp_path, 4, [])


def test_threads_of_weft(program, tmp_path):
    """Each message takes 3 ms, so each receiving thread has to park. Counters
    are printed at a rank's exit."""
    stderr = check_messages(program, tmp_path, 200,
                            [WEFT, "run", "--mpi", "--stats", "--"])
    parked = re.findall(r"calls that parked their thread: (\d+)", stderr)
    assert program[0] in STAYING or \
        (len(parked) == 2 and min(map(int, parked)) >= 200)


def test_the_relay_refuses_malformed_delays():
    for words in ([], ["-1"], ["x"], ["1x"], ["1", "2"]):
        done = subprocess.run([BUILD / "test/lib/delay", *words],
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 2
        assert done.stderr.startswith("usage: delay MICROSECONDS")
