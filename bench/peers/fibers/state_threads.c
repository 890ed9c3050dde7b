/* SPDX-License-Identifier: MIT */
/*
 * State Threads: user-level threads on one kernel thread, without preemption.
 * It has no semaphore: a counter takes its place, as no other thread runs
 * between two switches.
 */
#include <errno.h>
#include <st.h>

#include "rows.h"

enum { STACK_BYTES = 64 * 1024 };

static void *peer_start(void *(*run)(void *), void *arg)
{
	st_thread_t thread = st_thread_create(run, arg, 1, STACK_BYTES);

	if (thread == NULL)
		bench_impossible("st_thread_create", errno);
	return thread;
}

static void peer_join(void *thread)
{
	if (st_thread_join((st_thread_t)thread, NULL) != 0)
		abort();
}

/* The library has no call that only yields. */
static void peer_yield(void)
{
	st_usleep(0);
}

struct sem {
	int count;
	st_cond_t is_posted;
};

static void *peer_sem_new(int count)
{
	struct sem *sem = rows_allocate(sizeof(*sem));

	sem->count = count;
	sem->is_posted = st_cond_new();
	return sem;
}

static void peer_sem_wait(void *of)
{
	struct sem *sem = of;

	while (sem->count == 0)
		st_cond_wait(sem->is_posted);
	sem->count--;
}

static void peer_sem_post(void *of)
{
	struct sem *sem = of;

	sem->count++;
	st_cond_signal(sem->is_posted);
}

static void *peer_mutex_new(void)
{
	return st_mutex_new();
}

static void peer_mutex_lock(void *mutex)
{
	st_mutex_lock((st_mutex_t)mutex);
}

static void peer_mutex_unlock(void *mutex)
{
	st_mutex_unlock((st_mutex_t)mutex);
}

static void *peer_cond_new(void)
{
	return st_cond_new();
}

/* A condition variable of State Threads takes no mutex. */
static void peer_cond_wait(void *cond, void *mutex)
{
	st_mutex_unlock((st_mutex_t)mutex);
	st_cond_wait((st_cond_t)cond);
	st_mutex_lock((st_mutex_t)mutex);
}

static void peer_cond_signal(void *cond)
{
	st_cond_signal((st_cond_t)cond);
}

int main(int argc, char **argv)
{
	if (st_init() != 0)
		bench_impossible("st_init", errno);
	return rows_main(argc, argv);
}
