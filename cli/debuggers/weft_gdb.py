# SPDX-License-Identifier: MIT
"""Commands of gdb for the threads of a program on weft:

    info weft-threads           lists them
    weft thread TID             selects one; `bt`, `up`, `print` then follow it
    weft thread off             goes back to the kernel thread
    weft apply all COMMAND      runs a command in each, as `thread apply`

gdb knows kernel threads only. For a selected thread an unwinder gives the
innermost frame of the current kernel thread, the host, the thread's frames as
its callers. The host's own frame is left out of backtraces. No register and no
memory of the program is written, so a core file works as well.

* The unwinder answers for frames with the stack pointer and the program counter
  that the host stopped with. The frames of all other kernel threads stay as
  they are.
* When the program goes on, no thread is selected.
* gdb takes the program counter of a caller for a return address and looks up
  the address before it. A thread that was preempted or is new goes on at the
  address itself. So the unwinder says the next address, for which gdb finds the
  right function, line and rules.
"""

import re

import gdb
import gdb.frames
import gdb.unwinder

import weft_layout

# The thread that is selected: see Selected. None: kernel threads only.
selected = None
FORM = "{:1} {:>10}  {:<16} {:<9} {}"


def read(address, size):
    try:
        return gdb.selected_inferior().read_memory(address, size).tobytes()
    except (gdb.MemoryError, OverflowError):
        return None


def layout():
    """The layout of the program's library. Needs only dynamic symbols, and no
    expression, since these differ from language to language."""
    try:
        text = gdb.execute(f"info address {weft_layout.SYMBOL}",
                           to_string=True)
        address = int(re.search(r"0x[0-9a-f]+", text)[0], 16)
    except (gdb.error, TypeError) as error:
        raise gdb.GdbError("The program does not run on weft, or has not "
                           "loaded libweft.so.") from error
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("The program is not being run.")
    return weft_layout.Layout(read, address)


def threads():
    try:
        found = layout().threads()
    except weft_layout.Broken as error:
        raise gdb.GdbError(f"weft: {error}.") from error
    if not found:
        raise gdb.GdbError("The program has made no thread yet, so weft has "
                           "not started.")
    return found


def number(value):
    return int(value) & (1 << 64) - 1


def place(frame):
    """(program counter, stack pointer)"""
    return (number(frame.read_register("rip")),
            number(frame.read_register("rsp")))


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Selected:
    """A thread of weft's, with the current kernel thread as its host."""

    def __init__(self, thread):
        self.thread = thread
        self.host = gdb.selected_thread().ptid
        self.place = place(gdb.newest_frame())

    def is_here(self):
        now = gdb.selected_thread()
        return now is not None and now.ptid == self.host

    def is_of_kernel(self, frame):
        """Inlined functions share the place of the function around them."""
        return self.is_here() and place(frame) == self.place


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("weft")

    def __call__(self, frame):
        if selected is None or not selected.is_of_kernel(frame):
            return None
        registers = dict(selected.thread.registers,
                         fs_base=selected.thread.pthread)
        registers["rip"] += selected.thread.is_exact  # see the top
        like = {name: frame.read_register(name) for name in registers}
        # A caller's frame must not lie below that of the function it called.
        below = max(registers["rsp"] - 1, 0)
        info = frame.create_unwind_info(FrameId(
            value(below, like["rsp"]), value(selected.place[0], like["rip"])))
        for name, word in registers.items():
            info.add_saved_register(name, value(word, like[name]))
        return info


def value(word, like):
    return gdb.Value(word.to_bytes(8, "little"), like.type)


class Filter:
    """Leaves the kernel thread's frame out of backtraces."""

    name, priority, enabled = "weft", 1000, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    @staticmethod
    def filter(frames):
        for frame in frames:
            if selected is None or \
                    not selected.is_of_kernel(frame.inferior_frame()):
                yield frame


def unselect(_event=None):
    global selected
    if selected is not None:
        selected = None
        gdb.invalidate_cached_frames()


