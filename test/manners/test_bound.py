# SPDX-License-Identifier: MIT
"""--bound: threads with kernel threads of their own. test/posix also runs with
--bound, to check that they behave like other threads."""

import platform
import shutil

import pytest

from conftest import PROGRAM, WEFT, compile_c, run, statistics

OWN = "threads made with a carrier of their own"


def bound(pattern, *command):
    result = run([*WEFT, "--stats", "--bound", pattern, *command])
    rows = statistics(result)
    return rows[OWN], rows["threads made"], result


@pytest.mark.parametrize("pattern, nr", [
    ("manners_program", 8),
    ("manners", 8),
    ("libc.so", 0),
    (f"{PROGRAM.parent}/", 8),
    ("/manners_", 8),
    # Folders of the path count only if the pattern has a slash.
    (PROGRAM.parent.parent.name + "/", 8),
    ("/usr/", 0),
])
def test_pattern(pattern, nr):
    own, made, result = bound(pattern, PROGRAM, "work")
    assert (result.returncode, result.stdout) == (0, "total 16000\n")
    assert (own, made) == (nr, 8)


def test_folders_do_not_count(tmp_path):
    program = tmp_path / "other"
    shutil.copy(PROGRAM, program)
    assert bound(tmp_path.name, program, "work")[:2] == (0, 8)
    assert bound(tmp_path.name + "/", program, "work")[:2] == (8, 8)


def test_object_of_a_library():
    """--bound may name a file: the threads with a start routine in it are
    bound. Python's start routine lies in the program or in libpython."""
    script = ("import threading\n"
              "t = [threading.Thread(target=int) for i in range(5)]\n"
              "[x.start() for x in t]; [x.join() for x in t]\n")
    own, made, _ = bound("python3", "/usr/bin/python3", "-c", script)
    assert (own, made) == (5, 5)


def test_end_of_a_process_with_bound_threads():
    for how in ("exit", "_exit", "quick_exit", "last"):
        own, made, result = bound("manners", PROGRAM, "end", how)
        assert result.returncode == (0 if how == "last" else 3)
        assert own == made == 9


# A runtime that sets its threads' alternate stacks by a compiled-in call.
STACKS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { BYTES = 32 * 1024 };
static _Thread_local char *stack;
static _Thread_local volatile int nr_handled;
static long call(long nr, long a, long b, long c)
{
    __asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return nr;
}
static void on_signal(int sig)
{
    char here;
    if (&here < stack || &here >= stack + BYTES)
        _exit(sig);
    nr_handled++;
}
static void *work(void *arg)
{
    stack = malloc(BYTES);
    stack_t ss = { .ss_sp = stack, .ss_size = BYTES }, now;
    call(SYS_sigaltstack, (long)&ss, 0, 0);
    for (int i = 1; i < 100; i += 2) {
        call(SYS_tgkill, getpid(), call(SYS_gettid, 0, 0, 0), SIGUSR1);
        if (nr_handled != i)
            exit(1);
        usleep(10);
        pthread_kill(pthread_self(), SIGUSR1);
        call(SYS_sigaltstack, 0, (long)&now, 0);
        if (nr_handled != i + 1 || now.ss_sp != stack)
            exit(2);
    }
    free(stack);
    return arg;
}
static void *plain(void *arg)
{
    static char own[BYTES];
    stack_t ss = { .ss_sp = stack = own, .ss_size = BYTES };
    sigaltstack(&ss, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    return nr_handled == 1 ? NULL : arg;
}
int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_ONSTACK | SA_RESTART };
    pthread_t threads[4];
    void *result = argv;
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        pthread_create(&threads[0], NULL, plain, argv);
        pthread_join(threads[0], &result);
        if (result != NULL)
            exit(3);
    }
    return puts("right") < 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its system call")
def test_alternate_stacks_of_the_kernel(tmp_path):
    program = compile_c(tmp_path, STACKS)
    assert run([program]).stdout == "right\n"
    result = run([*WEFT, "--bound", program.name, program])
    assert (result.returncode, result.stdout) == (0, "right\n")
