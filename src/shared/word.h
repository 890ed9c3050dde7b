/* SPDX-License-Identifier: MIT */
/*
 * Waits for a word of a process-shared object by the kernel's futex, in calls
 * that are no cancellation points.
 *
 *     while ((seen = wf_load_acquire(&word)) == BUSY)
 *             if (wf_shared_word_wait(&word, seen, deadline_ns) < 0)
 *                     ...             the deadline has passed
 *
 * The caller has in_runtime 0.
 */
#ifndef WEFT_SHARED_WORD_H
#define WEFT_SHARED_WORD_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "io/call/futex.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

/*
 * Waits while *word is `seen`. Parks, or blocks its carrier where there is
 * neither a ring nor a free I/O worker. Returns -ETIMEDOUT; or 0 if it was
 * woken or interrupted or the word differs.
 */
static inline int wf_shared_word_wait(_Atomic uint32_t *word, uint32_t seen,
				      int64_t deadline_ns)
{
	struct wf_thread *t = wf_thread_self();
	bool was_at_one = t->at_cancel_point;
	int rc;

	t->at_cancel_point = false;
	rc = wf_io_futex_wait(word, seen, FUTEX_BITSET_MATCH_ANY, deadline_ns);
	t->at_cancel_point = was_at_one;
	return rc == -ETIMEDOUT ? rc : 0;
}

static inline void wf_shared_word_wake(_Atomic uint32_t *word, int nr)
{
	wf_sys(SYS_futex, word, FUTEX_WAKE, nr);
}

#endif
