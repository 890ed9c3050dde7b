/* SPDX-License-Identifier: MIT */
/*
 * A library with a runtime that tells the kernel about its threads, like Go's.
 * Alternate stacks, ids and signals belong to the calling thread. That also
 * holds beside threads that compute, and for threads that start and end.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules.h"
#include "signalling.h"
#include "threading.h"

enum { NR_CALLERS = 6, NR_COMPUTING = 3, NR_CALLS = 200, STACK = 32 * 1024 };

static void (*begin)(void), (*leave)(void);
static bool (*enter)(char *stack), (*signal_self)(void), (*was_signalled)(void);
static bool (*runs_thread)(char *stack);

static atomic_bool is_over;
static atomic_int nr_inside;

static void *compute(void *arg)
{
	volatile unsigned long n = 0;

	while (!atomic_load(&is_over))
		n++;
	return arg;
}

static void *call(void *arg)
{
	char *stack = malloc(STACK);

	CHECK(enter(stack));
	atomic_fetch_add(&nr_inside, 1);
	for (int i = 0; i < NR_CALLS; i++) {
		CHECK(signal_self());
		if (i % 10 == 0)
			sched_yield();
		if (i % 50 == 0)
			CHECK_EQ(usleep(100), 0);
	}
	/* libc's name for this thread, its pthread_t, must work here, too:
	 * another thread would signal this thread by it. */
	while (atomic_load(&nr_inside) < NR_CALLERS)
		sched_yield();
	CHECK_EQ(pthread_kill(pthread_self(), SIGURG), 0);
	CHECK(was_signalled());
	leave();
	free(stack);
	return arg;
}

static void find(void *module)
{
	*(void **)&begin = dlsym(module, "runtime_begin");
	*(void **)&leave = dlsym(module, "runtime_leave");
	*(void **)&enter = dlsym(module, "runtime_enter");
	*(void **)&signal_self = dlsym(module, "runtime_signal");
	*(void **)&was_signalled = dlsym(module, "runtime_was_signalled");
	*(void **)&runs_thread = dlsym(module, "runtime_runs_thread");
}

int main(void)
{
	pthread_t computing[NR_COMPUTING], callers[NR_CALLERS];
	char *stack = malloc(STACK);

	threads_start(computing, NR_COMPUTING, compute, NULL);
	find(module_open_by("own_runtime_module.so", RTLD_NOW));
	begin();
	for (int round = 0; round < 3; round++) {
		CHECK(runs_thread(stack));
		atomic_store(&nr_inside, 0);
		threads_start(callers, NR_CALLERS, call, NULL);
		threads_join(callers, NR_CALLERS);
	}
	atomic_store(&is_over, true);
	threads_join(computing, NR_COMPUTING);
	free(stack);
	puts("each signal was handled where its thread wanted it");
	return 0;
}
