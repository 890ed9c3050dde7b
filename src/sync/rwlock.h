/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock: one word over the user futex, in a pthread_rwlock_t.
 *
 *     static struct wf_rwlock l;              zero is free, readers preferred
 *
 *     rc = wf_rwlock_rdlock(&l);              or wrlock, try..., clock...
 *     ...
 *     wf_rwlock_unlock(&l);
 *
 * Readers are preferred unless libc's flags word is
 * PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP. Uncontended calls are one
 * atomic. Locking parks; trying and unlocking do not block. Not for signal
 * handlers. Process-shared locks have libc's layout and code: check
 * wf_rwlock_is_shared first.
 */
#ifndef WEFT_SYNC_RWLOCK_H
#define WEFT_SYNC_RWLOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "libc/fields.h"
#include "sync/deadline.h"
#include "sync/owner.h"
#include "wait/ufutex.h"

/* struct wf_rwlock.word; the transitions are listed in rwlock.c. */
enum wf_rwlock_word {
	WF_RWLOCK_FREE = 0,
	WF_RWLOCK_READERS = (1 << 28) - 1, /* number of readers that hold it */
	WF_RWLOCK_WRITER = 1 << 28,	   /* a writer holds it */
	WF_RWLOCK_READERS_WAIT = 1 << 29,  /* readers may be parked */
	WF_RWLOCK_WRITERS_WAIT = 1 << 30,  /* writers may be parked */
};

struct wf_rwlock {
	union {
		struct {
			/* enum wf_rwlock_word; any thread, atomic */
			_Atomic uint32_t word;
			/*
			 * Thread id or WF_OWNER_NONE. The writer writes it; any
			 * thread may compare it with its own id.
			 */
			_Atomic uint32_t writer;
		};
		/* libc's view: has the flags and `shared` */
		pthread_rwlock_t libc;
	};
};

/* flags: a PTHREAD_RWLOCK_PREFER_... Does not block. */
int wf_rwlock_init(struct wf_rwlock *l, int flags);

/*
 * Wait for the lock until the deadline ts, which is valid; NULL: no deadline.
 */
int wf_rwlock_rdlock_slow(struct wf_rwlock *l, clockid_t clock,
			  const struct timespec *ts);
int wf_rwlock_wrlock_slow(struct wf_rwlock *l, clockid_t clock,
			  const struct timespec *ts);
int wf_rwlock_tryrdlock_slow(struct wf_rwlock *l);
int wf_rwlock_trywrlock(struct wf_rwlock *l);
void wf_rwlock_unlock_slow(struct wf_rwlock *l);

static inline bool wf_rwlock_is_shared(const struct wf_rwlock *l)
{
	return l->libc.libc_shared != 0;
}

static inline bool wf_rwlock_take_read(struct wf_rwlock *l)
{
	uint32_t word = wf_load_relaxed(&l->word);

	/* acquire: pairs with the release of the last writer. */
	return word < WF_RWLOCK_READERS &&
	       wf_cas_acq_rel(&l->word, &word, word + 1);
}

static inline bool wf_rwlock_take_write(struct wf_rwlock *l)
{
	uint32_t word = WF_RWLOCK_FREE;

	/* acquire: pairs with the releases of the last holders. */
	if (!wf_cas_acq_rel(&l->word, &word, WF_RWLOCK_WRITER))
		return false;
	wf_store_relaxed(&l->writer, wf_owner_self());
	return true;
}

/* Returns 0, -EDEADLK or -EAGAIN (too many readers). */
static inline int wf_rwlock_rdlock(struct wf_rwlock *l)
{
	if (WF_LIKELY(wf_rwlock_take_read(l)))
		return 0;
	return wf_rwlock_rdlock_slow(l, CLOCK_REALTIME, NULL);
}

/* As wf_rwlock_rdlock, or returns -ETIMEDOUT, -EINVAL. */
static inline int wf_rwlock_clockrdlock(struct wf_rwlock *l, clockid_t clock,
					const struct timespec *ts)
{
	if (WF_UNLIKELY(!wf_deadline_is_valid(clock, ts)))
		return -EINVAL;
	if (WF_LIKELY(wf_rwlock_take_read(l)))
		return 0;
	return wf_rwlock_rdlock_slow(l, clock, ts);
}

/* Returns 0, -EBUSY or -EAGAIN (too many readers). */
static inline int wf_rwlock_tryrdlock(struct wf_rwlock *l)
{
	if (WF_LIKELY(wf_rwlock_take_read(l)))
		return 0;
	return wf_rwlock_tryrdlock_slow(l);
}

/* Returns 0 or -EDEADLK. */
static inline int wf_rwlock_wrlock(struct wf_rwlock *l)
{
	if (WF_LIKELY(wf_rwlock_take_write(l)))
		return 0;
	return wf_rwlock_wrlock_slow(l, CLOCK_REALTIME, NULL);
}

/* As wf_rwlock_wrlock, or returns -ETIMEDOUT, -EINVAL. */
static inline int wf_rwlock_clockwrlock(struct wf_rwlock *l, clockid_t clock,
					const struct timespec *ts)
{
	if (WF_UNLIKELY(!wf_deadline_is_valid(clock, ts)))
		return -EINVAL;
	if (WF_LIKELY(wf_rwlock_take_write(l)))
		return 0;
	return wf_rwlock_wrlock_slow(l, clock, ts);
}

/* Always returns 0, also if the lock is free. */
static inline int wf_rwlock_unlock(struct wf_rwlock *l)
{
	uint32_t word = wf_load_relaxed(&l->word);
	uint32_t next = word - 1;

	if (word & WF_RWLOCK_WRITER) {
		wf_store_relaxed(&l->writer, WF_OWNER_NONE);
		next = word - WF_RWLOCK_WRITER;
	}
	/* release: publishes the section; pairs with the take functions. */
	if (WF_LIKELY(word != WF_RWLOCK_FREE && word < WF_RWLOCK_READERS_WAIT &&
		      wf_cas_acq_rel(&l->word, &word, next)))
		return 0;
	wf_rwlock_unlock_slow(l);
	return 0;
}

#endif
