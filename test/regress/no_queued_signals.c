/* SPDX-License-Identifier: MIT */
/*
 * The kernel's queue of signals is full. Handlers must run nevertheless, since
 * standard signals need no entry in it.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "waiting.h"

enum { NR_SIGNALS = 50 };

static _Atomic bool is_over;

static void *sleep_on(void *arg)
{
	while (!is_over)
		sleep_ms(1);
	return arg;
}

int main(void)
{
	const struct rlimit none = { 0, 0 };
	pthread_t sleeper;

	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	handle(SIGUSR1, on_signal, SA_RESTART);
	sleeper = thread_start(sleep_on, NULL);
	for (int i = 1; i <= NR_SIGNALS; i++) {
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK_EQ(nr_handled, 3 * i - 2);
		CHECK_EQ(pthread_kill(sleeper, SIGUSR1), 0);
		await_count(&nr_handled, 3 * i - 1);
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		await_count(&nr_handled, 3 * i);
	}
	is_over = true;
	thread_join(sleeper);
	puts("all were handled");
	return 0;
}
