# SPDX-License-Identifier: MIT
"""A small result of papers/arch, in the form in which the suite writes it."""


def side(samples, instructions, call=0.0, emulated=None, **more):
    kinds = {"call": call}
    if emulated is not None:
        kinds["emulated"] = emulated
    return {"samples": samples, "median": samples[0] if samples else None,
            "why": "", "instructions": instructions, "kinds": kinds,
            "counted_why": "", "is_timed": True, "is_counted": True, **more}


def rows(emulated, factor):
    """emulated: the number of emulated instructions of a look-up, or None."""
    return {
        "self look-up": {"unit": "ns", "sides": {
            "NPTL": side([150, 160], 5.0 * factor, 0, emulated),
            "LinuxThreads": side([170, 175], 6.0 * factor, 0, emulated)}},
        "self by stack pointer": {"unit": "ns", "sides": {
            "LinuxThreads": side([20, 25], 24, 0,
                                 None if emulated is None else 0.0)}},
        "mutex call": {"unit": "ns", "sides": {
            "NPTL": side([570, 575], 195, 0,
                         None if emulated is None else 3.0),
            "LinuxThreads": side([520, 522], 75, 0, emulated)}},
        "semaphore call": {"unit": "ns", "sides": {
            "NPTL": side([100], 90), "LinuxThreads": side([120], 150)}},
        "semaphore that wakes": {"unit": "ns", "sides": {
            "NPTL": side([1900], 1100, 1.0)}},
        "create": {"unit": "us", "sides": {
            "NPTL": side([146, 150], 36000, is_counted=False, kinds=None),
            "LinuxThreads": side([], None, kinds=None, is_counted=False,
                                 why="no end after <20> s",
                                 counted_why="the emulator ended")}},
        "an empty loop": {"unit": "ns", "sides": {"NPTL": side([4], 3)}},
        "read the thread register": {"unit": "ns", "sides": {
            "NPTL": side([100], 34, 0, emulated)}},
        "set the thread register, instruction": {"unit": "ns", "sides": {
            "NPTL": side([20, 21], 6)}},
        "set the thread register, system call": {"unit": "ns", "sides": {
            "NPTL": side([400, 420], 300, 1.0)}},
        "create and join": {"unit": "us", "sides": {
            "NPTL": side([], 45000, 10.0, is_timed=False),
            "LinuxThreads": side([], 140000, 26.0, is_timed=False)}},
    }


def native(samples, why=""):
    return {"unit": "ns", "samples": samples, "why": why}


ARCH = {
    "suite": "papers/arch", "runs": 2, "scale": 5,
    "native": {
        "set the thread register, instruction": native([20, 22]),
        "set the thread register, system call": native([380, 400]),
        "user-level switch, instruction": native([], "no wrfsbase"),
    },
    "machines": {
        "mips64el": {"title": "MIPS64", "kernel": "6.1", "why": "",
                     "has_register": False, "rows": rows(1.0, 8)},
        "x86-64": {"title": "x86-64", "kernel": "6.1", "why": "",
                   "has_register": True, "rows": rows(None, 1)},
    },
    "systems": [
        {"system": "trixie", "cpu": "x86-64", "kernel": "6.12.1",
         "libc": "glibc 2.41", "natively": {"mutex": 10, "sem": 8},
         "failed": ["sem:named"], "command": "./dev", "why": ""},
        {"system": "testing", "cpu": "x86-64", "kernel": "", "libc": "",
         "natively": {}, "failed": [], "command": "./dev",
         "why": "apt-get failed: no network"},
    ],
}
