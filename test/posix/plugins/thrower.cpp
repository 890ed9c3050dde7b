/* SPDX-License-Identifier: MIT */
/* A C++ library for a C program that is not linked with an unwinder. */
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int nr_runs;

static void run()
{
	if (++nr_runs == 1)
		throw 42;
}

/*
 * Returns 42 if the exception passed through pthread_once and the routine ran
 * once more.
 */
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
