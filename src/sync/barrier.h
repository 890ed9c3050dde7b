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

/* struct wf_barrier.left: a bit, and a number above it. */
enum wf_barrier_left {
	/* a thread destroys it and waits for all to leave */
	WF_BARRIER_DYING = 1 << 0,
	WF_BARRIER_ONE_LEFT = 1 << 1, /* one arrival that has left */
};

struct wf_barrier {
	union {
		struct {
			union {
				/*
				 * Low half: how many threads have arrived in
				 * this round. High half: the round. Any thread,
				 * atomic.
				 */
				_Atomic uint64_t arrivals;
				struct {
					uint32_t arrived;
					/* user futex of the waiting threads */
					uint32_t round;
				};
			};
			uint32_t count; /* threads of a round; constant */
			/* where libc has it; 0: private; constant */
			uint32_t shared;
			/* How many arrivals have ended (BARRIER-3); any thread,
			 * atomic. */
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
