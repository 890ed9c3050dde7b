/* SPDX-License-Identifier: MIT */
/*
 * A thread becomes bound, because its VP has been taken many times. It becomes
 * so inside a call that was about to wait in a ring.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_BLOCKED = 60 };

static int unseen[2], pair[2];
static _Atomic long nr_read;

/* Blocks in the kernel, then reads data that has not arrived. */
static void *block_and_read(void *arg)
{
	for (int i = 0; i < NR_BLOCKED; i++) {
		struct pollfd fd = { pair[0], POLLIN, 0 };
		char c;

		CHECK_EQ(syscall(SYS_read, unseen[0], &c, 1), 1);
		/*
		 * weft's own signals must not end this wait when the thread
		 * becomes bound.
		 */
		if (i % 2 == (intptr_t)arg)
			CHECK_EQ(poll(&fd, 1, -1), 1);
		CHECK_EQ(recv(pair[0], &c, 1, 0), 1);
		nr_read++;
	}
	return NULL;
}

int main(void)
{
	for (intptr_t how = 0; how < 2; how++) {
		pthread_t thread;

		nr_read = 0;
		CHECK_EQ(pipe(unseen), 0);
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		thread = thread_start(block_and_read, (void *)how);
		for (int i = 0; i < NR_BLOCKED; i++) {
			usleep(4000);
			CHECK_EQ(write(unseen[1], "x", 1), 1);
			usleep(1000);
			CHECK_EQ(write(pair[1], "x", 1), 1);
			while (nr_read <= i)
				usleep(500);
		}
		thread_join(thread);
	}
	puts("all read");
	return 0;
}
