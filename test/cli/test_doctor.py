# SPDX-License-Identifier: MIT
"""weft doctor: what the system offers, and whether a program can run."""

import errno
import os
import resource
import shutil
import signal
import struct

import pytest

from conftest import BUILD, FILTER, LIBRARY, ROOT, complains

CLONE, CLONE3 = 56, 435  # of x86-64
# A user id under which no program runs.
NOBODY_ELSE = 1_000_000_007


def rows(result):
    return {line[:18].strip(): line[18:]
            for line in result.stdout.splitlines()}


def test_system(weft):
    result = weft("doctor")
    assert result.returncode == 0 and result.stderr == ""
    found = rows(result)
    for name in ("kernel", "C library", "TLS surplus", "CPUs", "FSGSBASE",
                 "vector registers", "membarrier", "stack guards", "rseq",
                 "io_uring", "I/O backend", "RLIMIT_STACK", "RLIMIT_AS",
                 "kernel threads", "RLIMIT_SIGPENDING", "libweft.so.0",
                 "TCB layout", "not needed"):
        assert found[name]
    assert found["libweft.so.0"] == LIBRARY
    assert found["C library"] == os.confstr("CS_GNU_LIBC_VERSION")
    assert f"{len(os.sched_getaffinity(0))} allowed" in found["CPUs"]
    assert found["kernel"] == f"Linux {os.uname().release} on " \
                              f"{os.uname().machine}"
    assert found["TCB layout"].startswith("found")


def test_limits_are_asked_for(weft):
    def lower():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
        resource.setrlimit(resource.RLIMIT_SIGPENDING, (7, 7))
    found = rows(weft("doctor", preexec_fn=lower))
    assert "stacks of 1024 KiB" in found["RLIMIT_STACK"]
    assert found["RLIMIT_SIGPENDING"].startswith("7: preemption may lack")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user")
@pytest.mark.parametrize("nr,status,says", [
    (1, 125, "0 at most can be made now: weft needs 2"),
    (2, 125, "1 at most can be made now: weft needs 2"),
    (5, 0, "4 at most can be made now: threads that block"),
])
def test_kernel_threads_are_tried(weft, nr, status, says):
    """doctor makes kernel threads to find out how many the limit permits.
    RLIMIT_NPROC alone does not tell, since the user's other processes count,
    too."""
    def lower():
        resource.setrlimit(resource.RLIMIT_NPROC, (nr, nr))
        os.setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE)
    try:
        result = weft("doctor", preexec_fn=lower)
    except PermissionError:
        pytest.skip("others may not read the build")
    assert rows(result)["kernel threads"].startswith(says)
    if nr == 1:
        assert rows(result)["TCB layout"].startswith("not looked for")
    assert result.returncode == status


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_kernel_threads_that_a_filter_refuses(weft, error):
    """If a filter refuses clone and clone3, doctor blames the filter and not
    the limit. If it refuses clone3 only, libc uses clone, and all is well."""
    refuse = ["refuse", error, CLONE, CLONE3, "--", BUILD / "weft"]
    found = rows(weft(*refuse, "doctor", command=FILTER))
    assert found["kernel threads"].startswith(
        f"0 can be made, then the kernel refuses ({os.strerror(error)})")
    assert "seccomp" in found["kernel threads"]
    refuse = ["refuse", errno.ENOSYS, CLONE3, "--", BUILD / "weft"]
    found = rows(weft(*refuse, "doctor", command=FILTER))
    assert "RLIMIT_NPROC" in found["kernel threads"]


def test_tls_surplus_of_the_user(weft):
    result = weft("doctor", env={
        "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=2048"})
    assert rows(result)["TLS surplus"] == "2048 bytes, by GLIBC_TUNABLES"


def test_trial_of_the_library(weft, compile_c):
    """The trial run finds problems that reading the system does not find."""
    folder = compile_c(
        "-shared", "-fPIC", f"-I{ROOT}/src", f"-I{ROOT}/include",
        name="libweft.so.0", source="""
        #include <unistd.h>
        #include "base/note.h"
        #include "weft/weft.h"
        __attribute__((section(".note.weft"), aligned(4)))
        const struct wf_note note = {
            sizeof(WF_NOTE_OWNER), sizeof(note.text), WF_NOTE_VERSION,
            WF_NOTE_OWNER, WEFT_VERSION };
        __attribute__((constructor)) static void init(void) { _exit(125); }
        """).parent
    shutil.copy(BUILD / "weft", folder / "weft")
    result = weft("doctor", command=folder / "weft")
    assert result.returncode == 125
    assert rows(result)["TCB layout"].startswith("not found")


