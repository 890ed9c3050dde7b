/* SPDX-License-Identifier: MIT */
/*
 * Credentials change while the kernel threads that have to follow are being
 * made: the changing thread waited without end for a new kernel thread that did
 * not yet take the signal. Each child starts anew; its blocked threads make
 * more kernel threads.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threading.h"

enum { NR_CHILDREN = 25, NR_THREADS = 4, NR_READERS = 6, NR_CHANGES = 10 };

static int ends[2];

static void *read_one(void *arg)
{
	char byte;

	CHECK_EQ(syscall(SYS_read, ends[0], &byte, 1), 1);
	return arg;
}

static void *change(void *arg)
{
	uid_t uid = getuid();

	for (int i = 0; i < NR_CHANGES; i++)
		CHECK_EQ(setresuid(uid, uid, uid), 0);
	return arg;
}

static void run_child(void)
{
	pthread_t readers[NR_READERS], threads[NR_THREADS];

	CHECK_EQ(pipe(ends), 0);
	threads_start(readers, NR_READERS, read_one, NULL);
	threads_start(threads, NR_THREADS, change, NULL);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(write(ends[1], "abcdef", NR_READERS), NR_READERS);
	threads_join(readers, NR_READERS);
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < NR_CHILDREN; i++) {
		pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (child == 0)
			run_child();
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	printf("%d processes changed\n", NR_CHILDREN);
	return 0;
}
