/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's view of a VP's requests to the kernel: whether there is work
 * to do, and how to sleep with requests in flight. The rest is in io/.
 *
 *     wf_vp_io_poll(vp);             at each scheduling point
 */
#ifndef WEFT_SCHED_VP_IO_H
#define WEFT_SCHED_VP_IO_H

#include "sched/vp.h"

struct wf_vp_io_ops {
	/* Takes completions and wakes their threads. Submits requests that have
	 * waited for as long as the starvation bound. The caller owns the VP,
	 * has in_runtime set, and holds no lock. */
	void (*poll)(struct wf_vp *vp);
	/* Submits all pushed requests to the kernel. Owner. */
	void (*submit)(struct wf_vp *vp);
	/* Submits some of the oldest requests to the kernel, few enough for one
	 * batch, and takes completions. Returns false if there was no request,
	 * or if the kernel accepts none now. Called as poll. */
	bool (*submit_some)(struct wf_vp *vp);
	/* Does the work that can wait while there are threads to run: deferred
	 * O_NONBLOCK checks. Returns true if that has made a thread runnable.
	 * Called as poll. is_idle: there is no thread to run. Then settle may
	 * leave a part of much work for some ms, after which the sleep ends. */
	bool (*settle)(struct wf_vp *vp, bool is_idle);
	/* True if there are completions to take. */
	bool (*has_done)(const struct wf_vp *vp);
	/* True if there are completions to take, requests to submit, or checks
	 * to make by settle. Any thread. */
	bool (*is_waiting)(const struct wf_vp *vp);
	/* Sleeps until a completion, a call of `wake`, or the deadline. */
	void (*sleep)(struct wf_vp *vp, int64_t deadline_ns);
	/* Ends the sleep of `sleep`. Any thread. */
	void (*wake)(struct wf_vp *vp);
};

/* Set once, before the first VP has requests. */
extern const struct wf_vp_io_ops *wf_vp_io_ops;

/* The VP's owner calls this at each scheduling point. */
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
