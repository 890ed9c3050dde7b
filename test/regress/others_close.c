/* SPDX-License-Identifier: MIT */
/*
 * A thread writes more than fits, while other threads open and close files; it
 * must write all of it. Its descriptor number belonged to a closed file just
 * before. The closing thread reported that close a second time after the number
 * was in use again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "threading.h"

enum { NR_WRITERS = 4, NR_CLOSERS = 3, NR_ROUNDS = 150, BYTES = 1 << 20 };

static char block[BYTES];
static _Atomic int is_over;

static void *read_all(void *fd)
{
	static __thread char some[32 * 1024];

	while (read(*(int *)fd, some, sizeof(some)) > 0)
		continue;
	CHECK_EQ(close(*(int *)fd), 0);
	return fd;
}

static void *write_often(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_t reader;
		int ends[2];

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		reader = thread_start(read_all, &ends[0]);
		CHECK_EQ(write(ends[1], block, BYTES), BYTES);
		CHECK_EQ(close(ends[1]), 0);
		thread_join(reader);
	}
	return arg;
}

static void *open_and_close(void *arg)
{
	char byte;

	while (!is_over) {
		int fd = open("/dev/null", O_RDONLY);

		CHECK(fd >= 0);
		CHECK_EQ(read(fd, &byte, 1), 0);
		CHECK_EQ(close(fd), 0);
	}
	return arg;
}

int main(void)
{
	pthread_t writers[NR_WRITERS], closers[NR_CLOSERS];

	threads_start(writers, NR_WRITERS, write_often, NULL);
	threads_start(closers, NR_CLOSERS, open_and_close, NULL);
	threads_join(writers, NR_WRITERS);
	is_over = 1;
	threads_join(closers, NR_CLOSERS);
	puts("all was written");
	return 0;
}
