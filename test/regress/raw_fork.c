/* SPDX-License-Identifier: MIT */
/*
 * A threaded process forks without libc's fork, as QProcess does. The child
 * believed the parent's kernel threads to be its own and crashed.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threading.h"

enum { NR_THREADS = 4, STACK_BYTES = 1 << 20 };

static int ends[2];

static void *read_one(void *arg)
{
	char byte;

	CHECK_EQ(read(ends[0], &byte, 1), 1);
	return arg;
}

/* Waits, runs threads and executes a program. */
static int run_child(void *arg)
{
	pthread_t threads[NR_THREADS];

	usleep(1000);
	CHECK_EQ(pipe(ends), 0);
	threads_start(threads, NR_THREADS, read_one, NULL);
	await_rest();
	CHECK_EQ(write(ends[1], "abcd", NR_THREADS), NR_THREADS);
	threads_join(threads, NR_THREADS);
	execl("/bin/sh", "sh", "-c", arg, (char *)NULL);
	return 1;
}

static void check_child(const char *how, pid_t pid)
{
	int status;

	if (pid == 0)
		_exit(run_child("kill -0 $PPID && exit 7"));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	printf("%s: %#x\n", how, (unsigned)status);
	fflush(stdout);
}

static void *fork_in_all_ways(void *arg)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	char *stack = malloc(STACK_BYTES);
	int fd;

	CHECK(stack != NULL);
	check_child("SYS_clone",
		    (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0));
	check_child("SYS_clone with a descriptor",
		    (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PIDFD, NULL, &fd,
				   NULL, 0));
	CHECK_EQ(close(fd), 0);
	check_child("SYS_clone3",
		    (pid_t)syscall(SYS_clone3, &args, sizeof(args)));
	check_child("SYS_fork", (pid_t)syscall(SYS_fork));
	check_child("clone",
		    clone(run_child, stack + STACK_BYTES, SIGCHLD, "exit 8"));
	errno = 0;
	CHECK_EQ(clone(run_child, stack + STACK_BYTES, CLONE_SIGHAND, NULL),
		 -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(syscall(SYS_clone, CLONE_SIGHAND, NULL, NULL, NULL, 0), -1);
	CHECK_EQ(errno, EINVAL);
	free(stack);
	return arg;
}

int main(void)
{
	pthread_t threads[NR_THREADS], forker;

	CHECK_EQ(pipe(ends), 0);
	threads_start(threads, NR_THREADS, read_one, NULL);
	await_rest();
	fork_in_all_ways(NULL);
	pthread_create(&forker, NULL, fork_in_all_ways, NULL);
	pthread_join(forker, NULL);
	CHECK_EQ(write(ends[1], "abcd", NR_THREADS), NR_THREADS);
	threads_join(threads, NR_THREADS);
	return 0;
}
