/* SPDX-License-Identifier: MIT */
/*
 * Signals with values go to the process while its threads unblock and block
 * them. Each value must come once, whichever thread it was first meant for.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

enum { NR_TAKERS = 6, NR_VALUES = 20000, MOST_UNDER_WAY = 100 };

static _Atomic int nr_seen[NR_VALUES];
static _Atomic int nr_taken, is_over;

static void on_value(int sig, siginfo_t *info, void *context)
{
	nr_seen[info->si_value.sival_int]++;
	nr_taken++;
}

static void *open_and_close(void *arg)
{
	sigset_t set = set_of(SIGRTMIN + 1);

	while (!is_over) {
		CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
		CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t threads[NR_TAKERS];

	handle(SIGRTMIN + 1, on_value, SA_RESTART);
	block(SIGRTMIN + 1);
	threads_start(threads, NR_TAKERS, open_and_close, NULL);
	for (int i = 0; i < NR_VALUES; i++) {
		union sigval value = { .sival_int = i };

		while (i - nr_taken >= MOST_UNDER_WAY)
			sched_yield();
		CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, value), 0);
	}
	while (nr_taken < NR_VALUES)
		sched_yield();
	is_over = 1;
	threads_join(threads, NR_TAKERS);
	for (int i = 0; i < NR_VALUES; i++)
		CHECK_EQ(nr_seen[i], 1);
	printf("%d values came once\n", NR_VALUES);
	return 0;
}
