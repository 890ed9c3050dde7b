/* SPDX-License-Identifier: MIT */
/*
 * Condition variable over the user futex, inside a pthread_cond_t.
 *
 *     wf_mutex_lock(&m);
 *     while (!ready)
 *             rc = wf_cond_wait(&c, &m, deadline);
 *     wf_mutex_unlock(&m);
 *
 *     wf_mutex_lock(&m);                      in another thread
 *     ready = true;
 *     wf_mutex_unlock(&m);
 *     wf_cond_signal(&c);
 *
 * A signal or broadcast without waiters is one load. With waiters it increments
 * a sequence number, then wakes by address. A broadcast moves the waiters to
 * the mutex: each runs when the mutex becomes free.
 *
 * Process-shared conditions have libc's layout and code: check
 * wf_cond_is_shared first. Waiting parks. Signal and broadcast do not block.
 * Destroying waits for threads that are about to leave. None may be called in a
 * signal handler.
 */
#ifndef WEFT_SYNC_COND_H
#define WEFT_SYNC_COND_H

#include "libc/cond_words.h"
#include "sync/mutex.h"

/* struct wf_cond.waiters: a count and a bit. */
enum wf_cond_waiters {
	WF_COND_COUNT = 0x7fffffff, /* waiters that will access the object */
	/* a thread destroys it and waits for a count of 0 */
	WF_COND_DYING = 1U << 31,
};

struct wf_cond {
	union {
		struct {
			/* number of signals; any thread, atomic */
			_Atomic uint32_t seq;
			/* enum wf_cond_waiters; any thread, atomic */
			_Atomic uint32_t waiters;
			/*
			 * The mutex of the waiters, or NULL if they may not be
			 * moved to it. Waiters write it while they hold the
			 * mutex.
			 */
			_Atomic(struct wf_mutex *) mutex;
		};
		pthread_cond_t libc;
		uint32_t words[sizeof(pthread_cond_t) / sizeof(uint32_t)];
	};
};

int wf_cond_init(struct wf_cond *c, clockid_t clock);
int wf_cond_fini(struct wf_cond *c);

/*
 * Releases m, parks until a signal or broadcast, locks m again. Returns 0, also
 * without a signal, or -ETIMEDOUT. If releasing m fails (-EPERM), returns that
 * at once.
 */
int wf_cond_wait(struct wf_cond *c, struct wf_mutex *m, int64_t deadline_ns);

/*
 * As wf_cond_wait, for a process-shared condition with a mutex that libc could
 * not release.
 */
int wf_cond_wait_shared(struct wf_mutex *m, int64_t deadline_ns);

int wf_cond_signal_slow(struct wf_cond *c);
void wf_cond_broadcast_slow(struct wf_cond *c);

static inline bool wf_cond_is_shared(const struct wf_cond *c)
{
	return (c->words[WF_COND_FLAGS_NEW] | c->words[WF_COND_FLAGS_OLD]) &
	       WF_COND_SHARED;
}

/* Returns the clock of the deadlines. For process-private conditions. */
static inline clockid_t wf_cond_clock(const struct wf_cond *c)
{
	return c->words[WF_COND_FLAGS_OLD] & WF_COND_MONOTONIC ?
		       CLOCK_MONOTONIC :
		       CLOCK_REALTIME;
}

static inline int wf_cond_signal(struct wf_cond *c)
{
	/* COND-1: no waiter needs this signal */
	if (WF_LIKELY(wf_load_relaxed(&c->waiters) == 0))
		return 0;
	return wf_cond_signal_slow(c);
}

static inline int wf_cond_broadcast(struct wf_cond *c)
{
	/* COND-1: a waiter needs it */
	if (WF_UNLIKELY(wf_load_relaxed(&c->waiters) != 0))
		wf_cond_broadcast_slow(c);
	return 0;
}

#endif
