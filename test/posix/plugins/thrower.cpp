/* SPDX-License-Identifier: MIT */
/* A library in C++ for a program in C, which has no unwinder of its own. */
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int nr_runs;

static void run()
{
	if (++nr_runs == 1)
		throw 42;
}

/* 42 if the exception came through, and the routine ran once more. */
extern "C" int throw_through_once()
{
	int caught = 0;

	try {
		pthread_once(&once, run);
	} catch (int number) {
		caught = number;
	}
	pthread_once(&once, run);
	pthread_once(&once, run);
	return nr_runs == 2 ? caught : -nr_runs;
}
