/*
 * The queues of runnable threads: who goes where, who is next.
 */
#ifndef WEFT_SCHED_QUEUE_H
#define WEFT_SCHED_QUEUE_H

#include "sched/vp.h"

/* Why a thread becomes runnable; decides its place. */
enum wf_ready {
	WF_READY_NEW,	    /* ring I's tail */
	WF_READY_WOKEN,	    /* the LIFO slot; who was there goes to I's tail */
	WF_READY_REJOINED,  /* the injection queue */
	WF_READY_YIELDED,   /* ring B's tail */
	WF_READY_PREEMPTED, /* for one of I's: I's tail; a hog: B's head */
	WF_READY_EXPIRED,   /* its slice is over: I's tail; a hog: B's tail */
};

/*
 * Queues t on vp, whose owner the caller is. t's context is saved, and t is
 * in no other queue.
 */
void wf_queue_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why);

/*
 * Queues t for a caller without a VP: foreign and bound threads, the monitor.
 * `vp` NULL is the injection queue, else that VP's inbox. Wakes a VP.
 */
void wf_queue_put_remote(struct wf_vp *vp, struct wf_thread *t,
			 enum wf_ready why);

/*
 * Anybody. Entries into a queue that a sleeping VP looks at: vp's inbox, or
 * the injection queue if vp is NULL.
 */
void wf_queue_offer(struct wf_vp *vp, const uint64_t *entries, uint32_t nr);

/* The next thread to run on vp, or NULL. Owner only. */
struct wf_thread *wf_queue_pick(struct wf_vp *vp);

/* The same where the caller has found vp->look to be 0. */
struct wf_thread *wf_queue_pick_unasked(struct wf_vp *vp);

/* One of ring I's, or of B's if that has its turn; else NULL. Owner only. */
struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp);

/* The same, but no real-time thread: in their share of vp. Owner only. */
struct wf_thread *wf_queue_pick_other(struct wf_vp *vp, bool is_any);

/*
 * May vp's owner switch straight to a thread that it has just made ready, as
 * if that came from the LIFO slot? Counts as a pick of it, if so.
 */
bool wf_queue_may_hand_off(struct wf_vp *vp);

/*
 * Entries waiting in ring I (and B), as its owner's tick counts them. What the
 * owner has to see to in its requests to the kernel counts as one of I;
 * real-time threads are not counted.
 */
uint32_t wf_queue_waiting_i(const struct wf_vp *vp);
uint32_t wf_queue_waiting_b(const struct wf_vp *vp);
/* Of these, is there anything that only the owner can take? */
bool wf_queue_has_own(const struct wf_vp *vp);
/* Has anybody given vp work, or everybody? Reads words that rarely change. */
bool wf_queue_is_asked(const struct wf_vp *vp);
/* Is there anything that an idle vp may take? Reads other VPs' words. */
bool wf_queue_has_work(const struct wf_vp *vp);

/*
 * What only the owner could take goes to the rings. It makes room for another
 * first choice, and lets other VPs have it.
 */
void wf_queue_lay_open(struct wf_vp *vp);

#endif
