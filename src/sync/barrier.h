/* SPDX-License-Identifier: MIT */
/*
 * Barrier over the user futex, inside a pthread_barrier_t.
 *
 *     wf_barrier_init(&b, 4);
 *     if (wf_barrier_wait(&b) == WF_BARRIER_SERIAL)
 *             ...                     one thread of four; may destroy b at once
 *
 * Waiting parks. Destroying waits for threads that are about to leave.
 * Process-shared barriers have libc's layout and code: check
 * wf_barrier_is_shared first.
 */
#ifndef WEFT_SYNC_BARRIER_H
#define WEFT_SYNC_BARRIER_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "wait/ufutex.h"

#define WF_BARRIER_SERIAL PTHREAD_BARRIER_SERIAL_THREAD

/* wf_barrier.left */
enum wf_barrier_left {
	WF_BARRIER_DYING = 1 << 0,    /* a thread waits for all to leave */
	WF_BARRIER_ONE_LEFT = 1 << 1, /* unit of the number that left */
};

struct wf_barrier {
	union {
		struct {
			union {
				/*
				 * Low half: arrived in this round. High half:
				 * the round. Any thread, atomic.
				 */
				_Atomic uint64_t arrivals;
				struct {
					uint32_t arrived;
					uint32_t round; /* threads park on it */
				};
			};
			uint32_t count;	 /* constant */
			uint32_t shared; /* as libc: 0 is private; constant */
			/* How many arrivals have ended; any thread, atomic. */
			_Atomic uint32_t left;
		};
		pthread_barrier_t libc;
	};
};

/* Returns 0, or -EINVAL if count is 0 or too large. Does not block. */
int wf_barrier_init(struct wf_barrier *b, unsigned int count);
/* Returns 0, or -EBUSY while threads wait in it. */
int wf_barrier_fini(struct wf_barrier *b);
/* Returns 0, or WF_BARRIER_SERIAL in one thread of each round. */
int wf_barrier_wait(struct wf_barrier *b);

static inline bool wf_barrier_is_shared(const struct wf_barrier *b)
{
	return b->shared != 0;
}

#endif
