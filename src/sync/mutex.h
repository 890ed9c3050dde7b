/* SPDX-License-Identifier: MIT */
/*
 * Mutex: one word over the user futex, inside a pthread_mutex_t.
 *
 *     static struct wf_mutex m;               zero is a free normal mutex
 *
 *     int rc = wf_mutex_lock(&m);             0 or -Exxx
 *     ...
 *     rc = wf_mutex_unlock(&m);
 *
 * For normal, adaptive, recursive and errorcheck mutexes. Process-private
 * mutexes with a priority protocol are locked in sync/priority.c. Robust and
 * process-shared mutexes have libc's layout: libc, sync/shared.c or
 * sync/inherit.c locks them. So check wf_mutex_is_libc first.
 *
 * Without contention lock and unlock are one atomic each and no call. Locking
 * may park; unlocking does not block. As in POSIX, a signal handler may call
 * neither unless the mutex is known to be free. All run on the thread's own
 * stack, with in_runtime 0.
 */
#ifndef WEFT_SYNC_MUTEX_H
#define WEFT_SYNC_MUTEX_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "libc/fields.h"
#include "sync/owner.h"
#include "wait/ufutex.h"

/* struct wf_mutex.word; the transitions are listed in mutex.c. */
enum wf_mutex_word {
	WF_MUTEX_FREE = 0,
	WF_MUTEX_LOCKED = 1 << 0,
	WF_MUTEX_CONTENDED = 1 << 1, /* threads may be parked on the word */
	WF_MUTEX_HANDOFF = 1 << 2,   /* the next unlock hands the mutex over */
};

/*
 * Bits of the kind, as libc's static initialisers and pthread_mutex_init set
 * them.
 */
enum wf_mutex_kind {
	WF_MUTEX_TYPE = 3,	   /* mask for a PTHREAD_MUTEX_..._NP */
	WF_MUTEX_INVALID = 3 << 2, /* destroyed, or never initialised */
	WF_MUTEX_ROBUST = 1 << 4,
	WF_MUTEX_INHERIT = 1 << 5,
	WF_MUTEX_PROTECT = 1 << 6,
	WF_MUTEX_SHARED = 1 << 7,
};

/* Tokens by which a waker tells a thread how its wait for the mutex ended. */
enum wf_mutex_token {
	WF_WOKEN_MORE = 0, /* woken; other threads may still be parked */
	WF_WOKEN_LAST = 1, /* woken; no other thread was parked */
	WF_HANDED = 2,	   /* woken, and owns the mutex already */
};

struct wf_mutex {
	union {
		struct {
			/* enum wf_mutex_word; any thread, atomic */
			_Atomic uint32_t word;
			uint32_t depth; /* locks beyond the first; owner */
			/*
			 * Thread id or WF_OWNER_NONE. The owner writes it; any
			 * thread may compare it with its own id.
			 */
			_Atomic uint32_t owner;
		};
		struct {
			char before[offsetof(pthread_mutex_t, libc_spins)];
			/* Number of condition waits that will lock it again;
			 * the owner writes. */
			_Atomic uint32_t nr_waits;
		};
		pthread_mutex_t libc; /* libc's view: has the kind */
	};
};

/*
 * CPU pauses before a thread parks on an adaptive mutex; 0 with one VP. boot/
 * sets it once, before there is a second thread.
 */
extern uint32_t wf_mutex_spins;
#define WF_MUTEX_SPINS_DEFAULT 100

int wf_mutex_init(struct wf_mutex *m, int kind, int ceiling);
int wf_mutex_fini(struct wf_mutex *m);
/* Stores the priority ceiling. Returns -EINVAL if the mutex has none. */
int wf_mutex_ceiling(const struct wf_mutex *m, int *ret_ceiling);
int wf_mutex_set_ceiling(struct wf_mutex *m, int ceiling, int *ret_old);

/*
 * Locks the plain mutex that a mutex with a ceiling is made of. Returns 0 or
 * -ETIMEDOUT.
 */
int wf_mutex_acquire(struct wf_mutex *m, int64_t deadline_ns);

/*
 * Slow paths of the functions below. They may park: do not call them in signal
 * handlers.
 */
