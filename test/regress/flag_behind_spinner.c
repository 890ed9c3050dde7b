/* SPDX-License-Identifier: MIT */
/*
 * A thread waits for a flag without ever yielding. The thread that sets the
 * flag stands behind it in the queue: as a new thread, as a woken thread, and
 * as a thread after a sleep.
 */
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "threading.h"

enum { NR_ROUNDS = 30 };

static _Atomic int flag;
static sem_t go;

static void *spin(void *arg)
{
	if (arg != NULL)
		CHECK_EQ(sem_post(arg), 0);
	while (!flag)
		continue;
	return arg;
}

static void *set(void *arg)
{
	flag = 1;
	return arg;
}

static void *wait_then_set(void *arg)
{
	while (sem_wait(&go) != 0)
		CHECK_EQ(errno, EINTR);
	return set(arg);
}

static void *sleep_then_set(void *arg)
{
	sleep_ms(1);
	return set(arg);
}

/* Runs more spinners than there are CPUs. */
static void run(void *(*setter)(void *), void *spinner_arg)
{
	int nr = (int)sysconf(_SC_NPROCESSORS_ONLN) + 1;
	pthread_t spinners[64], last;

	nr = nr < 64 ? nr : 64;
	for (int i = 0; i < NR_ROUNDS; i++) {
		flag = 0;
		if (setter != set)
			last = thread_start(setter, NULL);
		threads_start(spinners, nr - 1, spin, NULL);
		spinners[nr - 1] = thread_start(spin, spinner_arg);
		if (setter == set)
			last = thread_start(setter, NULL);
		threads_join(spinners, nr);
		thread_join(last);
	}
}

int main(void)
{
	CHECK_EQ(sem_init(&go, 0, 0), 0);
	run(set, NULL);
	puts("a new thread set it");
	run(wait_then_set, &go);
	puts("a woken thread set it");
	run(sleep_then_set, NULL);
	puts("a sleeper set it");
	return 0;
}
