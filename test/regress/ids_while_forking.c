/* SPDX-License-Identifier: MIT */
/*
 * One thread forks and waits inside the fork for a lock of libc's. A second
 * thread holds that lock and releases it when it runs. A third thread changes
 * the process's ids meanwhile. The forking thread did not follow the change
 * before it had the lock, and the changing thread waited for it without letting
 * any thread run.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_ROUNDS = 5 };

/* Holds the lock of libc's list of streams while it waits for stdin's lock. */
static void *flush(void *arg)
{
	CHECK_EQ(fflush(NULL), 0);
	return arg;
}

static void *make_child(void *arg)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		_exit(0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	return arg;
}

static void *change_ids(void *arg)
{
	CHECK_EQ(setegid(getegid()), 0);
	return arg;
}

int main(void)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_t threads[3];

		flockfile(stdin);
		threads[0] = thread_start(flush, NULL);
		await_rest();
		threads[1] = thread_start(make_child, NULL);
		await_rest();
		threads[2] = thread_start(change_ids, NULL);
		await_rest();
		funlockfile(stdin);
		threads_join(threads, 3);
	}
	puts("all went on");
	return 0;
}
