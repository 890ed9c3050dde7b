/* SPDX-License-Identifier: MIT */
/* A program with a library that uses threads, locks and symbols before main,
 * and an allocator that does so inside malloc (plugins/early_hooks.c). */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "child.h"
#include "threading.h"

extern _Atomic long early_nr_mallocs;
extern _Atomic long early_nr_threads;

TEST(thread_of_a_constructor)
{
	CHECK_EQ(early_nr_threads, 1);
}

static void *allocate(void *arg)
{
	for (size_t i = 1; i < 200; i++) {
		char *block = malloc(i * 10);

		CHECK(block != NULL);
		memset(block, (int)i, i * 10);
		if (i % 20 == 0)
			sched_yield();
		CHECK_EQ(block[i * 10 - 1], (char)i);
		free(block);
	}
	return arg;
}

TEST(allocator_that_locks)
{
	long before = early_nr_mallocs;
	pthread_t threads[50];

	threads_start(threads, 50, allocate, NULL);
	threads_join(threads, 50);
	CHECK(early_nr_mallocs >= before + 50 * 199);
}

static void allocate_in_child(void)
{
	pthread_t threads[5];

	threads_start(threads, 5, allocate, NULL);
	threads_join(threads, 5);
}

TEST(allocator_in_a_child)
{
	CHECK_EQ(child_exit_status(allocate_in_child), 0);
}
