/* SPDX-License-Identifier: MIT */
/*
 * Threads wait for a process-shared mutex with priority inheritance, and for
 * conditions with it. The word of such a mutex has an id that the kernel does
 * not know. libc's own lock then waited for ever, in bound threads and after a
 * wait for a condition.
 */
#include <pthread.h>
#include <stdio.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 4, NR_ROUNDS = 50 };

static pthread_mutex_t mutex;
static pthread_cond_t cond;
static int turn, nr_rounds;

/* The threads take turns; the others wait or are waking up. */
static void *take_turns(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		while (turn != (intptr_t)arg)
			CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
		turn = (turn + 1) % NR_THREADS;
		nr_rounds++;
		CHECK_EQ(pthread_cond_broadcast(&cond), 0);
		sched_yield(); /* the woken thread finds the mutex locked */
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return NULL;
}

static void make_objects(int cond_is_shared)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	turn = 0;
	CHECK_EQ(pthread_mutexattr_init(&ma), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT), 0);
	CHECK_EQ(pthread_mutex_init(&mutex, &ma), 0);
	CHECK_EQ(pthread_condattr_init(&ca), 0);
	CHECK_EQ(pthread_condattr_setpshared(&ca, cond_is_shared), 0);
	CHECK_EQ(pthread_cond_init(&cond, &ca), 0);
}

int main(void)
{
	static const int kinds[] = { PTHREAD_PROCESS_PRIVATE,
				     PTHREAD_PROCESS_SHARED };
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < 2; i++) {
		make_objects(kinds[i]);
		threads_start_numbered(threads, NR_THREADS, take_turns);
		threads_join(threads, NR_THREADS);
	}
	printf("%d rounds\n", nr_rounds);
	return 0;
}
