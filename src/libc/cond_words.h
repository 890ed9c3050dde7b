/* SPDX-License-Identifier: MIT */
/*
 * The words of libc's process-shared condition variable. Versions of libc have
 * two protocols, with different layouts of the words and different counts of
 * signals; shared_cond.c describes both.
 *
 *     if (wf_cond_words_are_known()) {
 *             struct wf_cond_words w = wf_cond_words_of(cond);
 *             ...
 *     }
 *
 * The functions do not block. The caller has in_runtime 0.
 */
#ifndef WEFT_LIBC_COND_WORDS_H
#define WEFT_LIBC_COND_WORDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"

/* The flags of a condition, as libc's pthread_cond_init sets them. */
enum wf_cond_flags {
	WF_COND_SHARED = 1 << 0,
	WF_COND_MONOTONIC = 1 << 1,
};

/*
 * The index of the object's word with the flags. For a process-shared condition
 * it depends on the version of libc. A process-private one has them in the old
 * word, and the other has none of these bits.
 */
enum wf_cond_flags_word {
	WF_COND_FLAGS_NEW = 7,
	WF_COND_FLAGS_OLD = 9,
};

enum wf_cond_words_units {
	WF_COND_ONE_PLACE = 1 << 1, /* of next, and of start with refs */
	WF_COND_ONE_USER = 1 << 3,  /* of users; its lower bits are flags */
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

/* Does libc have one of the two protocols? */
bool wf_cond_words_are_known(void);

/* The words of cond. Only if wf_cond_words_are_known. */
struct wf_cond_words wf_cond_words_of(pthread_cond_t *cond);

/* The clock of a process-shared condition's time-outs; for any protocol. */
clockid_t wf_cond_words_clock(const pthread_cond_t *cond);

#endif