int wf_mutex_lock_slow(struct wf_mutex *m, int64_t deadline_ns);
int wf_mutex_clocklock_slow(struct wf_mutex *m, clockid_t clock,
			    const struct timespec *ts);
int wf_mutex_trylock_slow(struct wf_mutex *m);
void wf_mutex_unlock_slow(struct wf_mutex *m);
void wf_mutex_unlock_protocol(struct wf_mutex *m);

int wf_mutex_relock_slow(struct wf_mutex *m, int token);

/*
 * If the caller holds m, marks it as contended and returns true: waiters may
 * now be moved to its word.
 */
bool wf_mutex_expect_waiters(struct wf_mutex *m);

static inline int wf_mutex_kind(const struct wf_mutex *m)
{
	return m->libc.libc_kind;
}

/*
 * True if m is destroyed or was never initialised: libc's functions return
 * EINVAL.
 */
static inline bool wf_mutex_is_invalid(const struct wf_mutex *m)
{
	return wf_mutex_kind(m) & WF_MUTEX_INVALID;
}

/* True if libc's layout is used: m is robust, process-shared or invalid. */
static inline bool wf_mutex_is_libc(const struct wf_mutex *m)
{
	return wf_mutex_kind(m) &
	       (WF_MUTEX_ROBUST | WF_MUTEX_SHARED | WF_MUTEX_INVALID);
}

/* True if m has a priority protocol. Only for mutexes that are not libc's. */
static inline bool wf_mutex_has_protocol(const struct wf_mutex *m)
{
	return wf_mutex_kind(m) & (WF_MUTEX_INHERIT | WF_MUTEX_PROTECT);
}

/* True if m is neither libc's nor has a priority protocol. */
static inline bool wf_mutex_is_plain(const struct wf_mutex *m)
{
	return !wf_mutex_is_libc(m) && !wf_mutex_has_protocol(m);
}

/*
 * True if m is recursive (1) or errorcheck (2), not normal (0) or adaptive (3).
 */
static inline bool wf_mutex_checks_owner(const struct wf_mutex *m)
{
	return (wf_mutex_kind(m) + 1) & 2;
}

/* True if m is plain, and neither recursive nor errorcheck. */
static inline bool wf_mutex_is_simple(const struct wf_mutex *m)
{
	return wf_mutex_is_plain(m) && !wf_mutex_checks_owner(m);
}

static inline bool wf_mutex_is_mine(const struct wf_mutex *m, uint32_t self)
{
	return wf_mutex_checks_owner(m) && wf_load_relaxed(&m->owner) == self;
}

/*
 * Called when the owner locks again. A recursive mutex counts, an errorcheck
 * mutex fails.
 */
static inline int wf_mutex_nest(struct wf_mutex *m)
{
	if ((wf_mutex_kind(m) & WF_MUTEX_TYPE) == PTHREAD_MUTEX_ERRORCHECK_NP)
		return -EDEADLK;
	if (m->depth == UINT32_MAX)
		return -EAGAIN;
	m->depth++;
	return 0;
}

static inline bool wf_mutex_take(struct wf_mutex *m, uint32_t self)
{
	uint32_t word = WF_MUTEX_FREE;

	/* acquire: pairs with the release in wf_mutex_unlock. */
	if (!wf_cas_acq_rel(&m->word, &word, WF_MUTEX_LOCKED))
		return false;
	wf_store_relaxed(&m->owner, self);
	return true;
}

/* Unlocks a simple mutex and returns true, unless it is contended. */
static inline bool wf_mutex_release(struct wf_mutex *m)
{
	uint32_t owner = wf_load_relaxed(&m->owner);
	uint32_t word = WF_MUTEX_LOCKED;

	wf_store_relaxed(&m->owner, WF_OWNER_NONE);
	/* release: publishes the section; pairs with wf_mutex_take. */
	if (WF_LIKELY(wf_cas_acq_rel(&m->word, &word, WF_MUTEX_FREE)))
		return true;
	wf_store_relaxed(&m->owner, owner);
	return false;
}

/*
 * Locks a free plain mutex. Makes no call, so the caller needs no stack frame.
 * Returns false, and changes nothing, if it cannot.
 */
