# SPDX-License-Identifier: MIT
"""A program that weft cannot run gets one clear line and env(1)'s status."""

import os
import resource
import shutil
import struct

import pytest

from conftest import LIBRARY, complains

PT_DYNAMIC, PT_INTERP, PT_NOTE = 2, 3, 4


def elf_header(bits=64, machine=62, segments=0):
    """The start of a little-endian ELF program."""
    ident = b"\x7fELF" + bytes([bits // 32, 1, 1]) + bytes(9)
    if bits == 32:
        return ident + struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0x8048000,
                                   52, 0, 0, 52, 32, segments, 40, 0, 0)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x400000,
                               64, 0, 0, 64, 56, segments, 64, 0, 0)


def segment(kind, offset, size):
    return struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, size,
                       size, 1)


@pytest.mark.parametrize("name", ["/nonexistent/program", "no-such-program-x",
                                  "", "/bin/sh/x"])
def test_not_found(weft, name):
    # As with execvp(3), a folder in PATH that the user may not read would
    # change the error.
    result = weft("run", name, env={"PATH": "/usr/bin:/bin"})
    complains(result, 127, "no such program")


def test_not_executable(weft, write_file):
    plain = write_file("plain", "#!/bin/sh\n", mode=0o644)
    complains(weft("run", plain), 126, "not executable")
    result = weft("run", "plain", env={"PATH": str(plain.parent)})
    complains(result, 126, "not executable")


def test_directory(weft, tmp_path):
    complains(weft("run", tmp_path), 126, "directory")


def test_neither_file_nor_directory(weft, write_file, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o755)
    for command, status in ("run", 126), ("doctor", 1):
        complains(weft(command, pipe), status, "not a program")
        complains(weft(command, "/dev/null"), status, "not a program")
        # The command would wait until a process opens the other end.
        script = write_file("script", f"#!{pipe}\n")
        complains(weft(command, script), status, str(pipe), "not a program")
        script = write_file("script", f"#!{tmp_path}\n")
        complains(weft(command, script), status, "directory")


def test_text_without_interpreter(weft, write_file):
    complains(weft("run", write_file("text", "echo hello\n")), 126, "#!")
    complains(weft("run", write_file("empty", "")), 126, "#!")


def test_missing_interpreter(weft, write_file):
    script = write_file("script", "#!/nonexistent/sh\n")
    complains(weft("run", script), 127, str(script), "/nonexistent/sh")


def test_one_line_whatever_the_name(weft, write_file):
    complains(weft("run", "a\nb\x1b[31m"), 127, "a?b?[31m: no such program")
    script = write_file("program", "#!/bin/sh\r\n")
    complains(weft("run", script), 127, "/bin/sh?: no such program")


def test_interpreter_that_is_not_executable(weft, write_file):
    plain = write_file("plain", "", mode=0o644)
    script = write_file("script", f"#!{plain}\n")
    complains(weft("run", script), 126, str(script), str(plain))


def test_interpreter_loop(weft, write_file, tmp_path):
    script = write_file("script", f"#!{tmp_path}/script\n")
    complains(weft("run", script), 126, "too many interpreters")


def test_static(weft, compile_c):
    complains(weft("run", compile_c("-static")), 125, "statically linked",
              "link it dynamically")


def test_static_pie(weft, compile_c):
    complains(weft("run", compile_c("-static-pie")), 125, "statically linked")


def test_library(weft, compile_c):
    nothing = "int nothing(void) { return 0; }"
    plain = compile_c("-shared", "-fPIC", source=nothing)
    complains(weft("run", plain), 126, "a shared library")
    complains(weft("doctor", plain), 1, "a shared library")
    named = compile_c("-shared", "-fPIC", "-Wl,-soname=lib.so,-e,nothing",
                      source=nothing)
    complains(weft("run", named), 126, "a shared library")


def test_object_file(weft, compile_c):
    program = compile_c("-c")
    program.chmod(0o755)
    complains(weft("run", program), 126, "object file")


@pytest.mark.parametrize("bytes_left", [50, 100, 5000])
def test_truncated(weft, compile_c, bytes_left):
    """The kernel starts a file with valid headers, and then kills it."""
    program = compile_c()
    program.write_bytes(program.read_bytes()[:bytes_left])
    for command, status in ("run", 126), ("doctor", 1):
        complains(weft(command, program), status, "a damaged ELF file")


