/* SPDX-License-Identifier: MIT */
/*
 * Children run in their parent's memory until they execute a program, for
 * longer than a thread may sleep in the kernel before it loses its VP.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_PARENTS = 4, NR_CHILDREN = 5, STACK_BYTES = 128 * 1024 };

static _Atomic int nr_working = NR_PARENTS;

static int become_true(void *status)
{
	char *argv[] = { "true", NULL };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	usleep(5000);
	sigprocmask(SIG_SETMASK, &set, NULL);
	fd = open("/dev/null", O_RDWR);
	dup2(fd, 0);
	close(fd);
	execv("/bin/true", argv);
	_exit(127);
}

static void await_child(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void *have_children(void *arg)
{
	static char stacks[NR_PARENTS][STACK_BYTES]
		__attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
	sigset_t all, old;

	sigfillset(&all);
	for (int i = 0; i < NR_CHILDREN; i++) {
		CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, &old), 0);
		await_child(clone(become_true, stacks[(intptr_t)arg + 1], flags,
				  NULL));
		CHECK_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	}
	nr_working--;
	return NULL;
}

static void *yield(void *arg)
{
	while (nr_working > 0)
		sched_yield();
	return arg;
}

int main(void)
{
	pthread_t parents[NR_PARENTS], other = thread_start(yield, NULL);

	threads_start_numbered(parents, NR_PARENTS, have_children);
	threads_join(parents, NR_PARENTS);
	thread_join(other);
	puts("all children have ended well");
	return 0;
}
