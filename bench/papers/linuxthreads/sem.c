/* SPDX-License-Identifier: MIT */
/* Semaphores: a value and a queue under a lock. A post with a thread in the
 * queue gives that thread the semaphore; the value stays 0. */
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <string.h>

#include "linuxthreads.h"

struct lt_sem {
	struct lt_lock lock;
	unsigned int value;
	struct lt_queue waiters;
};

_Static_assert(sizeof(struct lt_sem) <= sizeof(sem_t), "room");

static struct lt_sem *of(sem_t *sem)
{
	return (struct lt_sem *)sem;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

LT_EXPORT int sem_init(sem_t *sem, int is_shared, unsigned int value)
{
	if (value > SEM_VALUE_MAX)
		return fail(EINVAL);
	if (is_shared)
		return fail(ENOSYS);
	memset(sem, 0, sizeof(*sem));
	of(sem)->value = value;
	return 0;
}

LT_EXPORT int sem_destroy(sem_t *sem)
{
	return of(sem)->waiters.first != NULL ? fail(EBUSY) : 0;
}

LT_EXPORT int sem_wait(sem_t *sem)
{
	struct lt_thread *self = lt_self();
	struct lt_sem *s = of(sem);

	lt_lock(&s->lock, self);
	if (s->value > 0) {
		s->value--;
		lt_unlock(&s->lock);
		return 0;
	}
	lt_queue_append(&s->waiters, self);
	lt_unlock(&s->lock);
	lt_suspend(self);
	return 0;
}

LT_EXPORT int sem_trywait(sem_t *sem)
{
	struct lt_sem *s = of(sem);
	bool has_one;

	lt_lock(&s->lock, NULL);
	has_one = s->value > 0;
	if (has_one)
		s->value--;
	lt_unlock(&s->lock);
	return has_one ? 0 : fail(EAGAIN);
}

LT_EXPORT int sem_post(sem_t *sem)
{
	struct lt_thread *self = lt_self();
	struct lt_sem *s = of(sem);
	struct lt_thread *waiter;
	bool is_full;

	lt_lock(&s->lock, self);
	waiter = lt_queue_take(&s->waiters);
	is_full = waiter == NULL && s->value == SEM_VALUE_MAX;
	if (waiter == NULL && !is_full)
		s->value++;
	lt_unlock(&s->lock);
	if (waiter != NULL)
		lt_restart(waiter);
	return is_full ? fail(EOVERFLOW) : 0;
}

LT_EXPORT int sem_getvalue(sem_t *sem, int *ret_value)
{
	struct lt_sem *s = of(sem);

	lt_lock(&s->lock, NULL);
	*ret_value = (int)s->value;
	lt_unlock(&s->lock);
	return 0;
}
