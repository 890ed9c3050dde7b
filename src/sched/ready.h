/* SPDX-License-Identifier: MIT */
/*
 * Makes threads runnable. Each wake of a thread ends with this call:
 *
 *     wf_ready_woken(me, t);
 */
#ifndef WEFT_SCHED_READY_H
#define WEFT_SCHED_READY_H

#include "sched/queue.h"

/*
 * Makes t, which waits with its context saved, runnable. `me` is the caller,
 * with in_runtime set; NULL for weft's own kernel threads.
 */
void wf_ready_woken(struct wf_thread *me, struct wf_thread *t);
/* For a caller that knows its VP, or that it has none (NULL). */
void wf_ready_woken_on(struct wf_vp *vp, struct wf_thread *me,
		       struct wf_thread *t);

/*
 * The carrier of vp if vp runs a thread that may be preempted for a woken one;
 * else NULL. Any thread may call this.
 */
struct wf_carrier *wf_ready_yielding(const struct wf_vp *vp);

/*
 * How many cache lines to prefetch from a thread's saved stack pointer up. That
 * reaches the program's own frame. The frames of a wait take up to 600 bytes,
 * those of a yield 350.
 */
enum { WF_LINES_OF_WAIT = 10, WF_LINES_OF_YIELD = 6 };

/*
 * A thread with this index or a higher one shows that the program has many
 * threads, since slots are taken from the lowest. The second-level cache then
 * does not hold the 2 KiB or so that each thread touches in a run.
 */
enum { WF_READY_MANY = 64 };

WF_INLINE bool wf_ready_is_of_many(const struct wf_thread *t)
{
	return t->index >= WF_READY_MANY;
}

/*
 * Called when t is about to be woken or picked: prefetches t's frames and TCB,
 * which its next run touches first. Does nothing while there are few threads:
 * their lines are in the cache. With many threads each line that is not
 * prefetched costs a cache miss.
 */
WF_INLINE void wf_ready_prefetch(const struct wf_thread *t, int nr_lines)
{
	const char *sp = t->ctx.sp;

	if (WF_LIKELY(!wf_ready_is_of_many(t)))
		return;
#pragma GCC unroll 10
	for (int i = 0; i < nr_lines; i++)
		__builtin_prefetch(sp + i * WF_CACHE_LINE);
	__builtin_prefetch((const void *)t->ctx.tp);
}

#endif