def switch_to_kernel_thread(is_right):
    """Selects the first kernel thread with the right frame, the present one
    first. In a core, libthread_db adds threads that have no registers."""
    before = gdb.selected_thread()
    for each in before, *gdb.selected_inferior().threads():
        try:
            each.switch()
            if is_right(gdb.newest_frame()):
                return
        except gdb.error:
            continue
    before.switch()
    raise gdb.GdbError("No kernel thread runs this thread or can lend it a "
                       "frame.")


def select(thread):
    """Selects a thread, and its innermost frame."""
    global selected
    unselect()
    if not thread.registers:
        switch_to_kernel_thread(lambda frame: thread.pthread == number(
            frame.read_register("fs_base")))
        gdb.newest_frame().select()
        return
    switch_to_kernel_thread(place)
    selected = Selected(thread)
    gdb.invalidate_cached_frames()
    frame = gdb.newest_frame()
    while frame is not None and selected.is_of_kernel(frame):
        frame = frame.older()
    if frame is None:
        unselect()
        raise gdb.GdbError(f"The stack of thread {thread.tid} cannot be read.")
    frame.select()


def title(thread):
    words = [f"Weft thread {thread.tid} ({thread.name})", thread.state]
    if thread.wait_kind is not None:
        words.append(thread.waits_for())
    return ", ".join(words)


def place_of(thread):
    """Where the thread goes on, or what it waits for."""
    if thread.wait_kind is not None:
        return thread.waits_for()
    if not thread.registers:
        return "on a kernel thread"
    address = thread.registers["rip"]
    text = gdb.execute(f"info symbol {address:#x}", to_string=True).strip()
    return f"{address:#x}" if text.startswith("No symbol") else text


class Info(gdb.Command):
    """List the threads of a program on weft.
Usage: info weft-threads

Each line has the tid, the name, the state, and what the thread waits for or
where it goes on.  The selected thread has a star."""

    def __init__(self):
        super().__init__("info weft-threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError("Usage: info weft-threads")
        print(FORM.format("", "Tid", "Name", "State", "Waits for or is at"))
        for thread in threads():
            star = "*" if selected is not None and selected.is_here() and \
                selected.thread.tid == thread.tid else ""
            print(FORM.format(star, thread.tid, thread.name, thread.state,
                              place_of(thread)))


class Prefix(gdb.Command):
    """Commands for the threads of a program on weft."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


class Select(gdb.Command):
    """Select a thread of a program on weft, or show the selected one.
Usage: weft thread [TID | off]

Then bt, up, frame and print are about this thread, until the program goes on.
"weft thread off" goes back to the kernel thread.  Variables of type __thread
are those of the kernel thread: "weft core" makes a core with the thread's."""

    def __init__(self):
        super().__init__("weft thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if words == ["off"]:
            unselect()
        elif not words:
            print(title(selected.thread) if selected is not None else
                  "No thread of weft's is selected.")
        else:
            thread, = find(words)
            select(thread)
            print(f"[Switching to {title(thread)}]")
            gdb.execute("frame")


def find(words):
    by_tid = {str(thread.tid): thread for thread in threads()}
    for word in words:
        if word not in by_tid:
            raise gdb.GdbError(f"No thread has the tid {word}: see "
                               "info weft-threads.")
    return [by_tid[word] for word in words]


class Apply(gdb.Command):
    """Run a command in threads of a program on weft.
Usage: weft apply all COMMAND
       weft apply TID... COMMAND

An error of the command in a thread is printed, and the next thread follows."""

    def __init__(self):
        super().__init__("weft apply", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        match = re.fullmatch(r"(all|\d+(?:\s+\d+)*)\s+(\D.*)", argument.strip())
        if match is None:
            raise gdb.GdbError("Usage: weft apply all|TID... COMMAND")
        chosen = threads() if match[1] == "all" else find(match[1].split())
        before, kernel = selected, gdb.selected_thread()
        for thread in chosen:
            self.run(thread, match[2])
            kernel.switch()
        unselect()
        if before is not None:
            select(before.thread)

    @staticmethod
    def run(thread, command):
        print(f"\n{title(thread)}:")
        try:
            select(thread)
            gdb.execute(command)
        except gdb.error as error:
            print(error)


def install():
    Prefix()
    Info()
    Select()
    Apply()
    Filter()
    gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
    gdb.events.cont.connect(unselect)
    gdb.events.exited.connect(unselect)


install()
