/* SPDX-License-Identifier: MIT */
/*
 * The queues of runnable threads: where a thread waits to run, and which thread
 * runs next.
 *
 *     wf_queue_put(vp, t, WF_READY_WOKEN);
 *     next = wf_queue_pick(vp);
 */
#ifndef WEFT_SCHED_QUEUE_H
#define WEFT_SCHED_QUEUE_H

#include "sched/vp.h"

/* Why a thread becomes runnable; decides its place in the queues. */
enum wf_ready {
	/* A new thread: to the tail of the interactive run queue. */
	WF_READY_NEW,
	/* A woken thread: to the next slot. The thread that was there goes to
	 * the tail of the interactive run queue. */
	WF_READY_WOKEN,
	WF_READY_REACQUIRING, /* to the injection queue */
	WF_READY_YIELDED,     /* to the tail of the batch run queue */
	/* Preempted in favour of an interactive thread. A CPU-bound thread goes
	 * to the head of the batch run queue, any other to the tail of the
	 * interactive run queue. */
	WF_READY_PREEMPTED,
	/* Preempted because its slice is over. A CPU-bound thread goes to the
	 * tail of the batch run queue, any other to the tail of the interactive
	 * run queue. */
	WF_READY_EXPIRED,
};

/*
 * Queues t on vp, which the caller owns. t's context is saved, and t is in no
 * other queue.
 */
void wf_queue_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/* As wf_queue_put with WF_READY_NEW, for a new thread that is not real-time. */
void wf_queue_put_new(struct wf_vp *vp, struct wf_thread *t);

/*
 * Queues t for a caller without a VP: a foreign or bound thread, the monitor.
 * If `vp` is NULL, t goes to the injection queue, else to vp's remote queue.
 * Wakes a VP.
 */
void wf_queue_put_remote(struct wf_vp *vp, struct wf_thread *t,
			 enum wf_ready why);

/*
 * Pushes entries to vp's remote queue, or to the injection queue if vp is NULL,
 * and wakes a VP that may take them. Any thread may call this.
 */
void wf_queue_push_remote(struct wf_vp *vp, const uint64_t *entries,
			  uint32_t nr);

/* The next thread to run on vp, or NULL. Owner only. */
struct wf_thread *wf_queue_pick(struct wf_vp *vp);
/* The usual case of the same, inline: the thread of the next slot, or NULL. */
struct wf_thread *wf_queue_pick_woken(struct wf_vp *vp);

/* As wf_queue_pick, for a caller that has just read vp->pending as 0. */
struct wf_thread *wf_queue_pick_plain(struct wf_vp *vp);

/*
 * The next interactive thread, or a batch thread if the batch run queue is due;
 * else NULL. Owner only.
 */
struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp);

/*
 * The next thread that is not real-time, while real-time threads are throttled.
 * Takes a batch thread if is_any or if the batch run queue is due. Owner only.
 */
struct wf_thread *wf_queue_pick_other(struct wf_vp *vp, bool is_any);

/*
 * True if vp's owner may switch straight to a thread that it has just made
 * ready, as if that thread came from the next slot. If true, it counts as a
 * pick from the slot.
 */
bool wf_queue_may_switch_to(struct wf_vp *vp);

/*
 * The number of entries in vp's interactive (batch) run queue, as the tick
 * counts them. Requests to the kernel that the owner has to handle count as one
 * interactive entry. Real-time threads are not counted.
 */
uint32_t wf_queue_nr_interactive(const struct wf_vp *vp);
uint32_t wf_queue_nr_batch(const struct wf_vp *vp);
/* True if vp has entries that only its owner can take. */
bool wf_queue_has_own(const struct wf_vp *vp);
/*
 * True if vp has work to do before a pick (vp->pending) or the injection queue
 * has entries. Cheap: it reads words that rarely change.
 */
bool wf_queue_has_pending(const struct wf_vp *vp);
/*
 * True if there is work that an idle vp may take. Reads words that other VPs
 * write, which costs cache misses.
 */
bool wf_queue_has_work(const struct wf_vp *vp);

/*
 * Moves the entries that only the owner can take to the run queues, where other
 * VPs may take them. Leaves the next slot empty.
 */
void wf_queue_expose(struct wf_vp *vp);

#endif
