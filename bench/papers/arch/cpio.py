# SPDX-License-Identifier: MIT
"""Archives of the kernel's kind, "newc", of files that all may execute.

    archive({"init": b"...", "lib/libc.so.6": b"..."})
"""

MAGIC = "070701"
FOLDER, FILE, DEVICE = 0o040755, 0o100755, 0o020600
CONSOLE = (5, 1)
END = "TRAILER!!!"


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def entry(number, name, mode, data=b"", device=(0, 0)):
    text = name.encode() + b"\0"
    # inode, mode, owner, group, links, time, size, device of the file system,
    # device, length of the name, checksum
    numbers = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(text),
               0)
    head = MAGIC + "".join(f"{number:08X}" for number in numbers)
    return padded(head.encode() + text) + padded(data)


def folders(names):
    """Returns all folders of the names, each after its parent."""
    found = {"dev": None}
    for name in names:
        parts = name.split("/")[:-1]
        for nr in range(len(parts)):
            found["/".join(parts[:nr + 1])] = None
    return list(found)


def archive(files):
    """Returns an archive of {path without a leading slash: bytes}. It also has
    the console's device, which the first process needs before it can mount
    anything."""
    entries = [(name, FOLDER, b"", (0, 0)) for name in folders(files)]
    entries.append(("dev/console", DEVICE, b"", CONSOLE))
    entries += [(name, FILE, data, (0, 0)) for name, data in files.items()]
    parts = [entry(number, *each) for number, each in enumerate(entries, 1)]
    return b"".join(parts) + entry(0, END, 0)
