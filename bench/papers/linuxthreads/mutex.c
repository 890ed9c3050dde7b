/* SPDX-License-Identifier: MIT */
/*
 * Mutexes, in the memory of libc's pthread_mutex_t. The types come from libc's
 * attributes and initializers; an adaptive mutex is a normal one.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "linuxthreads.h"
#include "mutex.h"

struct lt_mutex {
	struct lt_lock lock;
	int count; /* further locks of a recursive mutex */
	int unused;
	int type;		 /* at the place that libc's initializers use */
	struct lt_thread *owner; /* NULL for a normal mutex */
};

_Static_assert(sizeof(struct lt_mutex) <= sizeof(pthread_mutex_t), "room");
_Static_assert(offsetof(struct lt_mutex, type) ==
		       offsetof(pthread_mutex_t, __data.__kind),
	       "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP");

static struct lt_mutex *of(pthread_mutex_t *mutex)
{
	return (struct lt_mutex *)mutex;
}

static bool has_owner(const struct lt_mutex *m)
{
	return m->type == PTHREAD_MUTEX_RECURSIVE ||
	       m->type == PTHREAD_MUTEX_ERRORCHECK;
}

LT_EXPORT int pthread_mutex_init(pthread_mutex_t *mutex,
				 const pthread_mutexattr_t *attr)
{
	int type = PTHREAD_MUTEX_NORMAL;
	int shared = PTHREAD_PROCESS_PRIVATE;
	int protocol = PTHREAD_PRIO_NONE;
	int robust = PTHREAD_MUTEX_STALLED;

	if (attr != NULL) {
		pthread_mutexattr_gettype(attr, &type);
		pthread_mutexattr_getpshared(attr, &shared);
		pthread_mutexattr_getprotocol(attr, &protocol);
		pthread_mutexattr_getrobust(attr, &robust);
	}
	if (shared != PTHREAD_PROCESS_PRIVATE ||
	    protocol != PTHREAD_PRIO_NONE || robust != PTHREAD_MUTEX_STALLED)
		return ENOTSUP;
	memset(mutex, 0, sizeof(*mutex));
	of(mutex)->type = type;
	return 0;
}

LT_EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	uintptr_t status = atomic_load_explicit(&of(mutex)->lock.status,
						memory_order_relaxed);

	return status & LT_LOCK_HELD ? EBUSY : 0;
}

/* Called by the mutex's owner. Returns 0 if it holds the mutex once more. */
static int lock_again(struct lt_mutex *m, int error)
{
	if (m->type != PTHREAD_MUTEX_RECURSIVE)
		return error;
	m->count++;
	return 0;
}

LT_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct lt_mutex *m = of(mutex);
	struct lt_thread *self;

	if (!has_owner(m)) {
		lt_lock(&m->lock, NULL);
		return 0;
	}
	self = lt_self();
	/* Only the caller itself can have stored itself as the owner. */
	if (m->owner == self)
		return lock_again(m, EDEADLK);
	lt_lock(&m->lock, self);
	m->owner = self;
	return 0;
}

LT_EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct lt_mutex *m = of(mutex);
	struct lt_thread *self;

	if (!has_owner(m))
		return lt_lock_try(&m->lock) ? 0 : EBUSY;
	self = lt_self();
	if (m->owner == self)
		return lock_again(m, EBUSY);
	if (!lt_lock_try(&m->lock))
		return EBUSY;
	m->owner = self;
	return 0;
}

bool lt_mutex_is_not_mine(pthread_mutex_t *mutex)
{
	return has_owner(of(mutex)) && of(mutex)->owner != lt_self();
}

LT_EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct lt_mutex *m = of(mutex);

	if (lt_mutex_is_not_mine(mutex))
		return EPERM;
	if (has_owner(m)) {
		if (m->count > 0) {
			m->count--;
			return 0;
		}
		m->owner = NULL;
	}
	lt_unlock(&m->lock);
	return 0;
}
