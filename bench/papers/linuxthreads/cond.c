/* SPDX-License-Identifier: MIT */
/* Condition variables: a queue under a lock. */
#include <errno.h>
#include <string.h>

#include "linuxthreads.h"
#include "mutex.h"

struct lt_cond {
	struct lt_lock lock;
	struct lt_queue waiters;
};

_Static_assert(sizeof(struct lt_cond) <= sizeof(pthread_cond_t), "room");

static struct lt_cond *of(pthread_cond_t *cond)
{
	return (struct lt_cond *)cond;
}

LT_EXPORT int pthread_cond_init(pthread_cond_t *cond,
				const pthread_condattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;

	if (attr != NULL)
		pthread_condattr_getpshared(attr, &shared);
	if (shared != PTHREAD_PROCESS_PRIVATE)
		return ENOTSUP;
	memset(cond, 0, sizeof(*cond));
	return 0;
}

LT_EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	return of(cond)->waiters.first != NULL ? EBUSY : 0;
}

LT_EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct lt_thread *self = lt_self();
	struct lt_cond *c = of(cond);

	if (lt_mutex_is_not_mine(mutex))
		return EPERM;
	lt_lock(&c->lock, self);
	lt_queue_append(&c->waiters, self);
	lt_unlock(&c->lock);
	pthread_mutex_unlock(mutex);
	lt_suspend(self);
	return pthread_mutex_lock(mutex);
}

LT_EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	struct lt_cond *c = of(cond);
	struct lt_thread *waiter;

	lt_lock(&c->lock, NULL);
	waiter = lt_queue_take(&c->waiters);
	lt_unlock(&c->lock);
	if (waiter != NULL)
		lt_restart(waiter);
	return 0;
}

LT_EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	struct lt_cond *c = of(cond);
	struct lt_queue waiters;
	struct lt_thread *waiter;

	lt_lock(&c->lock, NULL);
	waiters = c->waiters;
	c->waiters.first = NULL;
	lt_unlock(&c->lock);
	while ((waiter = lt_queue_take(&waiters)) != NULL)
		lt_restart(waiter);
	return 0;
}
