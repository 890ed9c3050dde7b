# SPDX-License-Identifier: MIT
"""Waits for descriptors: by io_uring, or by kernel threads and processes if
io_uring is refused or switched off."""

import ctypes
import errno
import resource

import pytest

from conftest import BUILD, FILTER, complains
from test_doctor import rows

PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14

IO_URING_SETUP = 425

# Threads wait for descriptors in several ways; prints the number of kernel
# threads.
CROWD = """
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
enum { NR = 300 };
static int pairs[NR][2];
static _Atomic int nr_begun;
static void *wait_for_one(void *arg)
{
	intptr_t i = (intptr_t)arg;
	struct pollfd fd = { pairs[i][0], POLLIN, 0 };
	char c = 0;
	nr_begun++;
	if (i % 3 == 0)
		poll(&fd, 1, -1);
	else if (i % 3 == 1)
		return recv(fd.fd, &c, 1, 0) == 1 ? arg : NULL;
	return read(fd.fd, &c, 1) == 1 ? arg : NULL;
}
int main(void)
{
	pthread_t threads[NR];
	struct dirent **tasks;
	int nr_tasks;
	for (intptr_t i = 0; i < NR; i++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]);
		pthread_create(&threads[i], NULL, wait_for_one, (void *)i);
	}
	while (nr_begun < NR)
		usleep(1000);
	usleep(50000);
	/* The kernel's; opendir would list the program's. */
	nr_tasks = scandir("/proc/self/task", &tasks, NULL, NULL);
	for (intptr_t i = 0; i < NR; i++) {
		void *result;
		write(pairs[i][1], "x", 1);
		pthread_join(threads[i], &result);
		if (result != (void *)i)
			return 1;
	}
	printf("%d\\n", nr_tasks - 2);
	return 0;
}
"""


def test_doctor_names_requested_files(weft):
    found = rows(weft("doctor", env={"WEFT_IO": "workers"}))
    assert found["I/O backend"].startswith("workers, as WEFT_IO asks")


@pytest.mark.parametrize("nice", ["-21", "20", "+1", "--1", "1.5", ""])
def test_malformed_nice(weft, nice):
    complains(weft("run", f"--io-nice={nice}", "true"), 125,
              f"--io-nice: '{nice}' is not a number from -20 to 19")


def test_malformed(weft):
    complains(weft("run", "--io", "aio", "true"), 125,
              "--io: 'aio' is not uring, workers or process")


def test_old_name_of_a_value(weft):
    """The release before this one had `servers` as the name of `workers`. weft
    accepts the old name with one line, and the program's children see the new
    name."""
    child = ["sh", "-c", f"echo $WEFT_IO; {BUILD / 'weft'} run true"]
    for result, said in (
            (weft("run", "--io", "servers", *child),
             "weft: --io servers is now --io workers\n"),
            (weft("run", *child, env={"WEFT_IO": "servers"}),
             "weft: WEFT_IO=servers is now WEFT_IO=workers\n")):
        assert (result.returncode, result.stdout) == (0, "workers\n")
        assert result.stderr == said


@pytest.mark.parametrize("backend", ["uring", "workers", "process"])
def test_waits_take_no_kernel_threads(weft, compile_c, backend):
    program = compile_c("-pthread", source=CROWD)
    result = weft("run", "--vps", "2", "--io", backend, program)
    assert result.returncode == 0
    assert int(result.stdout) < 30


# Refusals: by the sysctl kernel.io_uring_disabled or a container, by old
# kernels, by limits.
@pytest.mark.parametrize("error, text", [
    (errno.EPERM, "refused (Operation not permitted"),
    (errno.ENOSYS, "the kernel has none"),
    (errno.ENOMEM, "refused (Cannot allocate memory"),
    (errno.EMFILE, "refused (Too many open files")])
def test_refused(weft, compile_c, error, text):
    refuse = ["refuse", error, IO_URING_SETUP, "--", BUILD / "weft"]
    found = rows(weft(*refuse, "doctor", command=FILTER))
    assert found["io_uring"].startswith(text)
    assert found["I/O backend"].startswith("workers, for want of io_uring")
    program = compile_c("-pthread", source=CROWD, name="crowd")
    result = weft(*refuse, "run", "--vps", "2", program, command=FILTER)
    assert result.returncode == 0
    assert int(result.stdout) < 30


def test_no_memory_may_be_locked(weft, compile_c):
    def lower():
        # Without this capability the limit also holds for root.
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    program = compile_c("-pthread", source=CROWD)
    result = weft("run", "--vps", "2", program, preexec_fn=lower)
    assert (result.returncode, result.stderr) == (0, "")
