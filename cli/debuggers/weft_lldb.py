# SPDX-License-Identifier: MIT
"""Shows lldb the threads of a program on weft:

    (lldb) process attach --pid 4711
    (lldb) settings set target.process.python-os-plugin-path .../weft_lldb.py

Then `thread list`, `bt all` and `thread select` have the threads that wait for
something, or for a CPU, beside the kernel's. A thread that runs is at its
kernel thread. lldb asks at each stop; nothing is written into the program.

lldb takes two threads with one number for the same. The first thread of a
process has the number of the first kernel thread, which may run another one. So
OTHER_NUMBER, which is above all numbers of the kernel's, is added to it.
"""

import os
import struct
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import weft_layout  # noqa: E402

# Numbers of DWARF, by which lldb's unwinder knows the registers.
DWARF = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6,
         "rsp": 7, "r8": 8, "r9": 9, "r10": 10, "r11": 11, "r12": 12,
         "r13": 13, "r14": 14, "r15": 15, "rip": 16}
GENERIC = {"rip": "pc", "rsp": "sp", "rbp": "fp", "rdi": "arg1",
           "rsi": "arg2", "rdx": "arg3", "rcx": "arg4", "r8": "arg5",
           "r9": "arg6"}
NAMES = list(DWARF) + ["fs_base"]
OTHER_NUMBER = 1 << 32


def register(at, name):
    found = {"name": name, "bitsize": 64, "offset": 8 * at,
             "encoding": "uint", "format": "hex", "set": 0}
    if name in DWARF:
        found["gcc"] = found["ehframe"] = found["dwarf"] = DWARF[name]
    if name in GENERIC:
        found["generic"] = GENERIC[name]
    return found


class OperatingSystemPlugIn:
    """lldb makes one for each process, and calls its functions by name."""

    def __init__(self, process):
        self.process = process
        self.layout = None
        self.threads = {}

    def read(self, address, size):
        error = lldb.SBError()
        found = self.process.ReadMemory(address, size, error)
        return found if error.Success() else None

    def find_layout(self):
        """The library may be loaded long after the process has begun."""
        target = self.process.GetTarget()
        for context in target.FindSymbols(weft_layout.SYMBOL):
            address = context.GetSymbol().GetStartAddress()
            loaded = address.GetLoadAddress(target)
            if loaded != lldb.LLDB_INVALID_ADDRESS:
                return weft_layout.Layout(self.read, loaded)
        return None

    def get_thread_info(self):
        """The threads with saved registers. lldb adds the kernel threads."""
        self.threads = {}
        try:
            self.layout = self.layout or self.find_layout()
            found = self.layout.threads() if self.layout is not None else []
        except weft_layout.Broken as error:
            print(f"weft: {error}", file=sys.stderr)
            found = []
        for thread in found:
            if thread.registers:
                is_first = thread.start == 0
                self.threads[thread.tid + is_first * OTHER_NUMBER] = thread
        return [{"tid": number, "name": thread.name,
                 "queue": thread.waits_for() or thread.state,
                 "state": "stopped", "stop_reason": "none"}
                for number, thread in self.threads.items()]

    def get_register_info(self):
        return {"sets": ["General Purpose Registers"],
                "registers": [register(at, name)
                              for at, name in enumerate(NAMES)]}

    def get_register_data(self, tid):
        thread = self.threads.get(tid)
        if thread is None:
            return None
        words = dict(thread.registers, fs_base=thread.pthread)
        return struct.pack(f"<{len(NAMES)}Q",
                           *(words.get(name, 0) for name in NAMES))
