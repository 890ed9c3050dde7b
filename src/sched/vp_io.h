/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler knows of a VP's requests to the kernel: whether there is
 * something to see to, and how to sleep with them. The rest is in io/.
 */
#ifndef WEFT_SCHED_VP_IO_H
#define WEFT_SCHED_VP_IO_H

#include "sched/vp.h"

struct wf_vp_io_ops {
	/*
	 * Takes completions and wakes their threads, submits what has waited
	 * long enough. Owner; in_runtime set, no lock held.
	 */
	void (*poll)(struct wf_vp *vp);
	/* Hands everything pushed to the kernel. Owner. */
	void (*submit)(struct wf_vp *vp);
	/*
	 * Hands over the oldest, as many as do well together, and takes
	 * completions. False if there was nothing, or the kernel takes nothing
	 * now. Owner, as poll.
	 */
	bool (*submit_some)(struct wf_vp *vp);
	/*
	 * Sees to what can wait while there are threads to run. True if that
	 * has made some runnable. Owner, as poll. is_idle: there are none, and
	 * if it is much it may be left for some ms, for which a sleep ends.
	 */
	bool (*settle)(struct wf_vp *vp, bool is_idle);
	/* Are there completions to take? */
	bool (*has_done)(const struct wf_vp *vp);
	/* Or something to submit or to settle? Anybody. */
	bool (*is_waiting)(const struct wf_vp *vp);
	/* Sleeps until a completion, wf_vp_io_ops.wake or the deadline. */
	void (*sleep)(struct wf_vp *vp, int64_t deadline_ns);
	/* Ends that sleep; anybody. */
	void (*wake)(struct wf_vp *vp);
};

/*
 * Completes what I/O workers have told the carrier of by a signal: t is its
 * thread, with a VP and in_runtime set. NULL: not here and now, so who else can
 * is asked to. Set before the first of their processes is made.
 */
extern void (*wf_vp_io_report)(struct wf_thread *t);

/* Set once, before the first VP has requests. */
extern const struct wf_vp_io_ops *wf_vp_io_ops;

/* At scheduling points of the owner. */
static inline void wf_vp_io_poll(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->nr_requests) != 0))
		wf_vp_io_ops->poll(vp);
}

static inline void wf_vp_io_submit(struct wf_vp *vp)
{
	if (wf_load_relaxed(&vp->nr_requests) != 0)
		wf_vp_io_ops->submit(vp);
}

static inline bool wf_vp_io_submit_some(struct wf_vp *vp)
{
	return WF_UNLIKELY(wf_load_relaxed(&vp->nr_requests) != 0) &&
	       wf_vp_io_ops->submit_some(vp);
}

static inline bool wf_vp_io_settle(struct wf_vp *vp, bool is_idle)
{
	return WF_UNLIKELY(wf_load_relaxed(&vp->nr_requests) != 0) &&
	       wf_vp_io_ops->settle(vp, is_idle);
}

static inline bool wf_vp_io_has_done(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->nr_requests) != 0 &&
	       wf_vp_io_ops->has_done(vp);
}

static inline bool wf_vp_io_is_waiting(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->nr_requests) != 0 &&
	       wf_vp_io_ops->is_waiting(vp);
}

#endif
