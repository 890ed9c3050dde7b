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

/* Internal: the process's first thread has ended. */
extern _Atomic bool wf_thread_count_first_has_ended;

/* Counts the process's first thread alone: at start, and in a fork child. */
void wf_thread_count_reset(void);

/*
 * The owner of vp, or a thread without a VP (NULL), has created a thread, which
 * cannot run yet. In the runtime.
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

/* The thread could not be started, or a thread ends. In the runtime. */
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
 * `t`, the caller, ends. In the runtime. True if the caller has to call
 * wf_thread_count_is_last.
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

/* About how many threads there are: other threads start and end meanwhile. */
uint32_t wf_thread_count_nr(void);
/* True for one caller only: all other threads have exited. */
bool wf_thread_count_is_last(void);

/*
 * A thread ends by a system call. Natively libc does not notice that, and runs
 * no exit handlers when the last thread ends.
 */
void wf_thread_count_left(void);
/*
 * Ends the process with the status of its last thread. in_runtime 0. Only for
 * the thread for which wf_thread_count_is_last was true.
 */
WF_NORETURN void wf_thread_count_end_process(int status);

#endif
