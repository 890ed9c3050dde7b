/* SPDX-License-Identifier: MIT */
/*
 * A program sets its descriptor limit to the number it has, as sandboxes do.
 * Threads that block in system calls must still not delay other threads.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_READERS = 8 };

static int fds[2];

static void *read_one(void *arg)
{
	char c;

	CHECK_EQ(syscall(SYS_read, fds[0], &c, 1), 1);
	return arg;
}

static void *write_one(void *arg)
{
	sleep_ms(10);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	return arg;
}

int main(void)
{
	const struct rlimit none = { 0, 0 };
	pthread_t readers[NR_READERS];
	char c;

	CHECK_EQ(pipe(fds), 0);
	thread_join(thread_start(write_one, NULL));
	CHECK_EQ(read(fds[0], &c, 1), 1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	threads_start(readers, NR_READERS, read_one, NULL);
	sleep_ms(10); /* the reads begin before the write */
	for (int i = 0; i < NR_READERS; i++)
		thread_join(thread_start(write_one, NULL));
	threads_join(readers, NR_READERS);
	puts("all have read");
	return 0;
}
