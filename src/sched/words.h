/* SPDX-License-Identifier: MIT */
/*
 * How the scheduler polls wait words: a busy VP does so at its scheduling
 * points.
 *
 *     wf_words_check(vp);
 */
#ifndef WEFT_SCHED_WORDS_H
#define WEFT_SCHED_WORDS_H

#include "base/upcall.h"
#include "sched/vp.h"

/* The VP's owner calls this at each scheduling point. */
static inline void wf_words_check(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_sched_has_words()) && vp->word_poll.countdown-- == 0)
		wf_upcall.poll_words(vp);
}

#endif