def test_trial_that_loads_nothing(weft, compile_c):
    folder = compile_c("-static", name="true").parent
    result = weft("doctor", env={"PATH": str(folder)})
    assert result.returncode == 125
    assert rows(result)["TCB layout"].startswith("not looked for: true(1)")


def test_creator_that_ignores_its_children(weft, compile_c):
    """If SIGCHLD is ignored, no parent learns how a child ends."""
    folder = compile_c(source="int main(void) { return 1; }",
                       name="true").parent
    result = weft("doctor", env={"PATH": str(folder)},
                  preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                   signal.SIG_IGN))
    assert result.returncode == 125
    assert rows(result)["TCB layout"].startswith("not found")


def test_program_that_cannot_be_opened(weft, compile_c):
    program = compile_c()

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    result = weft("doctor", program, preexec_fn=lower)
    assert rows(result)["verdict"] == "unknown: it cannot be read"


def test_few_numbers_for_files(weft):
    """doctor works with the smallest limit on descriptors with which programs
    can start."""
    result = weft("doctor", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (4, 4)))
    assert result.returncode == 0 and result.stderr == ""
    assert rows(result)["TCB layout"].startswith("found")


def test_program(weft):
    result = weft("doctor", "env")
    assert result.returncode == 0 and result.stderr == ""
    found = rows(result)
    assert found["verdict"] == "can run on weft"
    assert found["program"].endswith("/env") and "loader" in found


WORK = """
    #include <dlfcn.h>
    #include <pthread.h>
    #include <sys/epoll.h>
    #include <sys/socket.h>
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    void *run(void *arg) { return arg; }
    int main(int argc, char **argv)
    {
        (void)argv;
        if (argc > 1) { pthread_t t; struct epoll_event e;
            CALLS; (void)t; (void)e; (void)run; }
        return 0;
    }"""
CREATE = "pthread_create(&t, 0, run, 0);"


@pytest.mark.parametrize("calls, says", [
    ("", "no: neither it nor its libraries create threads"),
    ("dlopen(argv[1], 0);", "measure: it creates no threads itself, but the "
     "libraries that it loads (dlopen) may"),
    (CREATE, "measure: it has threads (pthread_create), and its calls do not "
     "show what they wait for"),
    (CREATE + "accept(0, 0, 0);", "yes: it has threads (pthread_create) that "
     "wait for connections (accept)"),
    (CREATE + "pthread_cond_wait(&c, &m);", "yes, if it has more threads "
     "(pthread_create) than CPUs: they wait for each other "
     "(pthread_cond_wait)"),
    (CREATE + "accept(0, 0, 0); epoll_wait(0, &e, 1, 0);",
     "measure: it has threads (pthread_create) and an event loop (epoll_wait); "
     "weft helps where threads serve the connections"),
])
def test_should(weft, compile_c, calls, says):
    program = compile_c(source=WORK.replace("CALLS", calls))
    result = weft("doctor", program)
    assert result.returncode == 0 and result.stderr == ""
    assert rows(result)["should"] == says


def test_should_with_openmp(weft, compile_c):
    program = compile_c("-fopenmp", source="""
        int main(int argc, char **argv)
        {
            int n = 0;
            #pragma omp parallel reduction(+ : n)
            n += argc;
            return argv[0] == 0 ? n : 0;
        }""")
    assert rows(weft("doctor", program))["should"].startswith(
        "measure: it computes on one thread for each CPU (libgomp.so.1)")


def test_should_by_a_library(weft, compile_c):
    """A library of the program creates threads, but the program may never call
    the functions that create them. So `should` is not "yes", whatever calls the
    library waits in."""
    library = compile_c("-shared", "-fPIC", name="libworkers.so", source="""
        #include <pthread.h>
        #include <sys/socket.h>
        static void *run(void *arg) { accept(0, 0, 0); return arg; }
        void begin(void) { pthread_t t; pthread_create(&t, 0, run, 0); }""")
    program = compile_c(
        f"-L{library.parent}", "-lworkers", f"-Wl,-rpath,{library.parent}",
        source="void begin(void); int main(void) { begin(); return 0; }")
    assert rows(weft("doctor", program))["should"] == (
        "measure: it has no threads of its own, but libworkers.so has threads "
        "(pthread_create), perhaps not for this program")


