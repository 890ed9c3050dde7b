/* SPDX-License-Identifier: MIT */
/*
 * Signals interrupt a thread all the time while it waits for a mutex. It must
 * get the mutex in its turn, though other threads pass the mutex among them.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "busy.h"

enum { NR_OTHERS = 4, NR_TIMES = 20, MOST_BEFORE = 1500, NR_TRIES = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_over, is_waiting;
static long nr_others; /* protected by mutex */

static void on_signal(int sig)
{
}

static void *pass_on(void *arg)
{
	while (!is_over) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		nr_others++;
		busy_for_us(30);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return arg;
}

static void *wait_for_it(void *arg)
{
	long most = 0;

	for (int i = 0; i < NR_TIMES; i++) {
		is_waiting = 1;
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		is_waiting = 0;
		most = nr_others > most ? nr_others : most;
		nr_others = 0;
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		sched_yield();
	}
	is_over = 1;
	return most < MOST_BEFORE ? NULL : arg;
}

static bool has_its_turns(void)
{
	pthread_t others[NR_OTHERS], waiter;
	bool is_ok;

	nr_others = 0;
	is_over = 0;
	threads_start(others, NR_OTHERS, pass_on, NULL);
	waiter = thread_start(wait_for_it, &waiter);
	while (!is_over) {
		if (is_waiting)
			CHECK_EQ(pthread_kill(waiter, SIGUSR1), 0);
		usleep(20);
	}
	is_ok = thread_join(waiter) == NULL;
	threads_join(others, NR_OTHERS);
	return is_ok;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	int nr_tries = 0;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	/* On a busy machine an attempt may fail, but not all of them. */
	do
		CHECK(++nr_tries <= NR_TRIES);
	while (!has_its_turns());
	printf("it had its turns\n");
	return 0;
}
