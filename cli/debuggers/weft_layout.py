# SPDX-License-Identifier: MIT
"""The threads of a program on weft, for debuggers.

    layout = Layout(read, address)      # of the symbol weft_layout
    for thread in layout.threads():
        print(thread.tid, thread.name, thread.state)

`read(address, size)` returns bytes of the stopped program or of its core, or
None. The library describes its data itself (src/see/layout.h), so no debug data
of weft's is needed. The bytes may be wrong, as those of a damaged core: each
number has a limit, and Broken is raised beyond it.
"""

import struct

SYMBOL = "weft_layout"
MAGIC, FORM = b"WeftSee\n", 1
HEAD = struct.Struct("<8sII16s16sQII")
ITEM = struct.Struct("<32s16sIIQ")
ADDRESS, STRUCT, FIELD, ENUM, NUMBER = range(1, 6)
MOST_ITEMS, MOST_BYTES, MOST_THREADS, MOST_VPS = 4096, 4096, 1 << 22, 1024
# Records are read in blocks of this size.
BLOCK = 256
# Of ucontext_t on x86-64: the registers of a signal frame, in their order.
UCONTEXT_REGISTERS = 40
SIGNAL_FRAME = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi",
                "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip")


class Broken(Exception):
    """The data contradicts itself, or cannot be read."""


def text_of(raw):
    word = raw.split(b"\0", 1)[0].decode("ascii", "replace")
    return "".join(c if c.isprintable() else "?" for c in word)


class Thread:
    """A thread of the program. `registers` are those with which it runs again:
    {} if it runs, and then its kernel thread has the pthread_t in fs_base."""

    def __init__(self, tid, pthread, name):
        self.tid, self.pthread, self.name = tid, pthread, name
        self.state = "running"
        self.wait_kind, self.wait_address = None, 0
        self.start = 0
        self.is_bound = False
        self.registers = {}
        # True: rip is where it goes on. False: rip is a return address.
        self.is_exact = False

    def waits_for(self):
        if self.wait_kind is None:
            return ""
        return f"{self.wait_kind} {self.wait_address:#x}"


class Layout:
    """The data of one library, as its layout describes it."""

    def __init__(self, read, address):
        self.read = read
        self.fields, self.numbers, self.words = {}, {}, {}
        (magic, form, _, version, _, items, nr, size) = HEAD.unpack(
            self.get(address, HEAD.size))
        if magic != MAGIC:
            raise Broken("the layout of libweft.so cannot be read")
        self.version = text_of(version)
        if form != FORM:
            raise Broken(f"weft {self.version} has another form of layout: "
                         "use the file that was installed with it")
        if nr > MOST_ITEMS or not ITEM.size <= size <= MOST_BYTES:
            raise Broken("the layout of libweft.so is damaged")
        whole = self.get(items, nr * size)
        for at in range(0, nr * size, size):
            self.add(*ITEM.unpack_from(whole, at))

    def add(self, name, of, what, size, value):
        name = text_of(name)
        if what == FIELD:
            self.fields[name] = (value, size)
        elif what == ENUM:
            self.words[text_of(of), value] = name
        else:
            self.numbers[name] = value

    def get(self, address, size):
        found = self.read(address, size)
        if found is None or len(found) != size:
            raise Broken(f"{size} bytes at {address:#x} cannot be read")
        return bytes(found)

    def value(self, raw, name):
        """A field in a copy of its struct; 0 if this version has none."""
        offset, size = self.fields.get(name, (0, 0))
        return int.from_bytes(raw[offset:offset + min(size, 8)], "little")

    def peek(self, base, name):
        offset, size = self.fields.get(name, (0, 0))
        if base == 0 or size == 0:
            return 0
        return int.from_bytes(self.get(base + offset, min(size, 8)), "little")

    def word(self, of, value):
        return self.words.get((of, value))

    def number(self, name):
        return self.numbers.get(name, 0)

    def threads(self):
        """All threads, in the order of their records."""
        if self.peek(self.number("sched"), "sched.is_started") == 0:
            return []
        table, = struct.unpack("<Q", self.get(self.number("table"), 8))
        nr, = struct.unpack("<I", self.get(self.number("table_used"), 4))
        size = self.number("thread")
        if nr > MOST_THREADS or not 64 <= size <= MOST_BYTES:
            raise Broken("the table of threads is damaged")
        found = []
        # The first record stands for "none".
        for first in range(1, nr, BLOCK):
            count = min(BLOCK, nr - first)
            whole = self.get(table + first * size, count * size)
            for at in range(0, len(whole), size):
                thread = self.thread(whole[at:at + size])
                if thread is not None:
                    found.append(thread)
        return found

    def thread(self, raw):
        """The thread of a record; None: the record is free, or its thread has
        exited and no stack."""
        def field(name):
            return self.value(raw, "thread." + name)

        tid, = struct.unpack("<i", field("tid").to_bytes(4, "little"))
        exited = field("exit_state") & self.number("exit_state.done")
        if tid <= 0 or exited:
            return None
        offset, size = self.fields.get("thread.name", (0, 0))
        thread = Thread(tid, field("slot.tcb"),
                        text_of(raw[offset:offset + size]))
        thread.start = field("start_routine")
        thread.is_bound = \
            self.word("thread_kind", field("kind")) != "multiplexed"
        if field("not_started") & self.number("not_started.bit"):
            # The place of ctx.sp has control words until then.
            self.set_new(thread, field("start_arg"))
            return thread
        saved = field("ctx.sp")
        if saved:
            self.set_saved(thread, saved, field("start_arg"))
        if field("wait_addr") and (saved or thread.is_bound):
            thread.state = "parked"
            thread.wait_address = field("wait_addr")
            thread.wait_kind = self.word("wait_kind", field("wait_kind"))
        return thread

    @staticmethod
    def set_new(thread, argument):
        """As at the call of the start routine, which has no caller."""
        thread.state = "new"
        thread.registers = {"rip": thread.start, "rdi": argument, "rsp": 0,
                            "rbp": 0}
        thread.is_exact = True

    def set_saved(self, thread, saved, argument):
        size = self.number("frame.bytes")
        if size > MOST_BYTES:
            raise Broken("the size of a saved frame is damaged")
        frame = self.get(saved, size)

        def word(name):
            at = self.number(name)
            return int.from_bytes(frame[at:at + 8], "little")

        thread.state = "runnable"
        thread.registers = {"rip": word("frame.rip"), "rbp": word("frame.rbp"),
                            "rsp": saved + size}
        if thread.registers["rip"] == self.number("thread_entry"):
            self.set_new(thread, argument)
        elif thread.registers["rip"] == self.number("frame_resume"):
            # Preempted: all registers are in the copy of its signal frame.
            at = saved + size + UCONTEXT_REGISTERS
            words = struct.unpack(f"<{len(SIGNAL_FRAME)}Q",
                                  self.get(at, 8 * len(SIGNAL_FRAME)))
            thread.registers = dict(zip(SIGNAL_FRAME, words))
            thread.is_exact = True
