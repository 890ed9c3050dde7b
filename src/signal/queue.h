/* SPDX-License-Identifier: MIT */
/*
 * Queues of signals that were sent and not yet delivered: one in each thread,
 * one for the process.
 *
 *     err = wf_sigqueue_put(&t->sigqueue, &info, false);
 *     if (wf_sigqueue_take(&t->sigqueue, set, &info)) ...
 *
 * All functions need in_runtime set, or all signals blocked, since their
 * locks are spin locks. None blocks.
 */
#ifndef WEFT_SIGNAL_QUEUE_H
#define WEFT_SIGNAL_QUEUE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

#define WF_SIGNAL_BIT(sig) (1ULL << ((sig)-1))

/*
 * Standard signals that are in the queue already are dropped, as the kernel
 * does. is_process: sent to the process, this thread was chosen for it.
 * Returns 0, -EAGAIN (too many) or -ESRCH (the queue is closed).
 */
int wf_sigqueue_put(struct wf_sigqueue *q, const siginfo_t *info,
		    bool is_process);

/* Takes the oldest of the lowest signal in set; false if there is none. */
bool wf_sigqueue_take(struct wf_sigqueue *q, uint64_t set, siginfo_t *ret_info);
/* The same among those that were sent to the process. */
bool wf_sigqueue_take_process(struct wf_sigqueue *q, uint64_t set,
			      siginfo_t *ret_info);

/* Empties the queue of signals in set. */
void wf_sigqueue_clear(struct wf_sigqueue *q, uint64_t set);

/* relaxed: callers order it against masks by a fence of their own. */
static inline uint64_t wf_sigqueue_pending(struct wf_sigqueue *q)
{
	return wf_load_relaxed(&q->pending);
}

/* An empty one takes puts. */
static inline void wf_sigqueue_open(struct wf_sigqueue *q)
{
	wf_store_relaxed(&q->is_closed, false);
}

/*
 * No more puts by who sees it. Who does not has put where the caller, its
 * thread, finds it when it looks afterwards, or finds out itself: ROUTING-5 in
 * routing.c.
 */
static inline void wf_sigqueue_close(struct wf_sigqueue *q)
{
	wf_store_relaxed(&q->is_closed, true);
	/* ROUTING-5; the CPU's part is the membarrier. */
	wf_compiler_barrier();
}

static inline bool wf_sigqueue_is_closed(const struct wf_sigqueue *q)
{
	return wf_load_relaxed(&q->is_closed);
}

/* Memory for the first signals; 0 or -ENOMEM. */
int wf_sigqueue_start(void);
void wf_sigqueue_fork_child(void);

#endif
