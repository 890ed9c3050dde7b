/* SPDX-License-Identifier: MIT */
/*
 * Threads with SCHED_FIFO and SCHED_RR: one queue for all VPs, before all
 * others. A VP takes from it before it looks at its own queues, and a thread
 * of a lower priority yields at once.
 *
 * What a program that uses none of this pays is a byte of struct wf_thread,
 * looked at where a thread is queued; picking sees a bit of a word of the VP
 * that it reads anyway.
 *
 * All functions need in_runtime set, or a kernel thread of weft's own.
 */
#ifndef WEFT_SCHED_REALTIME_H
#define WEFT_SCHED_REALTIME_H

#include "sched/queue.h"

/* Is some thread of at least that priority waiting? Anybody, any time. */
bool wf_realtime_waits(uint32_t least_priority);

/*
 * Queues t, whose rt_priority is not 0, for a caller that may own a VP (`vp`)
 * or none (NULL); at its priority's end, or in front if it was preempted.
 */
void wf_realtime_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/* The first of the highest priority if that is least or more, or NULL. */
struct wf_thread *wf_realtime_take(uint32_t least_priority);

/* Whom t, real-time itself and running, has to let run now; or NULL. */
struct wf_thread *wf_realtime_instead_of(const struct wf_thread *t,
					 enum wf_resched why);

/* Whether the tick is to preempt t, real-time itself and running on vp. */
enum wf_resched wf_realtime_at_tick(const struct wf_vp *vp,
				    const struct wf_thread *t);

/*
 * t's priority is changed: 0 is none. If t waits in a queue it changes its
 * place; a running thread that has to yield does.
 */
void wf_realtime_set(struct wf_thread *t, uint32_t priority);

/*
 * The monitor: the VP that runs the lowest priority, below that of a waiting
 * thread; or NULL.
 */
struct wf_vp *wf_realtime_victim(void);

void wf_realtime_fork_child(void);

#endif