static inline bool wf_mutex_lock_fast(struct wf_mutex *m)
{
	const struct wf_thread *t = wf_self;

	return WF_LIKELY(wf_mutex_is_plain(m) && t != NULL) &&
	       wf_mutex_take(m, (uint32_t)t->tid);
}

/*
 * Unlocks a simple mutex that is not contended. Returns false, and changes
 * nothing, if it cannot.
 */
static inline bool wf_mutex_unlock_fast(struct wf_mutex *m)
{
	return WF_LIKELY(wf_mutex_is_simple(m)) && wf_mutex_release(m);
}

/*
 * Locks m. Returns 0, -EDEADLK (errorcheck), -EAGAIN (recursive, too deep) or
 * -EINVAL (priority above the ceiling).
 */
static inline int wf_mutex_lock(struct wf_mutex *m)
{
	uint32_t self = wf_owner_self();

	if (WF_UNLIKELY(wf_mutex_is_mine(m, self)))
		return wf_mutex_nest(m);
	if (WF_LIKELY(wf_mutex_is_plain(m) && wf_mutex_take(m, self)))
		return 0;
	return wf_mutex_lock_slow(m, WF_FOREVER);
}

/*
 * As wf_mutex_lock, or returns -ETIMEDOUT. A bad time is -EINVAL only if the
 * caller has to wait.
 */
static inline int wf_mutex_clocklock(struct wf_mutex *m, clockid_t clock,
				     const struct timespec *ts)
{
	uint32_t self = wf_owner_self();

	if (WF_UNLIKELY(wf_mutex_is_mine(m, self)))
		return wf_mutex_nest(m);
	if (WF_LIKELY(wf_mutex_is_plain(m) && wf_mutex_take(m, self)))
		return 0;
	return wf_mutex_clocklock_slow(m, clock, ts);
}

/*
 * Counts a condition wait of the owner: it begins (change 1) or has ended (-1).
 */
static inline void wf_mutex_count_wait(struct wf_mutex *m, int change)
{
	wf_store_relaxed(&m->nr_waits,
			 wf_load_relaxed(&m->nr_waits) + (uint32_t)change);
}

/*
 * Locks the mutex again after a condition wait that ended with token. May park.
 */
static inline int wf_mutex_relock(struct wf_mutex *m, int token)
{
	if (WF_LIKELY(token == WF_WOKEN_LAST && wf_mutex_is_simple(m) &&
		      wf_mutex_take(m, wf_owner_self())))
		return 0;
	return wf_mutex_relock_slow(m, token);
}

/*
 * Locks m if it is free. Returns 0, -EBUSY or -EAGAIN (recursive, too deep).
 * With a protocol also -EINVAL (priority above the ceiling) and, as in libc,
 * -EDEADLK (errorcheck).
 */
static inline int wf_mutex_trylock(struct wf_mutex *m)
{
	uint32_t self = wf_owner_self();

	if (WF_UNLIKELY(!wf_mutex_is_plain(m)))
		return wf_mutex_trylock_slow(m);
	if (WF_UNLIKELY(wf_mutex_is_mine(m, self))) {
		int rc = wf_mutex_nest(m);

		return rc == -EDEADLK ? -EBUSY : rc;
	}
	return WF_LIKELY(wf_mutex_take(m, self)) ? 0 : -EBUSY;
}

/* Unlocks m. Returns 0, or -EPERM (recursive and errorcheck, not the owner). */
static inline int wf_mutex_unlock(struct wf_mutex *m)
{
	uint32_t word = WF_MUTEX_LOCKED;

	if (WF_UNLIKELY(wf_mutex_checks_owner(m))) {
		if (wf_load_relaxed(&m->owner) != wf_owner_self())
			return -EPERM;
		if (m->depth > 0) {
			m->depth--;
			return 0;
		}
	}
	if (WF_UNLIKELY(wf_mutex_has_protocol(m))) {
		wf_mutex_unlock_protocol(m);
		return 0;
	}
	wf_store_relaxed(&m->owner, WF_OWNER_NONE);
	/* release: publishes the section; pairs with wf_mutex_take. */
	if (WF_UNLIKELY(!wf_cas_acq_rel(&m->word, &word, WF_MUTEX_FREE)))
		wf_mutex_unlock_slow(m);
	return 0;
}

#endif
