/* SPDX-License-Identifier: MIT */
/*
 * A library with static TLS is loaded while threads exist. Later threads use
 * the memory of earlier threads again. They must find the initial values, even
 * if earlier threads changed them.
 */
#include <stdio.h>
#include <string.h>

#include "modules.h"
#include "threading.h"

enum { NR_EARLY = 20, NR_LATER = 200, NR_AT_ONCE = 10 };

struct values {
	long zero, seven;
	const char *text;
};

static void (*get)(struct values *ret);
static void (*change)(long by);
static pthread_barrier_t barrier;

static void load(void)
{
	void *module = module_open("static_tls_module.so");

	*(void **)&get = module_symbol(module, "static_tls_get");
	*(void **)&change = module_symbol(module, "static_tls_change");
}

static void check_fresh_then_change(long by)
{
	struct values v;

	get(&v);
	CHECK_EQ(v.zero, 0);
	CHECK_EQ(v.seven, 7);
	CHECK(strcmp(v.text, "fresh") == 0);
	change(by);
	sched_yield();
	get(&v);
	CHECK_EQ(v.zero, by);
	CHECK_EQ(v.seven, 7 + by);
	CHECK(strcmp(v.text, "changed") == 0);
}

/* This thread is older than the library. */
static void *run_early(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	check_fresh_then_change((intptr_t)arg);
	return arg;
}

static void *run_later(void *arg)
{
	check_fresh_then_change((intptr_t)arg);
	return arg;
}

int main(void)
{
	pthread_t early[NR_EARLY], later[NR_AT_ONCE];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_EARLY + 1), 0);
	/* These threads end before the library is loaded. */
	threads_start(later, NR_AT_ONCE, thread_nothing, NULL);
	threads_join(later, NR_AT_ONCE);
	threads_start_numbered(early, NR_EARLY, run_early);
	pthread_barrier_wait(&barrier);
	load();
	pthread_barrier_wait(&barrier);
	threads_join(early, NR_EARLY);
	check_fresh_then_change(100);
	for (int i = 0; i < NR_LATER; i += NR_AT_ONCE) {
		threads_start_numbered(later, NR_AT_ONCE, run_later);
		threads_join(later, NR_AT_ONCE);
	}
	printf("%d threads before and %d after: all fresh\n", NR_EARLY,
	       NR_LATER);
	return 0;
}
