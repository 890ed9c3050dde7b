/* SPDX-License-Identifier: MIT */
/*
 * A child process that shares memory and descriptors executes a program. weft
 * believed that its own threads had executed it, and never preempted them
 * again.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_SPINNERS = 5, STACK_BYTES = 128 * 1024 };

static char stack[STACK_BYTES] __attribute__((aligned(16)));
static _Atomic int is_over;

static int become_true(void *arg)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

static void *have_child(void *arg)
{
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD;
	pid_t pid = clone(become_true, stack + STACK_BYTES, flags, NULL);
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

static void *spin(void *arg)
{
	while (!is_over)
		;
	return arg;
}

static void *end_it(void *arg)
{
	is_over = 1;
	return arg;
}

int main(void)
{
	pthread_t spinners[NR_SPINNERS], other;

	thread_join(thread_start(have_child, NULL));
	threads_start(spinners, NR_SPINNERS, spin, NULL);
	other = thread_start(end_it, NULL);
	threads_join(spinners, NR_SPINNERS);
	thread_join(other);
	puts("all ended");
	return 0;
}