def test_no_address_space(weft):
    """The smallest limit below which the command itself does not start."""
    def start(limit):
        def lower():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return weft("run", "true", preexec_fn=lower)

    limits = range(1 << 20, os.path.getsize(LIBRARY) + (8 << 20), 1 << 18)
    result = next(filter(lambda result: result.returncode not in (-11, 127),
                         map(start, limits)))
    if result.returncode == 0:
        pytest.skip("the library is small")
    complains(result, 125, "ulimit -v")


def test_script_of_a_static_interpreter(weft, compile_c, write_file):
    program = compile_c("-static")
    script = write_file("script", f"#!{program}\n")
    complains(weft("run", script), 125, str(script), str(program),
              "statically linked")


def test_32_bit(weft, write_file):
    program = write_file("program32", elf_header(bits=32, machine=3))
    complains(weft("run", program), 125, "32-bit")


def test_other_cpu(weft, write_file):
    alpha = write_file("alpha", elf_header(machine=0x9026))
    complains(weft("run", alpha), 125, "another kind of CPU")


def test_musl(weft, compile_c):
    complains(weft("run", compile_c(cc="musl-gcc")), 125, "musl", "glibc")


def test_other_loader(weft, compile_c):
    program = compile_c("-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    complains(weft("run", program), 125, "musl")
    program = compile_c("-Wl,--dynamic-linker=/system/bin/linker64")
    complains(weft("run", program), 125, "/system/bin/linker64", "glibc")


def test_missing_loader(weft, compile_c):
    program = compile_c("-Wl,--dynamic-linker=/nonexistent/ld-linux.so.9")
    complains(weft("run", program), 127, "/nonexistent/ld-linux.so.9")


@pytest.mark.parametrize("linking", ["-static", "-pie"])
def test_go_section(weft, compile_c, linking):
    program = compile_c(linking, source="""
        __attribute__((section(".go.buildinfo"), used)) char info[16] = "go";
        int main(void) { return 0; }
    """)
    complains(weft("run", program), 125, "Go program")


def test_go_note_without_sections(weft, write_file):
    note = struct.pack("<III4s4s", 4, 4, 4, b"Go\0\0", b"abcd")
    start = 64 + 56
    program = write_file("go", elf_header(segments=1) +
                         segment(PT_NOTE, start, len(note)) + note)
    if os.uname().machine != "x86_64":
        pytest.skip("the file is made for x86-64")
    complains(weft("run", program), 125, "Go program")


def test_real_go(weft, write_file, tmp_path):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    source = write_file("main.go", "package main\nfunc main() {}\n")
    program = tmp_path / "goprogram"
    assert os.system(f"cd {tmp_path} && go build -o {program} {source}") == 0
    complains(weft("run", program), 125, "Go program")


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="the files are made for x86-64")
@pytest.mark.parametrize("content", [
    elf_header()[:20],
    elf_header(segments=1),
    elf_header(segments=60000),
    elf_header(segments=1) + segment(PT_INTERP, 1 << 40, 10),
    elf_header(segments=1) + segment(PT_INTERP, (1 << 64) - 1, 10),
    elf_header(segments=1) + segment(PT_INTERP, 64, 10) + b"x",
])
def test_damaged(weft, write_file, content):
    result = weft("run", write_file("damaged", content))
    complains(result, 126 if b"x" != content[-1:] else result.returncode)
    assert result.returncode in (125, 126)


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="the files are made for x86-64")
def test_damaged_everywhere(weft, compile_c, write_file):
    """Every byte of the headers of a real program changed: never a fault."""
    whole = compile_c().read_bytes()
    for at in range(16, 64 + 13 * 56, 5):
        bytes_ = bytearray(whole)
        bytes_[at] ^= 0xff
        result = weft("doctor", write_file("damaged", bytes(bytes_)))
        assert result.returncode in (0, 1), at


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's file")
@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_set_id_of_another(weft, compile_c, mode):
    program = compile_c()
    os.chown(program, 65534, 65534)
    program.chmod(mode)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("the file system has no set-id programs")
    complains(weft("run", program), 125, "set-user-ID", "without weft")


def test_set_id_of_oneself(weft, compile_c):
    program = compile_c()
    program.chmod(0o6755)
    assert weft("run", program).returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root's own")
def test_set_id_root(weft):
    program = shutil.which("su")
    if not program or not os.stat(program).st_mode & 0o4000:
        pytest.skip("no set-user-ID program here")
    complains(weft("run", program), 125, "set-user-ID")


def test_set_id_script_is_a_plain_script(weft, write_file):
    script = write_file("script", "#!/bin/sh\necho ok\n")
    if os.geteuid() == 0:
        os.chown(script, 65534, 65534)
    script.chmod(0o4755)
    assert weft("run", script).stdout == "ok\n"
