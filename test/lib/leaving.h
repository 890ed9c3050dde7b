/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits, and leaves its wait by a jump out of a handler just when
 * it gets what it waits for.
 *
 *     static void *take_or_leave(void *arg)
 *     {
 *             volatile bool got = false;
 *
 *             if (sigsetjmp(leaving_env, 1) == 0) {
 *                     begin_to_wait();
 *                     got = sem_wait(&sem) == 0;
 *             }
 *             end_to_wait(got);
 *             return NULL;
 *     }
 *
 *     leaver = leaver_of(take_or_leave);
 *     sem_post(&sem);
 *     pthread_kill(leaver, SIGUSR1);
 *
 * The signal may also come just when the thread has what it has waited for, and
 * has yet to say so. That is rare, and natively the same.
 */
#ifndef LEAVING_H
#define LEAVING_H

#include <setjmp.h>

#include "waiting.h"

enum { ROUNDS = 30, MOST_LOST = 3 };

static sigjmp_buf leaving_env;
static _Atomic int is_waiting, nr_got, nr_left;

static inline void jump_out(int sig, siginfo_t *info, void *context)
{
	if (is_waiting)
		siglongjmp(leaving_env, 1);
}

static inline pthread_t leaver_of(void *(*start)(void *))
{
	pthread_t thread;

	handle(SIGUSR1, jump_out, 0);
	is_ready = 0;
	nr_got = 0;
	nr_left = 0;
	thread = thread_start(start, NULL);
	let_it_wait(&is_ready);
	return thread;
}

static inline void begin_to_wait(void)
{
	is_waiting = 1;
	is_ready = 1;
}

static inline void end_to_wait(bool got)
{
	is_waiting = 0;
	if (got)
		nr_got++;
	else
		nr_left++;
}

/*
 * Waits for the others' success. Returns true if they still lack it: it is
 * lost.
 */
static inline bool is_lost(_Atomic int *nr, int least)
{
	for (int i = 0; i < 2000 && *nr < least; i++)
		sleep_ms(1);
	return *nr < least;
}

#endif
