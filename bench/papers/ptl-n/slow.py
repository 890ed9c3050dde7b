# SPDX-License-Identifier: MIT
"""A mounted file system of the benchmark's own, as slow as one in a network."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

MOUNT_LIMIT_S = 10


def why_not(program):
    """Returns why there can be no slow file system, or None."""
    if not program.exists():
        return "libfuse3-dev was not installed at the build"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    return None


def wait_for_mount(mount_point, server):
    until = time.monotonic() + MOUNT_LIMIT_S
    while not os.path.ismount(mount_point):
        if server.poll() is not None or time.monotonic() > until:
            raise OSError("the slow file system was not mounted")
        time.sleep(0.02)


@contextlib.contextmanager
def mounted(program, cpu, latency_us, bytes_per_us, mib):
    """Mounts the file system, with its server on that CPU. Yields its file's
    path."""
    with tempfile.TemporaryDirectory(prefix="weft-ptl-n-") as mount_point:
        server = subprocess.Popen(
            ["taskset", "-c", str(cpu), str(program), str(latency_us),
             str(bytes_per_us), str(mib), "-f", "-s", mount_point],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            wait_for_mount(mount_point, server)
            yield pathlib.Path(mount_point) / "file"
        finally:
            server.terminate()  # SIGTERM makes it unmount
            try:
                server.wait(timeout=MOUNT_LIMIT_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
                subprocess.run(["umount", "-l", mount_point], check=False)
