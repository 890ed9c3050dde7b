/* SPDX-License-Identifier: MIT */
/*
 * The words of libc's condition variable. It has had two protocols, which lay
 * them out differently and count signals differently; shared_cond.c says how.
 *
 *     if (wf_cond_words_are_known()) {
 *             struct wf_cond_words w = wf_cond_words_of(cond);
 *             ...
 *     }
 *
 * Does not block; called with in_runtime 0.
 */
#ifndef WEFT_API_COND_WORDS_H
#define WEFT_API_COND_WORDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"

enum wf_cond_words_units {
	WF_COND_ONE_PLACE = 1 << 1, /* next, and start where there are refs */
	WF_COND_ONE_USER = 1 << 3,  /* users; its lower bits are flags */
};

struct wf_cond_groups {
	uint32_t size[2];
	_Atomic uint32_t lock, users, signals[2];
};

struct wf_cond_words {
	_Atomic uint64_t *next, *start;
	_Atomic uint32_t *refs; /* two; NULL in the newer protocol */
	struct wf_cond_groups *groups;
};

/* Is libc's protocol one that we know? */
bool wf_cond_words_are_known(void);

/* If so, those of cond. */
struct wf_cond_words wf_cond_words_of(pthread_cond_t *cond);

/* On which a process-shared one's time-outs are, whatever the protocol. */
clockid_t wf_cond_words_clock(const pthread_cond_t *cond);

#endif
