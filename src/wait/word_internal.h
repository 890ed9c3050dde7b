/* SPDX-License-Identifier: MIT */
/* Shared by word.c and word_poll.c: ending a wait that a poll has found. */
#ifndef WEFT_WAIT_WORD_INTERNAL_H
#define WEFT_WAIT_WORD_INTERNAL_H

#include "wait/word.h"

/*
 * A result of a wait: no VP polls any more. 0 is a word that seems to have
 * changed.
 */
enum { WF_WORD_UNPOLLED = 1 };

/* Word or slot number `n`. */
struct wf_word_place {
	bool is_slot;
	uint32_t n;
};

/*
 * Ends the wait at place and returns the waiter, which the caller makes ready.
 * Returns NULL if no thread waits there any more, or if the bucket is locked
 * while the caller holds `held`. `me` as in wf_ready_woken.
 */
struct wf_thread *wf_word_take_waiter(struct wf_thread *me,
				      struct wf_word_place place, int result,
				      struct wf_bucket *held);

/* Threads that wait with WF_WORD_POLLED. */
extern _Atomic uint32_t wf_words_nr_polled;

#endif
