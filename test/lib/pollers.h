/* SPDX-License-Identifier: MIT */
/*
 * Threads that poll many descriptors until the test ends. weft has I/O workers
 * for so many such calls and makes epoll sets for more.
 *
 *     others_poll();
 *     ...                     later polls of many descriptors use epoll sets
 */
#ifndef POLLERS_H
#define POLLERS_H

#include <poll.h>
#include <unistd.h>

#include "threading.h"

static inline void *poll_for_good(void *end)
{
	enum { NR_ENTRIES = 20 }; /* more than weft has requests for */
	struct pollfd fds[NR_ENTRIES];

	for (int i = 0; i < NR_ENTRIES; i++)
		fds[i] = (struct pollfd){ *(int *)end, POLLIN, 0 };
	for (;;)
		poll(fds, NR_ENTRIES, -1);
	return NULL;
}

static inline void others_poll(void)
{
	enum { NR_OTHERS = 80 };
	static int quiet[2];
	pthread_t threads[NR_OTHERS];

	CHECK_EQ(pipe(quiet), 0);
	threads_start(threads, NR_OTHERS, poll_for_good, &quiet[0]);
	for (int i = 0; i < NR_OTHERS; i++)
		CHECK_EQ(pthread_detach(threads[i]), 0);
	await_rest();
}

#endif
