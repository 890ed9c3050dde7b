/* SPDX-License-Identifier: MIT */
/*
 * The queues of runnable threads: who goes where, who is next.
 */
#ifndef WEFT_SCHED_QUEUE_H
#define WEFT_SCHED_QUEUE_H

#include "sched/vp.h"

/* Why a thread becomes runnable; decides its place. */
enum wf_ready {
	/* The tail of the interactive run queue. */
	WF_READY_NEW,
	/* The next slot; the thread that was there goes to the tail of the
	 * interactive run queue. */
	WF_READY_WOKEN,
	WF_READY_REACQUIRING, /* the injection queue */
	WF_READY_YIELDED,     /* the tail of the batch run queue */
	/* For an interactive thread. A CPU-bound thread goes to the head of the
	 * batch run queue, another to the tail of the interactive one. */
	WF_READY_PREEMPTED,
	/* Its slice is over. As above, but to the tail of the batch queue. */
	WF_READY_EXPIRED,
};

/*
 * Queues t on vp, whose owner the caller is. t's context is saved, and t is
 * in no other queue.
 */
void wf_queue_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/*
 * Queues t for a caller without a VP: foreign and bound threads, the monitor.
 * `vp` NULL is the injection queue, else that VP's remote queue. Wakes a VP.
 */
void wf_queue_put_remote(struct wf_vp *vp, struct wf_thread *t,
			 enum wf_ready why);

/*
 * Anybody. Pushes entries to a queue that a sleeping VP polls: vp's remote
 * queue, or the injection queue if vp is NULL.
 */
void wf_queue_push_remote(struct wf_vp *vp, const uint64_t *entries,
			  uint32_t nr);

/* The next thread to run on vp, or NULL. Owner only. */
struct wf_thread *wf_queue_pick(struct wf_vp *vp);

/* The same where the caller has found vp->pending to be 0. */
struct wf_thread *wf_queue_pick_plain(struct wf_vp *vp);

/* The next interactive thread, or a batch thread if the batch run queue is due;
 * else NULL. Owner only. */
struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp);

/* The same without real-time threads, while they are throttled. Owner only. */
struct wf_thread *wf_queue_pick_other(struct wf_vp *vp, bool is_any);

/*
 * May vp's owner switch straight to a thread that it has just made ready, as
 * if that came from the next slot? Counts as a pick of it, if so.
 */
bool wf_queue_may_switch_to(struct wf_vp *vp);

/*
 * Entries waiting in the interactive (and the batch) run queue, as the tick
 * counts them. Requests to the kernel that the owner has to handle count as one
 * interactive entry; real-time threads are not counted.
 */
uint32_t wf_queue_nr_interactive(const struct wf_vp *vp);
uint32_t wf_queue_nr_batch(const struct wf_vp *vp);
/* Of these, is there anything that only the owner can take? */
bool wf_queue_has_own(const struct wf_vp *vp);
/* Has anybody given vp work, or everybody? Reads words that rarely change. */
bool wf_queue_has_pending(const struct wf_vp *vp);
/* Is there anything that an idle vp may take? Reads other VPs' words. */
bool wf_queue_has_work(const struct wf_vp *vp);

/*
 * Moves the entries that only the owner could take to the run queues, where
 * other VPs may take them. The next slot is free then.
 */
void wf_queue_expose(struct wf_vp *vp);

#endif
