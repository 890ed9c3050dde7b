/* SPDX-License-Identifier: MIT */
#include "ways_out_bare.h"

#include <unistd.h>

static volatile int nr_calls;

void bare_call(void (*fn)(void))
{
	fn();
	nr_calls++; /* so that the call is not a tail call */
}

static void pause_for_ever(void)
{
	for (;;) {
		pause();
		nr_calls++;
	}
}

void bare_once(pthread_once_t *once)
{
	pthread_once(once, pause_for_ever);
	nr_calls++;
}
