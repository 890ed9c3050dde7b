/* SPDX-License-Identifier: MIT */
/*
 * Threads that hardly ever leave libc: even where weft may preempt no thread at
 * once, the other threads must get their turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threading.h"

enum { NR_CPU_BOUND = 6, NR_SLEEPS = 30, BYTES = 8 << 20 };

static volatile int stop;
static void *(*volatile fill)(void *, int, size_t) = memset;

/* Spends its time in libc's string functions. */
static void *fill_memory(void *arg)
{
	void *memory = malloc(BYTES);

	while (!stop)
		fill(memory, 1, BYTES);
	free(memory);
	return arg;
}

/* Spends its time in other functions of libc, which may take locks. */
static void *convert(void *arg)
{
	char text[64];

	while (!stop) {
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "%d %.9g", i, i / 7.0);
			CHECK(strtod(text, NULL) == i);
		}
	}
	return arg;
}

static void sleep_beside(void *(*cpu_bound)(void *))
{
	pthread_t computing[NR_CPU_BOUND];

	stop = 0;
	threads_start(computing, NR_CPU_BOUND, cpu_bound, NULL);
	for (int i = 0; i < NR_SLEEPS; i++)
		sleep_ms(1);
	stop = 1;
	threads_join(computing, NR_CPU_BOUND);
}

int main(void)
{
	sleep_beside(fill_memory);
	printf("slept beside memset\n");
	sleep_beside(convert);
	printf("slept beside printf\n");
	return 0;
}
