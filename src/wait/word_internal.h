/* SPDX-License-Identifier: MIT */
/*
 * Functions that word.c and word_poll.c share: they end a wait that a poll has
 * found.
 */
#ifndef WEFT_WAIT_WORD_INTERNAL_H
#define WEFT_WAIT_WORD_INTERNAL_H

#include "wait/word.h"

/*
 * Results of a wait for a word. UNPOLLED: it ended because no VP polls any
 * more. 0: the word seems to have changed.
 */
enum { WF_WORD_UNPOLLED = 1 };

/* A word of the array, or a slot of the table, with number `n`. */
struct wf_word_place {
	bool is_slot;
	uint32_t n;
};

/*
 * Ends the wait at place and returns the waiter, which the caller makes
 * runnable. Returns NULL if no thread waits there any more. Also if the caller
 * holds `held` and another thread holds the waiter's bucket. `me` is as in
 * wf_ready_woken.
 */
struct wf_thread *wf_word_take_waiter(struct wf_thread *me,
				      struct wf_word_place place, int result,
				      struct wf_bucket *held);

/* How many threads wait with WF_WORD_POLLED. */
extern _Atomic uint32_t wf_words_nr_polled;

#endif
