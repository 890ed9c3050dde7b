# SPDX-License-Identifier: MIT
"""Writes the core file of a live process, with all stacks: gdb's gcore leaves
out what lies behind a guard."""

import pathlib
import struct

PAGE = 4096
PT_LOAD, PT_NOTE, NT_FILE, ET_CORE, EM_X86_64 = 1, 4, 0x46494c45, 4, 62


def mappings(pid):
    """(start, end, offset, file) of readable mappings; file may be ''."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in fields[0].split("-"))
        name = fields[5] if len(fields) > 5 else ""
        if fields[1][0] == "r" and not name.startswith("[v"):
            yield start, end, int(fields[2], 16), name


def readable(memory, start, end):
    """Runs of pages that can be read: (address, bytes)."""
    address, run = start, b""
    for page in range(start, end, PAGE):
        try:
            memory.seek(page)
            data = memory.read(PAGE)
        except OSError:
            data = b""
        if data and any(data):
            if not run:
                address = page
            run += data
        elif run:
            yield address, run
            run = b""
    if run:
        yield address, run


def note_of_files(maps):
    files = [each for each in maps if each[3].startswith("/")]
    body = struct.pack("<QQ", len(files), PAGE)
    for start, end, offset, _ in files:
        body += struct.pack("<QQQ", start, end, offset // PAGE)
    body += b"".join(name.encode() + b"\0" for *_, name in files)
    return struct.pack("<III8s", 5, len(body), NT_FILE, b"CORE") + body + \
        bytes(-len(body) % 4)


def write(pid, path):
    maps = list(mappings(pid))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        # Code is not in a kernel's core either.
        runs = [run for start, end, _, name in maps
                if not name.startswith("/") or end - start < 1 << 20
                for run in readable(memory, start, end)]
    note = note_of_files(maps)
    nr = len(runs) + 1
    at = 64 + 56 * nr
    heads = struct.pack("<IIQQQQQQ", PT_NOTE, 4, at, 0, 0, len(note), 0, 4)
    at += len(note)
    for address, data in runs:
        heads += struct.pack("<IIQQQQQQ", PT_LOAD, 6, at, address, 0,
                             len(data), len(data), PAGE)
        at += len(data)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", ET_CORE,
                         EM_X86_64, 1, 0, 64, 0, 0, 64, 56, nr, 64, 0, 0)
    with open(path, "wb") as core:
        core.write(header + heads + note)
        for _, data in runs:
            core.write(data)
