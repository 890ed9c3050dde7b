/* SPDX-License-Identifier: MIT */
/*
 * Threads with SCHED_FIFO and SCHED_RR: one queue for all VPs, before all other
 * queues.
 *
 *     t = wf_realtime_take(1);
 *
 * A VP takes threads from this queue before it checks its own, and a running
 * thread of a lower priority yields at once.
 *
 * A program without real-time threads pays little. weft reads a byte of struct
 * wf_thread when it queues a thread. Each pick tests one more bit in a word of
 * the VP that it reads anyway.
 *
 * All functions need in_runtime set, or a kernel thread of weft's own.
 */
#ifndef WEFT_SCHED_REALTIME_H
#define WEFT_SCHED_REALTIME_H

#include "sched/queue.h"

/*
 * True if a thread of at least that priority waits. Any thread may ask at any
 * time.
 */
bool wf_realtime_waits(uint32_t least_priority);

/*
 * Queues t, which has a rt_priority other than 0. The caller owns `vp`, or no
 * VP if that is NULL. t goes behind the threads of its priority, or before them
 * if it was preempted.
 */
void wf_realtime_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/*
 * The first thread of the highest priority, if that is at least least_priority;
 * else NULL.
 */
struct wf_thread *wf_realtime_take(uint32_t least_priority);

/*
 * The thread that has to run now instead of t, which is real-time and runs; or
 * NULL.
 */
struct wf_thread *wf_realtime_instead_of(const struct wf_thread *t,
					 enum wf_resched why);

/*
 * How the tick has to preempt t, which is real-time and runs on vp;
 * WF_RESCHED_NONE if not.
 */
enum wf_resched wf_realtime_at_tick(const struct wf_vp *vp,
				    const struct wf_thread *t);

/*
 * Changes t's priority; 0 is none. If t waits in a queue, t moves to its new
 * place. If a running thread has to yield, it does.
 */
void wf_realtime_set(struct wf_thread *t, uint32_t priority);

/*
 * For the monitor: the VP with the running thread of the lowest priority, if a
 * thread of a higher priority waits. Else a VP that has to sort its queues soon
 * (REALTIME-7), or NULL.
 */
struct wf_vp *wf_realtime_victim(void);

void wf_realtime_fork_child(void);

#endif
