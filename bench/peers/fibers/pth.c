/* SPDX-License-Identifier: MIT */
/*
 * GNU Pth: user-level threads on one kernel thread, without preemption. It has
 * no semaphore; a counter, a mutex and a condition variable take its place.
 */
#include <errno.h>
#include <pth.h>

#include "rows.h"

enum { STACK_BYTES = 64 * 1024 };

static pth_attr_t attr;

static void *peer_start(void *(*run)(void *), void *arg)
{
	pth_t thread = pth_spawn(attr, run, arg);

	if (thread == NULL)
		bench_impossible("pth_spawn", errno);
	return thread;
}

static void peer_join(void *thread)
{
	if (!pth_join((pth_t)thread, NULL))
		abort();
}

static void peer_yield(void)
{
	pth_yield(NULL);
}

static void *peer_mutex_new(void)
{
	pth_mutex_t *mutex = rows_allocate(sizeof(*mutex));

	pth_mutex_init(mutex);
	return mutex;
}

static void peer_mutex_lock(void *mutex)
{
	pth_mutex_acquire(mutex, FALSE, NULL);
}

static void peer_mutex_unlock(void *mutex)
{
	pth_mutex_release(mutex);
}

static void *peer_cond_new(void)
{
	pth_cond_t *cond = rows_allocate(sizeof(*cond));

	pth_cond_init(cond);
	return cond;
}

static void peer_cond_wait(void *cond, void *mutex)
{
	pth_cond_await(cond, mutex, NULL);
}

static void peer_cond_signal(void *cond)
{
	pth_cond_notify(cond, FALSE);
}

struct sem {
	int count;
	pth_mutex_t mutex;
	pth_cond_t is_posted;
};

static void *peer_sem_new(int count)
{
	struct sem *sem = rows_allocate(sizeof(*sem));

	sem->count = count;
	pth_mutex_init(&sem->mutex);
	pth_cond_init(&sem->is_posted);
	return sem;
}

static void peer_sem_wait(void *of)
{
	struct sem *sem = of;

	peer_mutex_lock(&sem->mutex);
	while (sem->count == 0)
		pth_cond_await(&sem->is_posted, &sem->mutex, NULL);
	sem->count--;
	peer_mutex_unlock(&sem->mutex);
}

static void peer_sem_post(void *of)
{
	struct sem *sem = of;

	peer_mutex_lock(&sem->mutex);
	sem->count++;
	peer_cond_signal(&sem->is_posted);
	peer_mutex_unlock(&sem->mutex);
}

int main(int argc, char **argv)
{
	if (!pth_init())
		bench_impossible("pth_init", errno);
	attr = pth_attr_new();
	pth_attr_set(attr, PTH_ATTR_STACK_SIZE, STACK_BYTES);
	return rows_main(argc, argv);
}
