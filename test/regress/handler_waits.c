/* SPDX-License-Identifier: MIT */
/*
 * Bound threads run handlers that wait. Each handler begins just when another
 * thread has ended the interrupted wait and has not reported that yet. The
 * handler's wait ended in place of the interrupted one, and stayed in the list
 * of waiters.
 */
#include <stdio.h>

#include "signalling.h"
#include "threading.h"

enum { NR_THREADS = 12, NR_ROUNDS = 1500, SLEEP_NS = 50000 };

static pthread_barrier_t barrier;
static _Atomic int nr_done, is_over;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const struct timespec ts = { 0, SLEEP_NS };
	int saved_errno = errno;
	int64_t start = now_ns();

	if (nanosleep(&ts, NULL) == 0)
		CHECK(now_ns() - start >= SLEEP_NS);
	errno = saved_errno;
}

static void *meet_others(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		int rc = pthread_barrier_wait(&barrier);

		CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
	}
	nr_done++;
	return arg;
}

static void *disturb(void *arg)
{
	const struct timespec ts = { 0, 100000 };
	const pthread_t *threads = arg;

	for (int i = 0; !is_over; i++) {
		CHECK_EQ(pthread_kill(threads[i % NR_THREADS], SIGUSR1), 0);
		if (i % NR_THREADS == 0)
			nanosleep(&ts, NULL);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[NR_THREADS], disturber;

	handle(SIGUSR1, on_signal, SA_RESTART);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS), 0);
	threads_start(threads, NR_THREADS, meet_others, NULL);
	disturber = thread_start(disturb, threads);
	while (nr_done < NR_THREADS)
		sleep_ms(1);
	is_over = 1;
	thread_join(disturber);
	threads_join(threads, NR_THREADS);
	puts("all met");
	return 0;
}
