# SPDX-License-Identifier: MIT
"""The process stays the program's own: pid, exit, environment, children."""

import os
import pathlib
import shutil
import signal
import stat
import struct
import subprocess

import pytest

from conftest import (BUILD, LIBRARY, PROGRAM, WEFT, both, compile_c,
                      environment, run, statistics)

TUNABLE = "glibc.pthread.rseq=0"
STATUSES = {"exit": 3, "_exit": 3, "_Exit": 3, "quick_exit": 3,
            "exit_group": 3, "abort": -signal.SIGABRT,
            "term": -signal.SIGTERM, "kill": -signal.SIGKILL}


@pytest.mark.parametrize("how", [*STATUSES, "return", "last"])
def test_end_in_the_first_thread(how):
    expected = STATUSES.get(how, {"return": 3, "last": 0}.get(how))
    assert both([PROGRAM, "end", how]).returncode == expected


@pytest.mark.parametrize("how", STATUSES)
def test_end_in_another_thread(how):
    result = both([PROGRAM, "end-in-thread", how])
    assert result.returncode == STATUSES[how]


@pytest.mark.parametrize("where", ["thread", "main"])
def test_death_by_a_fault(where):
    # In a folder where it leaves no core file.
    result = both([PROGRAM, "crash", where], cwd="/")
    assert result.returncode == -signal.SIGSEGV


@pytest.mark.parametrize("script", ["exit 7", "kill -TERM $$", "exit 0"])
def test_same_pid_after_exec_in_a_thread(script):
    command = [PROGRAM, "exec", "/bin/sh", "-c", f"echo pid $$; {script}"]
    native = run(command)
    child = subprocess.Popen([*WEFT, *command], env=environment(), text=True,
                             stdout=subprocess.PIPE)
    lines = child.communicate(timeout=60)[0].splitlines()
    assert lines[1:] == [f"pid {child.pid}"] * 2
    assert child.returncode == native.returncode


def test_exec_keeps_weft_and_its_options():
    result = run([*WEFT, "--vps", "2", PROGRAM, "exec", "/usr/bin/env"])
    assert f"LD_PRELOAD={LIBRARY}" in result.stdout.splitlines()
    assert "WEFT_VPS=2" in result.stdout.splitlines()


