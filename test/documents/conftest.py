# SPDX-License-Identifier: MIT
"""Examples of the documents, and the folder in which their commands run."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH",
            "PKG_CONFIG_PATH")
# A server that each example may start: it makes threads and ends.
SERVER_C = """
#include <pthread.h>
#include <stdio.h>
static void *serve(void *arg) { return arg; }
int main(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return puts("served") < 0;
}
"""
SERVER_PY = """
import threading
thread = threading.Thread(target=print, args=["served"])
thread.start()
thread.join()
"""


def environment(folder):
    kept = {k: v for k, v in os.environ.items()
            if k not in SCRUBBED and not k.startswith("WEFT_")}
    # Excludes a wrapper for python3 that the user may have.
    kept["PATH"] = f"{folder}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return kept


def run(folder, *command, **more):
    return subprocess.run([str(word) for word in command], cwd=folder,
                          env=environment(folder) | more.pop("env", {}),
                          capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, **more)


@pytest.fixture
def folder(tmp_path):
    """Makes a folder with the files that the examples name: build/weft,
    ./server, server.c, server.py, and `weft` in PATH."""
    (tmp_path / "build").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ("weft", "libweft.so.0"):
        shutil.copy(BUILD / name, tmp_path / "build")
    (tmp_path / "bin/weft").symlink_to(tmp_path / "build/weft")
    (tmp_path / "server.c").write_text(SERVER_C)
    (tmp_path / "server.py").write_text(SERVER_PY)
    subprocess.run(["cc", "-pthread", "-o", tmp_path / "server",
                    tmp_path / "server.c"], check=True)
    return tmp_path


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Installs weft like `./dev install`, and returns the environment for
    it."""
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                    "--destdir", root], check=True, capture_output=True)
    library = next(root.rglob("libweft.so")).parent
    return {"PKG_CONFIG_PATH": str(next(root.rglob("weft.pc")).parent),
            "PKG_CONFIG_SYSROOT_DIR": str(root),
            "LD_LIBRARY_PATH": str(library)}
