/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits inside libc gets a signal and a cancellation at the same
 * time: its handler may run, and the thread must end.
 */
#include <signal.h>
#include <stdio.h>
#include <sched.h>
#include <unistd.h>

#include "threading.h"

enum { NR_ROUNDS = 300 };

static int ends[2];
static _Atomic int is_ready;

static void do_nothing(int sig)
{
}

static void close_stream(void *stream)
{
	CHECK_EQ(fclose(stream), 0);
}

static void *wait_inside(void *arg)
{
	FILE *stream = fdopen(dup(ends[0]), "r");

	CHECK(stream != NULL);
	pthread_cleanup_push(close_stream, stream);
	is_ready = 1;
	for (;;)
		fgetc(stream);
	pthread_cleanup_pop(0);
	return arg;
}

int main(void)
{
	const struct sigaction action = { .sa_handler = do_nothing,
					  .sa_flags = SA_RESTART };

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_t thread;

		is_ready = 0;
		thread = thread_start(wait_inside, NULL);
		while (!is_ready)
			sched_yield();
		if (i % 2 == 0)
			await_rest();
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		CHECK_EQ(pthread_kill(thread, SIGUSR2), 0);
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
	puts("all ended");
	return 0;
}
