/* SPDX-License-Identifier: MIT */
/*
 * A thread that has computed replaces the program while others compute and are
 * preempted: a preemption signal that was on its way must not reach the new
 * program.
 */
#include <stdio.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

enum { NR_ROUNDS = 30, NR_SPINNERS = 4, COMPUTE_MS = 2 };

static void *spin(void *arg)
{
	for (volatile long i = 0;; i++)
		continue;
	return arg;
}

static void *replace(void *arg)
{
	int64_t end = now_ns() + COMPUTE_MS * NS_PER_MS;

	while (now_ns() < end)
		execl("/nonexistent", "nothing", (char *)NULL);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
	return arg;
}

static void compute_and_replace(void)
{
	pthread_t spinners[NR_SPINNERS];

	threads_start(spinners, NR_SPINNERS, spin, NULL);
	thread_join(thread_start(replace, NULL));
}

int main(void)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		CHECK_EQ(child_exit_status(compute_and_replace), 0);
	puts("replaced");
	return 0;
}
