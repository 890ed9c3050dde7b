/* SPDX-License-Identifier: MIT */
/*
 * Helpers for tests of calls that wait: other threads run during the wait, and
 * handlers and cancellation end it.
 *
 *     static void *take(void *arg)
 *     {
 *             is_ready = 1;
 *             return outcome(sem_op(-1));
 *     }
 *
 *     CHECK_EQ(after_handler(take, 0, give), -EINTR);
 */
#ifndef WAITING_H
#define WAITING_H

#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

/* A waiter sets this just before its call. */
static _Atomic int is_ready;
static _Atomic int nr_handled;

static inline void others_go_on(void)
{
	pthread_t threads[10];

	threads_start(threads, 10, thread_yield_often, NULL);
	threads_join(threads, 10);
}

static inline void on_signal(int sig, siginfo_t *info, void *context)
{
	nr_handled++;
}

/* Makes a thread's result of a call's result or -errno. */
static inline void *outcome(long rc)
{
	return (void *)(intptr_t)(rc < 0 ? -errno : rc);
}

static inline long result_of(pthread_t thread)
{
	return (long)thread_join(thread);
}

/*
 * Interrupts `waiter`, which waits without a limit, by a handler with these
 * flags. Returns its result. `end` ends the wait if the handler does not.
 */
static inline long after_handler(void *(*waiter)(void *), int flags,
				 void (*end)(void))
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, flags);
	is_ready = 0;
	nr_handled = 0;
	thread = thread_start(waiter, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_count(&nr_handled, 1);
	await_rest();
	end();
	return result_of(thread);
}

static inline void is_cancelled_in(void *(*waiter)(void *), void *arg)
{
	for (int i = 0; i < 5; i++) {
		pthread_t thread;

		is_ready = 0;
		thread = thread_start(waiter, arg);
		if (i > 0)
			let_it_wait(&is_ready);
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
}

#endif
