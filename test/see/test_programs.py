# SPDX-License-Identifier: MIT
"""Threads of real programs, live and in a core. Missing programs skip."""

import contextlib
import getpass
import json
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest

import debuggers
from outside import LIMIT_S, WEFT, await_dump, dump, environment, weft

USER = getpass.getuser()
PYTHON = "/usr/bin/python3"
SOURCE = """
import sys, threading
turn = threading.Lock()
turn.acquire()
threading.stack_size(256 << 10)
for i in range({nr}):
    threading.Thread(target=turn.acquire, name=f"t{{i}}", daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
NR_THREADS, NR_CONNECTIONS, NR_PARKED = 2000, 256, 20
JAVA = """
import java.util.concurrent.CountDownLatch;

public class Stuck {{
	public static void main(String[] args) throws Exception {{
		CountDownLatch never = new CountDownLatch(1);

		for (int i = 0; i < {nr}; i++) {{
			Thread thread = new Thread(() -> {{
				try {{
					never.await();
				}} catch (InterruptedException e) {{
				}}
			}}, "stuck-" + i);
			thread.setDaemon(true);
			thread.start();
		}}
		System.out.println("ready");
		System.in.read();
	}}
}}
"""


@contextlib.contextmanager
def running(*command, folder):
    with open(folder / "log", "wb") as log, subprocess.Popen(
            [WEFT, "run", *map(str, command)], stdin=subprocess.PIPE,
            stdout=log, stderr=log, env=environment(),
            cwd=folder) as process:
        try:
            yield process
        finally:
            process.kill()


def await_connection(path):
    end = time.monotonic() + LIMIT_S
    while True:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(str(path))
            return peer
        except OSError:
            peer.close()
            assert time.monotonic() < end
            time.sleep(0.02)


def await_text(path, text):
    end = time.monotonic() + LIMIT_S
    while text not in path.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)


def need(*programs):
    for program in programs:
        if not shutil.which(program, path="/usr/sbin:/usr/bin:/bin"):
            pytest.skip(f"{program} is not installed")


def tids_of(found):
    return {t["tid"] for t in found["threads"]}


def check(pid, program, folder, nr, kind=None):
    """Waits until nr threads of the process wait for an object of this kind.
    Then makes a core, and checks that it has the threads of the process.
    Returns the functions of the core's threads. The program may create and end
    threads meanwhile."""
    before = tids_of(await_dump(pid, lambda threads: sum(
        t["state"] == "parked" and
        kind in (None, t.get("parkBlocker", {}).get("kind"))
        for t in threads) >= nr))
    core = folder / "core"
    weft("core", pid, core)
    after = tids_of(dump(pid))
    assert before & after <= tids_of(dump(core)) <= before | after
    stacks = debuggers.gdb_stacks(program, core)
    assert before & after <= stacks.keys()
    return [stacks[tid] for tid in before & after]


def test_python(tmp_path):
    need(PYTHON)
    with running(PYTHON, "-c", SOURCE.format(nr=NR_THREADS),
                 folder=tmp_path) as process:
        await_text(tmp_path / "log", "ready")
        stacks = check(process.pid, PYTHON, tmp_path, NR_THREADS + 1)
        waiting = [called for called in stacks
                   if "PyThread_acquire_lock_timed" in called]
        assert len(waiting) == NR_THREADS
        assert all("_PyEval_EvalFrameDefault" in called or
                   any("Py" in name for name in called)
                   for called in waiting)


def test_redis(tmp_path):
    need("redis-server")
    path = tmp_path / "socket"
    with running("/usr/bin/redis-server", "--port", 0, "--unixsocket", path,
                 "--io-threads", 8, folder=tmp_path) as process:
        await_connection(path).close()
        stacks = check(process.pid, "/usr/bin/redis-server", tmp_path, 3,
                       "condition")
        assert sum("pthread_cond_wait" in called for called in stacks) >= 3


def test_mariadb(tmp_path):
    need("mariadbd", "mariadb-install-db")
    data, path = tmp_path / "data", tmp_path / "socket"
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}",
                    f"--user={USER}", "--skip-test-db"], check=True,
                   capture_output=True)
    mariadbd = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
    with running(mariadbd, "--no-defaults", f"--datadir={data}",
                 f"--socket={path}", "--skip-networking", f"--user={USER}",
                 "--max-connections=600", "--connect-timeout=3600",
                 f"--pid-file={tmp_path / 'pid'}",
                 folder=tmp_path) as process, contextlib.ExitStack() as stack:
        for _ in range(NR_CONNECTIONS):
            peer = stack.enter_context(await_connection(path))
            peer.settimeout(LIMIT_S)
            assert peer.recv(4096)  # a thread greets
        stacks = check(process.pid, mariadbd, tmp_path, NR_CONNECTIONS)
        assert sum(any("handle_one_connection" in name for name in called)
                   for called in stacks) >= NR_CONNECTIONS


def stacks_of(which):
    """{tid: functions}"""
    text = weft("stacks", "--json", which).stdout
    return {t["tid"]: [frame.get("function") for frame in stack["frames"]]
            for stack in json.loads(text)["stackDump"]["stacks"]
            for t in stack["threads"]}


def test_java(tmp_path):
    """The number that jstack prints as `nid` is the tid of a row."""
    need("java", "jstack")
    (tmp_path / "Stuck.java").write_text(JAVA.format(nr=NR_PARKED))
    java = pathlib.Path(shutil.which("java")).resolve()
    with running(java, "-Xmx128m", "Stuck.java", folder=tmp_path) as process:
        await_text(tmp_path / "log", "ready")
        await_dump(process.pid, lambda threads: sum(
            t["name"].startswith("stuck-") and t["state"] == "parked"
            for t in threads) == NR_PARKED)
        text = subprocess.run(["jstack", str(process.pid)], check=True,
                              text=True, capture_output=True,
                              timeout=LIMIT_S).stdout
        nids = {name: int(nid, 0) for name, nid in re.findall(
            r'^"(stuck-\d+)" .* nid=(\w+) ', text, re.M)}
        assert len(nids) == NR_PARKED
        check(process.pid, java, tmp_path, NR_PARKED, "condition")
        for which in process.pid, tmp_path / "core":
            threads = {t["tid"]: t for t in dump(which)["threads"]}
            assert {threads[tid]["name"]: tid for tid in nids.values()} == nids
            assert {threads[tid]["parkBlocker"]["kind"]
                    for tid in nids.values()} == {"condition"}
            row, = dump(which, f"--tid={nids['stuck-7']}")["threads"]
            assert row["name"] == "stuck-7"
            if "without libdw" in weft("stacks", "--help").stdout:
                continue
            stacks = stacks_of(which)
            assert all(any("Parker::park" in (name or "") or
                           "Parker4park" in (name or "")
                           for name in stacks[tid]) for tid in nids.values())