def test_no_advice_for_programs_that_cannot_run(weft, compile_c):
    assert "should" not in rows(weft("doctor", compile_c("-static")))


CALLS = '''
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <sys/signalfd.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        cpu_set_t cpus = { 0 };
        struct timespec ts;
        sigset_t set;
        (void)argv;
        if (argc == 1)
            return 0;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
        sched_setaffinity(0, sizeof(cpus), &cpus);
        return signalfd(-1, &set, 0) + nice(1);
    }'''


@pytest.mark.parametrize("flags", [(), ("-s",), ("-no-pie", "-Wl,-z,lazy"),
                                   ("-Wl,--hash-style=sysv",)])
def test_functions_that_differ(weft, compile_c, flags):
    """doctor prints one line for each reason for which functions differ on
    weft. It prints none for differences that few programs meet."""
    result = weft("doctor", compile_c(*flags, source=CALLS))
    assert result.returncode == 0 and result.stderr == ""
    found = [line[18:].split(":")[0] for line in result.stdout.splitlines()
             if line.startswith("differs ")]
    assert found == ["pthread_setaffinity_np, sched_setaffinity", "nice",
                     "signalfd"]
    assert "obeyed; takes a kernel thread" in result.stdout
    assert rows(result)["verdict"] == "can run on weft"


def test_functions_of_libraries(weft, compile_c, tmp_path):
    """doctor checks the functions of the libraries that the loader finds, and
    of those in folders beside the program."""
    plugins = tmp_path / "lib/plugins"
    plugins.mkdir(parents=True)
    compile_c("-shared", "-fPIC", name="libneeded.so", source="""
        #include <sched.h>
        int needed(void) { return sched_setaffinity(0, 0, 0); }""")
    compile_c("-shared", "-fPIC", name="plugin.so", source="""
        #include <unistd.h>
        int plugin(void) { return nice(1); }""").rename(plugins / "plugin.so")
    program = compile_c(
        f"-L{tmp_path}", "-lneeded", f"-Wl,-rpath,{tmp_path}:$ORIGIN/lib",
        source="int needed(void); int main(void) { return needed(); }")
    alone = weft("doctor", program)
    assert alone.returncode == 0 and "differs" not in alone.stdout
    result = weft("doctor", "--libraries", program)
    assert result.returncode == 0 and result.stderr == ""
    found = [line[18:].split(":")[0] for line in result.stdout.splitlines()
             if line.startswith("differs ")]
    assert found == ["sched_setaffinity", "nice"]
    assert rows(result)["libraries"] == "3 read"
    (tmp_path / "libneeded.so").unlink()
    result = weft("doctor", "--libraries", program)
    assert rows(result)["libraries"].endswith("has not found all of them")


def test_functions_of_a_damaged_file(weft, compile_c):
    """The headers of the file place its tables of symbols outside of the
    file."""
    program = compile_c(source=CALLS)
    content = bytearray(program.read_bytes())
    sections, = struct.unpack_from("<Q", content, 40)
    size, number = struct.unpack_from("<HH", content, 58)
    for offset in (2**63, len(content) - 8):
        for i in range(number):
            struct.pack_into("<Q", content, sections + i * size + 24, offset)
        program.write_bytes(content)
        result = weft("doctor", program)
        assert result.returncode == 0 and "differs" not in result.stdout
    struct.pack_into("<Q", content, 40, 2**63)
    program.write_bytes(content)
    result = weft("doctor", program)
    assert result.returncode == 0 and "differs" not in result.stdout


def test_program_without_differences(weft, compile_c):
    assert "differs" not in weft("doctor", compile_c()).stdout


@pytest.mark.parametrize("line", [
    "#!/bin/dash", "#! /bin/dash -e", "#!/usr/bin/env dash",
    "#!/usr/bin/env -S dash -e", "#!/usr/bin/env -S A=b dash",
    "#!/usr/bin/env -Sdash -e", "#!/usr/bin/env\tdash", "#!/usr/bin/env dash ",
    "#!/usr/bin/env -vS dash -e", "#!/usr/bin/env --split-string=dash -e",
    "#!/usr/bin/env -S -i dash", "#!/usr/bin/env -S -u HOME -C / dash"])
