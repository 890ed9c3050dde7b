# SPDX-License-Identifier: MIT
import shutil
import subprocess

import check_layers
import pytest


@pytest.mark.parametrize("file, included", [
    ("sched/a.c", "sched/b.h"),
    ("sched/a.c", "base/list.h"),
    ("arch/x86_64/cpu.h", "base/compiler.h"),
    ("arch/x86_64/switch.S", "arch/x86_64/frame.h"),
    ("api/pthread.c", "boot/start.h"),
    ("api/weft.c", "weft/weft.h"),
    ("boot/start.c", "weft/weft.h"),
    ("io/call/read.c", "io/backend/ring.h"),
    ("io/backend/ring.c", "io/file/pin.h"),
    ("io/file/pin.c", "io/io.h"),
    ("io/file/pin.c", "sched/call.h"),
])
def test_allowed(tree, file, included):
    root = tree({f"src/{file}": f'#include "{included}"\n#include <x/y.h>\n'})
    assert check_layers.check(root) == []


@pytest.mark.parametrize("file, included, why", [
    ("base/a.c", "arch/b.h", "base (rank 0) may not include from arch"),
    ("sched/a.c", "wait/b.h", "sched (rank 6)"),
    ("arch/x86_64/switch.S", "os/b.h", "arch (rank 1)"),
    ("ipc/a.h", "api/b.h", "ipc (rank 15)"),
    ("sched/a.c", "thread.h", "from src/"),
    ("sched/a.c", "cli/cli.h", "no folder 'cli'"),
    ("sync/a.c", "weft/weft.h", "public header"),
    ("io/file/pin.c", "io/call/read.h", "order is file, backend, call"),
    ("io/io.h", "io/backend/ring.h", "order is file, backend, call"),
])
def test_forbidden(tree, file, included, why):
    root = tree({f"src/{file}": f'\n  # include "{included}"\n'})
    errors = check_layers.check(root)
    assert len(errors) == 1
    assert f"{file}:2: {included}: " in errors[0] and why in errors[0]


@pytest.mark.parametrize("file", ["src/a.c", "src/misc/a.c"])
def test_unknown_folder(tree, file):
    assert "no known folder" in check_layers.check(tree({file: ""}))[0]


def compiled(root, files, *flags):
    """A build of the files: {"src_base_a.c.o": "int a;"}."""
    if shutil.which("gcc-nm") is None:
        pytest.skip("no gcc")
    objects = root / check_layers.OBJECTS
    objects.mkdir(parents=True)
    for name, text in files.items():
        subprocess.run(["gcc", *flags, "-xc", "-c", "-o", objects / name, "-"],
                       input=text, text=True, check=True)
    return root


@pytest.mark.parametrize("flags", [[], ["-flto"]])
def test_symbols_point_down(tmp_path, flags):
    build = compiled(tmp_path, {
        "src_base_log.c.o": "extern void (*const wf_upcall)(void);"
                            "void wf_log(void) { wf_upcall(); }",
        "src_io_backend_ring.c.o": "void wf_log(void); int read(void);"
                                   "void wf_ring(void) { wf_log(); read(); }",
        "src_io_call_read.c.o": "void wf_ring(void);"
                                "void wf_read(void) { wf_ring(); }",
        "src_api_upcall.c.o": "void wf_read(void);"
                              "void (*const wf_upcall)(void) = wf_read;",
    }, *flags)
    assert check_layers.check_objects(build) == []


@pytest.mark.parametrize("flags", [[], ["-flto"]])
def test_symbols_that_point_up(tmp_path, flags):
    build = compiled(tmp_path, {
        "src_base_log.c.o": "void wf_sink(void);"
                            "void wf_log(void) { wf_sink(); }",
        "src_os_output.c.o": "extern int wf_state;"
                             "int wf_hook(void) __attribute__((weak));"
                             "void wf_sink(void) { wf_state = wf_hook != 0; }",
        "src_sched_table.c.o": "int wf_state;",
        "src_io_file_pin.c.o": "void wf_ring(void);"
                               "void wf_pin(void) { wf_ring(); }",
        "src_io_backend_ring.c.o": "void wf_ring(void) {}",
        "src_api_hook.c.o": "int wf_hook(void) { return 0; }",
    }, *flags)
    errors = check_layers.check_objects(build)
    assert len(errors) == 4
    assert "src_base_log.c.o: wf_sink is in src_os_output.c.o" in errors[0]
    assert {"wf_hook is in src_api_hook.c.o",
            "wf_state is in src_sched_table.c.o",
            "wf_ring is in src_io_backend_ring.c.o"} == {
        error.split(": ")[1].partition(",")[0] for error in errors[1:]}


def test_no_objects(tmp_path):
    assert "build first" in check_layers.check_objects(tmp_path)[0]


def test_object_of_unknown_folder(tmp_path):
    build = compiled(tmp_path, {"src_misc_a.c.o": "int wf_a;"})
    assert "no known folder" in check_layers.check_objects(build)[0]


@pytest.mark.parametrize("file, text", [
    ("sync/mutex.c", "a = m->libc_owner; /* as __owner */\n"),
    ("libc/fields.h", "#define libc_owner __data.__owner\n"),
    ("io/a.c", "__builtin_ctzll(__atomic_load_n(&a, __ATOMIC_RELAXED));\n"),
    ("boot/fork.c", "wf_real.__register_atfork(a, b, c);\n"),
])
def test_names_outside_glibc(tree, file, text):
    root = tree({f"src/{file}": text,
                 "src/interposed.txt": "__register_atfork\n"})
    assert check_layers.check(root) == []


@pytest.mark.parametrize("text, names", [
    ("a = m->__data.__owner;", ["__data", "__owner"]),
    ('p = wf_elf_symbol("ld-linux", "_dl_argv");', ["_dl_argv"]),
    ("n = &__nptl_nthreads;", ["__nptl_nthreads"]),
])
def test_names_inside_glibc(tree, text, names):
    root = tree({"src/sync/a.c": f"/* one\n * two */\n{text}\n"})
    errors = check_layers.check(root)
    assert len(errors) == len(names)
    for error, name in zip(errors, names):
        assert f"sync/a.c:3: {name} is inside of glibc" in error


def test_status(tree, capsys):
    root = tree({"src/base/a.c": '#include "api/b.h"\n'})
    build = compiled(root / "build", {
        "src_base_a.c.o": "extern int wf_b; int *wf_a(void) { return &wf_b; }",
        "src_api_b.c.o": "int wf_b = 1;"})
    assert check_layers.main(["", str(build), str(root)]) == 1
    out = capsys.readouterr().out
    assert "api/b.h" in out and "wf_b is in src_api_b.c.o" in out
