# SPDX-License-Identifier: MIT
"""Processes that end when papers/arch is interrupted.

    children = Children()
    process = children.start(["qemu-system-mips64el", ...], stdin=PIPE)
    children.end(process)
    children.close()        # kills all that are left, and no other one starts

Only threads beside the main one start processes here. Signals interrupt the
main thread, so a process never starts without being remembered.
"""

import subprocess
import threading


class Closed(Exception):
    """The folder's run was interrupted: no process starts any more."""


class Children:
    def __init__(self):
        self.lock = threading.Lock()
        self.processes, self.is_closed = set(), False

    def start(self, command, **more):
        """Returns a subprocess.Popen; raises Closed."""
        with self.lock:
            if self.is_closed:
                raise Closed("interrupted")
            process = subprocess.Popen(command, **more)
            self.processes.add(process)
        return process

    def end(self, process):
        """Kills it unless it has ended. Returns its status."""
        process.kill()
        status = process.wait()
        with self.lock:
            self.processes.discard(process)
        return status

    def close(self):
        with self.lock:
            self.is_closed = True
            for process in self.processes:
                process.kill()
