/* SPDX-License-Identifier: MIT */
/*
 * A thread that another thread joins makes a child. The child's threads may get
 * the joiner's slot, and weft must not take them for threads that wait for
 * their creator.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static void use_threads(void)
{
	pthread_t threads[20];

	threads_start(threads, 20, thread_nothing, NULL);
	threads_join(threads, 20);
}

static void *fork_later(void *arg)
{
	int status;
	pid_t pid;

	await_rest(); /* the other thread joins this one now */
	pid = fork();
	if (pid == 0) {
		use_threads();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

static void *join_it(void *arg)
{
	thread_join(thread_start(fork_later, NULL));
	return arg;
}

int main(void)
{
	thread_join(thread_start(join_it, NULL));
	puts("all were joined");
	return 0;
}
