/* SPDX-License-Identifier: MIT */
/*
 * Threads lock robust mutexes when the process gets its first threads, while
 * signals come. A thread that could not wait for the monitor's start locked its
 * mutex in one way and unlocked it later in another.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "waiting.h"

enum { NR_PROCESSES = 20, NR_THREADS = 8 };

static pthread_mutex_t mutexes[NR_THREADS];
static _Atomic int nr_locked;

static void *lock_and_unlock(void *arg)
{
	pthread_mutex_t *mutex = arg;

	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	nr_locked++;
	await_count(&nr_locked, NR_THREADS);
	sleep_ms(2);
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	return arg;
}

static int run(void)
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		threads[i] = thread_start(lock_and_unlock, &mutexes[i]);
	for (int i = 0; nr_locked < NR_THREADS; i++)
		CHECK_EQ(pthread_kill(threads[i % NR_THREADS], SIGUSR1), 0);
	threads_join(threads, NR_THREADS);
	return 0;
}

int main(void)
{
	pthread_mutexattr_t attr;

	handle(SIGUSR1, on_signal, SA_RESTART);
	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(pthread_mutex_init(&mutexes[i], &attr), 0);
	for (int i = 0; i < NR_PROCESSES; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(run());
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	puts("all were unlocked");
	return 0;
}
