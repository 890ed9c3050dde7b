/* SPDX-License-Identifier: MIT */
/*
 * Queues of signals that were sent and not yet delivered. Each thread has one,
 * and the process has one.
 *
 *     err = wf_sigqueue_put(&t->sigqueue, &info, false);
 *     if (wf_sigqueue_take(&t->sigqueue, set, &info)) ...
 *
 * Call all functions with in_runtime set, or with all signals blocked, since
 * their locks are spin locks. No function blocks.
 */
#ifndef WEFT_SIGNAL_QUEUE_H
#define WEFT_SIGNAL_QUEUE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

#define WF_SIGNAL_BIT(sig) (1ULL << ((sig)-1))

/*
 * Adds a signal. A standard signal that is in the queue already is dropped, as
 * in the kernel. is_process: the signal was sent to the process, and this
 * thread was chosen for it. Returns 0, -EAGAIN (too many signals) or -ESRCH
 * (the queue is closed).
 */
int wf_sigqueue_put(struct wf_sigqueue *q, const siginfo_t *info,
		    bool is_process);

/*
 * Takes a signal of set: of the lowest number in the queue the oldest. Returns
 * false if there is none.
 */
bool wf_sigqueue_take(struct wf_sigqueue *q, uint64_t set, siginfo_t *ret_info);
/* As wf_sigqueue_take, among the signals that were sent to the process. */
bool wf_sigqueue_take_process(struct wf_sigqueue *q, uint64_t set,
			      siginfo_t *ret_info);

/* Removes all signals in set from the queue. */
void wf_sigqueue_clear(struct wf_sigqueue *q, uint64_t set);

/*
 * Returns the signals in the queue. relaxed: callers order this read and that
 * of masks by a fence.
 */
static inline uint64_t wf_sigqueue_pending(struct wf_sigqueue *q)
{
	return wf_load_relaxed(&q->pending);
}

/* Opens an empty queue: senders may put signals into it. */
static inline void wf_sigqueue_open(struct wf_sigqueue *q)
{
	wf_store_relaxed(&q->is_closed, false);
}

/*
 * Closes the queue of the caller, which ends. A sender that finds it closed
 * puts nothing. Any other sender has put its signal where the caller's next
 * check finds it, or finds out itself that the queue is closed (ROUTING-5 in
 * routing.c).
 */
static inline void wf_sigqueue_close(struct wf_sigqueue *q)
{
	wf_store_relaxed(&q->is_closed, true);
	/* ROUTING-5. The sender's membarrier orders the CPU's accesses. */
	wf_compiler_barrier();
}

static inline bool wf_sigqueue_is_closed(const struct wf_sigqueue *q)
{
	return wf_load_relaxed(&q->is_closed);
}

/* Allocates the first nodes of the pool. Returns 0 or -ENOMEM. */
int wf_sigqueue_start(void);
void wf_sigqueue_fork_child(void);

#endif
