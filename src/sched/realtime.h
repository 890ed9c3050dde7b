/* SPDX-License-Identifier: MIT */
/*
 * Threads with SCHED_FIFO and SCHED_RR: one queue for all VPs, which each VP
 * checks before its own queues.
 *
 *     t = wf_realtime_take(1);
 *
 * A running thread of a lower priority than a waiting one yields at once.
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
 * Queues t, which is real-time. t goes behind the threads of its priority, or
 * before them if it was preempted. The caller owns `vp`; NULL if it owns none.
 */
void wf_realtime_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/*
 * Takes the first thread of the highest priority that waits; NULL if that
 * priority is below least_priority.
 */
struct wf_thread *wf_realtime_take(uint32_t least_priority);

/*
 * Takes and returns the thread that has to run now instead of t, which is
 * real-time and runs; NULL if t goes on.
 */
struct wf_thread *wf_realtime_instead_of(const struct wf_thread *t,
					 enum wf_resched why);

/*
 * Returns why the tick has to preempt t, which is real-time and runs on vp;
 * WF_RESCHED_NONE if t goes on.
 */
enum wf_resched wf_realtime_at_tick(const struct wf_vp *vp,
				    const struct wf_thread *t);

/*
 * Changes t's priority; 0 means that t is not real-time. If t waits in a queue,
 * t moves to its new place. If a running thread has to yield now, it does.
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
