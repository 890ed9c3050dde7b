/* SPDX-License-Identifier: MIT */
/* What word.c and word_poll.c share. */
#ifndef WEFT_WAIT_WORD_INTERNAL_H
#define WEFT_WAIT_WORD_INTERNAL_H

#include "wait/word.h"

/* Results of a wait beside 0, which is a word that seems to have changed. */
enum { WF_WORD_UNPOLLED = 1 };

/* A wait of one of the two kinds: word or slot number `n`. */
struct wf_word_place {
	bool is_slot;
	uint32_t n;
};

/*
 * Ends the wait of who waits there, who is to be made ready; NULL if nobody
 * does any more, or if the bucket cannot be had while `held` is. me as in
 * wf_ready_woken.
 */
struct wf_thread *wf_word_take_waiter(struct wf_thread *me,
				      struct wf_word_place place, int result,
				      struct wf_bucket *held);

/* Threads whose waits are for as long as a VP polls. */
extern _Atomic uint32_t wf_words_nr_polled;

#endif