def test_interpreter_of_a_script(weft, write_file, line):
    script = write_file("script", line + "\n")
    result = weft("doctor", script, env={"PATH": "/usr/bin:/bin"})
    assert result.returncode == 0, result.stderr
    assert rows(result)["interpreter"].endswith("/dash")


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_script_that_starts_others(weft, write_file, shell):
    """The program is a shell script that starts other programs, as the wrappers
    of pyenv do. doctor says that it has not checked these programs."""
    script = write_file("python3", f"#!{shell}\nexec /usr/bin/env\n")
    found = rows(weft("doctor", script))
    assert "programs that this shell script starts" in found["not looked at"]
    script = write_file("python3", "#!/usr/bin/env cat\n")
    assert "not looked at" not in rows(weft("doctor", script))


def test_script_whose_interpreter_cannot(weft, compile_c, write_file):
    program = compile_c("-static", name="interpreter")
    path = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    for line in (f"#!{program}", "#!/usr/bin/env interpreter"):
        script = write_file("script", line + "\n")
        for command in ("doctor", "run"):
            complains(weft(command, script, env=path),
                      1 if command == "doctor" else 125,
                      "its interpreter", "statically linked")


@pytest.mark.parametrize("line, name", [
    ("nosuch", "nosuch"), ("-S nosuch -e", "nosuch"),
    ("-S A=b nosuch", "nosuch"),
    ("dash -e", "dash -e")])  # env takes this one argument as a program's name
def test_script_whose_interpreter_env_does_not_find(weft, write_file, line,
                                                    name):
    script = write_file("script", f"#!/usr/bin/env {line}\n")
    write_file("nosuch", "#!/bin/sh\n")
    for command, status in ("run", 127), ("doctor", 1):
        complains(weft(command, script, env={"PATH": "/usr/bin:/bin"},
                       cwd=script.parent),
                  status, f"its interpreter {name}: no such program")


@pytest.mark.parametrize("line", [
    "-i dash", "A=b dash", "-S -Z dash", '-S "nosuch"', "-S PATH=/ nosuch",
    "-S -i nosuch", "-S", ""])
def test_script_of_which_env_knows_more(weft, write_file, line):
    """If the doctor does not know an option of env, it leaves the line to
    env."""
    script = write_file("script", f"#!/usr/bin/env {line}\n")
    result = weft("doctor", script, env={"PATH": "/usr/bin:/bin"})
    assert rows(result)["interpreter"] == "/usr/bin/env"


def elf_32_bit():
    return b"\x7fELF\1\1\1" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 3, 1, 0x8048000, 52, 0, 0, 52, 32, 0, 40, 0, 0)


def elf_of_another_cpu():
    return b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 0x9026, 1, 0, 64, 0, 0, 64, 56, 0, 64, 0, 0)


@pytest.mark.parametrize("content, mode, words", [
    (elf_32_bit(), 0o755, ["32-bit"]),
    (elf_of_another_cpu(), 0o755, ["another kind of CPU"]),
    ("echo hello\n", 0o755, ["neither an ELF program nor a script"]),
    ("", 0o755, ["neither an ELF program nor a script"]),
    ("#!/bin/sh\n", 0o644, ["not executable"]),
    ("#!/nonexistent/sh\n", 0o755, ["/nonexistent/sh"]),
])
def test_says_why_not(weft, write_file, content, mode, words):
    complains(weft("doctor", write_file("program", content, mode)), 1, *words)


def test_says_why_a_program_cannot(weft, compile_c):
    complains(weft("doctor", "/nonexistent"), 1, "/nonexistent")
    complains(weft("doctor", "no-such-program-x"), 1, "no such program")
    complains(weft("doctor", compile_c("-static")), 1, "statically linked")
    complains(weft("doctor", compile_c(cc="musl-gcc")), 1, "musl")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_setuid(weft, compile_c):
    program = compile_c()
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("this file system knows no setuid programs")
    complains(weft("doctor", program), 1, "set-user-ID")


def test_usage(weft):
    complains(weft("doctor", "a", "b"), 125, "usage")
    complains(weft("doctor", "--frobnicate"), 125, "usage")
    complains(weft("doctor", "--libraries"), 125, "usage")
    complains(weft("doctor", "--libraries", "a", "b"), 125, "usage")
