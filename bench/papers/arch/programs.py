# SPDX-License-Identifier: MIT
"""Programs for the emulated machines: {name: (sources, flags)}."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]

GUEST = ("bench/papers/arch/guest.c",)
# Libraries beside the loader; NPTL's pthread_exit() loads the second.
LIBRARIES = ("libc.so.6", "libgcc_s.so.1")

BENCHES = {
    "bench_uncontended": (("bench/micro/uncontended.c",), ()),
    "bench_ping_pong_sem": (("bench/micro/ping_pong_sem.c",), ()),
    "bench_ping_pong_cond": (("bench/micro/ping_pong_cond.c",), ()),
    "bench_create_join": (("bench/micro/create_join.c",), ()),
    "bench_apart": (("bench/papers/nptl/apart.c",), ()),
    "bench_turns_mutex": (("bench/papers/nptl/turns_mutex.c",), ()),
    "bench_waking_sem": (("bench/papers/nptl/waking_sem.c",), ()),
    "bench_thread_register": (("bench/papers/arch/thread_register.c",), ()),
}

HARNESS = tuple(f"test/lib/{name}.c"
                for name in ("check", "check_main", "child"))
TESTS = {
    f"test_{name}": ((f"test/papers/{name}.c", *HARNESS),
                     ("-I", str(ROOT / "test/lib")))
    for name in ("linuxthreads", "linuxthreads_ends")
}


def linuxthreads():
    """The sources of the model."""
    folder = ROOT / "bench/papers/linuxthreads"
    return tuple(str(path.relative_to(ROOT))
                 for path in sorted(folder.glob("*.c")))
