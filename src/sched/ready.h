/* Making threads runnable: the bottom of every wake. */
#ifndef WEFT_SCHED_READY_H
#define WEFT_SCHED_READY_H

#include "sched/queue.h"

/*
 * Ends t's wait, whose context is saved. `me` is the caller, with in_runtime
 * set; NULL for weft's own kernel threads.
 */
void wf_ready_woken(struct wf_thread *me, struct wf_thread *t);

/* Makes a carrier see what is asked of its VP; set at start. */
extern void (*wf_ready_interrupt)(struct wf_carrier *c);

/*
 * t is about to be woken: fetches what its next run touches first, the frame
 * of the switch and the TCB.
 */
static inline void wf_ready_prefetch(const struct wf_thread *t)
{
	const char *sp = t->ctx.sp;

	/* As long as the frames of a wait are. */
#pragma GCC unroll 6
	for (int i = 0; i < 6; i++)
		__builtin_prefetch(sp + i * WF_CACHE_LINE);
	__builtin_prefetch((const void *)t->ctx.tp);
}

/* Queues a new, unstarted thread. */
void wf_ready_new(struct wf_thread *me, struct wf_thread *t);

#endif
