/* SPDX-License-Identifier: MIT */
/* Making threads runnable: the bottom of every wake. */
#ifndef WEFT_SCHED_READY_H
#define WEFT_SCHED_READY_H

#include "sched/queue.h"

/*
 * Ends t's wait, whose context is saved. `me` is the caller, with in_runtime
 * set; NULL for weft's own kernel threads.
 */
void wf_ready_woken(struct wf_thread *me, struct wf_thread *t);

/*
 * The carrier of vp if a thread runs there that may be preempted for one that
 * is woken, or NULL. Anybody.
 */
struct wf_carrier *wf_ready_yielding(const struct wf_vp *vp);

/* Makes a carrier see what is asked of its VP; set at start. */
extern void (*wf_ready_interrupt)(struct wf_carrier *c);

/*
 * Cache lines between the stack pointer of a thread that does not run and the
 * program's own frame: a wait's frames take up to 600 bytes, of which one who
 * yields has 350.
 */
enum { WF_LINES_OF_WAIT = 10, WF_LINES_OF_YIELD = 6 };

/*
 * The program has so many threads that the second-level cache does not hold
 * what each of them runs on, some 2 KiB: slots are taken from the lowest.
 */
enum { WF_READY_MANY = 64 };

WF_INLINE bool wf_ready_is_of_many(const struct wf_thread *t)
{
	return t->index >= WF_READY_MANY;
}

/*
 * The caller is about to wake or to pick t: fetches the frames and the TCB,
 * which the next run of t touches first. Each line that is not fetched costs a
 * miss where many threads take turns, and nothing where there are few.
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

/* Queues a new thread, which has not started. */
void wf_ready_new(struct wf_thread *me, struct wf_thread *t);

#endif