def test_script(tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#! {PROGRAM} work\n")
    script.chmod(0o755)
    assert both([script]).stdout == "total 16000\n"


def test_script_through_env(tmp_path):
    (tmp_path / "manners-interpreter").symlink_to(PROGRAM)
    script = tmp_path / "work"
    script.write_text("#!/usr/bin/env -S manners-interpreter work\n")
    script.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert both([script], {"PATH": path}).stdout == "total 16000\n"


def test_tunables_of_the_user_count():
    # Without per-thread caches every malloc locks an arena.
    tunables = "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"
    both([PROGRAM, "work"], {"GLIBC_TUNABLES": tunables})
    result = run([*WEFT, PROGRAM, "exec", "/usr/bin/env"],
                 {"GLIBC_TUNABLES": tunables})
    assert f"GLIBC_TUNABLES={tunables}:{TUNABLE}" in result.stdout


def test_empty_environment():
    result = run([*WEFT, "/usr/bin/env", "-i", PROGRAM, "work"])
    assert (result.returncode, result.stdout, result.stderr) == \
        (0, "total 16000\n", "")
    done = subprocess.run([*WEFT, PROGRAM, "work"], env={}, text=True,
                          capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == \
        (0, "total 16000\n", "")


# --- children that cannot run on weft ---

def write_32_bit(path):
    """A 32-bit x86 program: exit(23) by int 0x80. It needs no compiler."""
    code = b"\xbb\x17\0\0\0" b"\xb8\x01\0\0\0" b"\xcd\x80"
    base, headers = 0x8048000, 52 + 32
    size = headers + len(code)
    header = b"\x7fELF\1\1\1" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 40,
        0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096)
    path.write_bytes(header + segment + code)
    path.chmod(0o755)


def check_child(program, *args):
    """A child starts without weft and without a message: it prints and ends
    the same as natively. Started from threads and from a shell."""
    both([PROGRAM, "spawn", program, *args])
    both([PROGRAM, "posix_spawn", program, *args])
    return both(["/bin/sh", "-c", '"$@"; echo status $?', "sh", program,
                 *args])


def test_32_bit_child(tmp_path):
    program = tmp_path / "program32"
    write_32_bit(program)
    try:
        native = run([program])
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    assert native.returncode == 23
    assert check_child(program).stdout == "status 23\n"


def test_32_bit_child_with_a_loader(tmp_path):
    """The 32-bit ld.so would complain of a 64-bit library."""
    program = compile_c(tmp_path, "int main(void) { return 24; }", "-m32")
    if program is None:
        pytest.skip("no compiler for 32-bit programs (gcc-multilib)")
    assert check_child(program).stdout == "status 24\n"
    script = tmp_path / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    assert check_child(script).stdout == "status 24\n"
    both([PROGRAM, "execvp", program.name],
         {"PATH": f"/nonexistent:{tmp_path}"})


def test_32_bit_child_keeps_what_the_user_preloads(tmp_path):
    program = compile_c(tmp_path, """
        #include <stdio.h>
        #include <stdlib.h>
        int main(void) { return puts(getenv("LD_PRELOAD")) < 0; }
    """, "-m32")
    if program is None:
        pytest.skip("no compiler for 32-bit programs (gcc-multilib)")
    result = run([*WEFT, PROGRAM, "exec", program],
                 {"LD_PRELOAD": "libm.so.6"})
    assert result.stdout.splitlines()[-1] == "libm.so.6"


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static_child(tmp_path, flag):
    program = compile_c(tmp_path, """
        #include <stdio.h>
        int main(void) { return puts("static") < 0; }
    """, flag)
    assert program is not None
    assert check_child(program).stdout == "static\nstatus 0\n"


@pytest.mark.parametrize("flags", [[], ["-static"]])
def test_musl_child(tmp_path, flags):
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed")
    program = tmp_path / "program"
    subprocess.run(["musl-gcc", *flags, "-x", "c", "-", "-o", program],
                   input="int main(void) { return 5; }", text=True, check=True)
    assert check_child(program).stdout == "status 5\n"


def test_go_child(tmp_path):
    """A program in Go, recognised by its ELF note, runs without weft as a child
    of a program on weft."""
    program = compile_c(tmp_path, """
        #include <stdio.h>
        #include <stdlib.h>
        __asm__(".section .note.go.buildid, \\"a\\", @note\\n"
                ".long 4, 4, 4\\n.ascii \\"Go\\\\0\\\\0\\"\\n"
                ".long 0\\n.previous");
        int main(void)
        {
            const char *preload = getenv("LD_PRELOAD");
            const char *tunables = getenv("GLIBC_TUNABLES");
            return printf("%s %s\\n", preload ? preload : "nothing",
                          tunables ? tunables : "none") < 0;
        }
    """)
    assert check_child(program).stdout == "nothing none\nstatus 0\n"
    result = run([*WEFT, "/bin/sh", "-c", f"{program}; env"],
                 {"LD_PRELOAD": "libm.so.6",
                  "GLIBC_TUNABLES": "glibc.malloc.check=0"})
    assert result.stdout.startswith("libm.so.6 glibc.malloc.check=0\n")
    result = run([*WEFT, "/bin/sh", "-c", f"{program}; env"])
    assert result.stdout.startswith("nothing none\n")
    assert f"LD_PRELOAD={LIBRARY}" in result.stdout.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make one")
def test_setuid_child(tmp_path):
    folder = tmp_path
    for parent in (folder, *folder.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    program = folder / "id"
    shutil.copy("/usr/bin/id", program)
    os.chown(program, 1, 1)
    program.chmod(0o6755)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        pytest.skip("this file system knows no setuid programs")
    result = check_child(program, "-u")
    assert result.stdout == "1\nstatus 0\n"


# --- --no-children ---

def test_no_children():
    result = run([*WEFT, "--no-children", PROGRAM, "exec", "/usr/bin/env"])
    assert "LD_PRELOAD" not in result.stdout
    assert "GLIBC_TUNABLES" not in result.stdout
    result = run([*WEFT, "--no-children", "/bin/sh", "-c",
                  "env; exec env"])
    assert "LD_PRELOAD" not in result.stdout
    assert "GLIBC_TUNABLES" not in result.stdout


def test_no_children_keeps_what_the_user_preloads():
    result = run([*WEFT, "--no-children", "/usr/bin/env", "/usr/bin/env"],
                 {"LD_PRELOAD": "libm.so.6 libdl.so.2",
                  "GLIBC_TUNABLES": "glibc.malloc.check=0"})
    lines = result.stdout.splitlines()
    assert "LD_PRELOAD=libm.so.6:libdl.so.2" in lines
    assert "GLIBC_TUNABLES=glibc.malloc.check=0" in lines


def lines_after_pid(result):
    return result.stdout.partition("\npid ")[2].splitlines()[1:]


def test_no_children_leaves_nothing_in_signals_and_limits():
    """Checks a program that a thread executes while others run."""
    show = ["/bin/sh", "-c", "grep -E '^(Sig[BIC]|Shd|Cap|NoNew|Seccomp:|Cpus)'"
            " /proc/self/status; cat /proc/self/limits"]
    natively = run([PROGRAM, "exec", *show])
    assert any("SigIgn" in line for line in lines_after_pid(natively))
    for vps in "1", "2":
        result = run([*WEFT, "--vps", vps, "--no-children", PROGRAM, "exec",
                      *show])
        assert lines_after_pid(result) == lines_after_pid(natively)


def test_no_children_runs_the_program_itself_on_weft():
    result = run([*WEFT, "--no-children", "--stats", PROGRAM, "work"])
    assert statistics(result)["threads made"] == 8


# --- linked ---

def test_linked_with_the_library(tmp_path):
    source = pathlib.Path(__file__).with_name("program.c")
    program = compile_c(tmp_path, source.read_text(), "-D_GNU_SOURCE",
                        "-pthread", f"-L{BUILD}", "-lweft",
                        f"-Wl,-rpath,{BUILD}")
    result = run([program, "work"], {"WEFT_STATS": "1", "WEFT_VPS": "1"})
    assert result.returncode == 0 and result.stdout == "total 16000\n"
    assert statistics(result)["threads made"] == 8
    result = run([program, "work"], {"WEFT_VPS": "many"})
    assert result.returncode == 125 and "WEFT_VPS" in result.stderr
    # The command together with a preload loads it only once.
    result = run([*WEFT, "--stats", program, "work"])
    assert result.stdout == "total 16000\n"
    assert result.stderr.count("statistics of") == 1


# --- preloaded without the command ---

AREA_OF_ANOTHER_LENGTH = """
    #include <dlfcn.h>
    #include <pthread.h>
    #include <sched.h>
    #include <stddef.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <sys/syscall.h>
    #include <unistd.h>

    /* Not syscall(), by which weft refuses it. */
    static long rseq(void *area, unsigned length, int flags)
    {
        register long signature __asm__("r10") = 0x53053053;
        long r = SYS_rseq;

        __asm__ volatile("syscall" : "+a"(r)
                         : "D"(area), "S"(length), "d"(flags), "r"(signature)
                         : "rcx", "r11", "memory");
        return r;
    }

    /* libc's area, as newer ones register it: of 33 bytes. */
    static int register_longer(void)
    {
        const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
        unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
        char *area;
        long page = (long)size & -4096L;

        if (offset == NULL || size == NULL || *size == 0)
            return 77;
        area = (char *)pthread_self() + *offset;
        if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE) != 0 ||
            rseq(area, *size < 32 ? 32 : *size, 1) != 0)
            return 77;
        *size = 33;
        return rseq(area, 33, 0) != 0 ? 77 : 0;
    }

    static void *compute(void *arg)
    {
        volatile unsigned long n = 0;

        for (int i = 0; i < 20000000; i++) {
            n += i;
            if (i % 1000000 == 0 && sched_getcpu() < 0)
                abort();
        }
        return arg;
    }

    int main(void)
    {
        pthread_t threads[4];
        int status = register_longer();

        if (status != 0)
            return status;
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, compute, NULL) != 0)
                return 1;
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        return puts("computed") < 0;
    }
"""


@pytest.mark.parametrize("vps", ["1", "2"])
def test_restartable_sequences_of_another_length(tmp_path, vps):
    """The kernel ends a process that writes to an area in use."""
    program = compile_c(tmp_path, AREA_OF_ANOTHER_LENGTH, "-D_GNU_SOURCE",
                        "-pthread")
    for _ in range(3):
        result = run([program], {"LD_PRELOAD": str(LIBRARY), "WEFT_VPS": vps,
                                 "WEFT_STATS": "1"})
        if result.returncode == 77:
            pytest.skip("the kernel has none of that length")
        assert result.returncode == 0, result.stderr
        assert result.stdout == "computed\n"
        assert statistics(result)["threads made"] == 4
