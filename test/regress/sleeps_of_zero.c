/* SPDX-License-Identifier: MIT */
/*
 * A sleep of 0 yields the CPU, whichever function asks for it. If no other
 * thread runs, it is a voluntary switch of a kernel thread. So a thread that
 * polls this way does not keep a CPU busy.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { NR_SLEEPS = 1000 };

static const struct timespec no_time;

static int by_nanosleep(void)
{
	return nanosleep(&no_time, NULL);
}

static int by_usleep(void)
{
	return usleep(0);
}

static int by_clock(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL);
}

static int by_real_time(void)
{
	return clock_nanosleep(CLOCK_REALTIME, 0, &no_time, NULL);
}

static int by_thrd_sleep(void)
{
	return thrd_sleep(&no_time, NULL);
}

static const struct {
	const char *name;
	int (*sleep)(void);
} ways[] = {
	{ "nanosleep", by_nanosleep },
	{ "usleep", by_usleep },
	{ "clock_nanosleep", by_clock },
	{ "clock_nanosleep of CLOCK_REALTIME", by_real_time },
	{ "thrd_sleep", by_thrd_sleep },
};

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

static void *sleep_often(void *arg)
{
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		long before = voluntary_switches();
		int nr_failed = 0;

		for (int k = 0; k < NR_SLEEPS; k++)
			nr_failed += ways[i].sleep() != 0;
		if (voluntary_switches() - before < NR_SLEEPS / 2)
			printf("%s kept the CPU\n", ways[i].name);
		else
			printf("%s: %d failed\n", ways[i].name, nr_failed);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_often, NULL) != 0) {
		puts("no thread");
		return 1;
	}
	pthread_join(thread, NULL);
	return 0;
}
