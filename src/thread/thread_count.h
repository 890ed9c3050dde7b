/* SPDX-License-Identifier: MIT */
/*
 * Counts the threads that have not yet exited: the last thread to exit ends the
 * process.
 *
 *     wf_thread_count_created(wf_vp_of(me));   in pthread_create
 *     ...
 *     if (wf_thread_count_ended(t) && wf_thread_count_is_last())
 *             wf_thread_count_end_process(0);
 */
#ifndef WEFT_THREAD_THREAD_COUNT_H
#define WEFT_THREAD_THREAD_COUNT_H

#include "base/options.h"
#include "sched/vp.h"

/* Read in this header only: the process's first thread has ended. */
extern _Atomic bool wf_thread_count_first_has_ended;

/*
 * Sets the count to 1, for the process's first thread: at start, and in a fork
 * child.
 */
void wf_thread_count_reset(void);

/*
 * Counts a thread that has been created and cannot run yet. vp is the creator's
 * VP, NULL if it has none. In the runtime.
 */
static inline void wf_thread_count_created(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_options.stats))
		wf_count_most(most_threads,
			      atomic_fetch_add(&wf_sched.nr_threads, 1) + 1);
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->thread_count, nr_created);
	else
		atomic_fetch_add(&wf_sched.thread_count.nr_created, 1);
}

/*
 * Takes one thread off the count: it has ended, or it could not be started. In
 * the runtime.
 */
WF_INLINE void wf_thread_count_undo(struct wf_thread *me)
{
	struct wf_vp *vp = wf_vp_of(me);

	if (WF_UNLIKELY(wf_options.stats))
		atomic_fetch_sub(&wf_sched.nr_threads, 1);
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->thread_count, nr_ended);
	else
		atomic_fetch_add(&wf_sched.thread_count.nr_ended, 1);
}

/*
 * Counts the end of t, the caller. Returns true if the caller has to call
 * wf_thread_count_is_last. In the runtime.
 */
WF_INLINE bool wf_thread_count_ended(struct wf_thread *t)
{
	wf_thread_count_undo(t);
	if (WF_UNLIKELY(t->is_first))
		wf_store_relaxed(&wf_thread_count_first_has_ended, true);
	/* THREAD_COUNT-2; the membarrier orders the CPU's accesses. */
	wf_compiler_barrier();
	return wf_load_relaxed(&wf_thread_count_first_has_ended);
}

/* Returns about how many threads there are: others start and end meanwhile. */
uint32_t wf_thread_count_nr(void);
/* True if all other threads have exited. True for one caller only. */
bool wf_thread_count_is_last(void);

/*
 * Called when a thread ends by a system call. Natively libc does not notice
 * that, and runs no exit handlers when the last thread ends. So weft runs none
 * then.
 */
void wf_thread_count_left(void);
/*
 * Ends the process with the status of its last thread. The caller has
 * in_runtime 0. Only for the thread for which wf_thread_count_is_last was true.
 */
WF_NORETURN void wf_thread_count_end_process(int status);

#endif
