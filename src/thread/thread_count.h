/* SPDX-License-Identifier: MIT */
/*
 * How many threads have not yet exited: the last one to end ends the process.
 *
 *     wf_thread_count_created(me);             in pthread_create
 *     ...
 *     if (wf_thread_count_ended(t) && wf_thread_count_is_last())
 *             wf_thread_count_end_process(0);
 */
#ifndef WEFT_THREAD_THREAD_COUNT_H
#define WEFT_THREAD_THREAD_COUNT_H

#include "base/options.h"
#include "sched/vp.h"

/* thread_count.c's: the process's first thread has. */
extern _Atomic bool wf_thread_count_first_has_ended;

/* There is the process's first thread alone: at start, in a fork child. */
void wf_thread_count_reset(void);

/* `me` has created a thread, which cannot run yet. in_runtime. */
static inline void wf_thread_count_created(struct wf_thread *me)
{
	struct wf_vp *vp = wf_vp_of(me);

	if (WF_UNLIKELY(wf_options.stats))
		wf_count_most(most_threads,
			      atomic_fetch_add(&wf_sched.nr_threads, 1) + 1);
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->thread_count, nr_created);
	else
		atomic_fetch_add(&wf_sched.thread_count.nr_created, 1);
}

/* It has not come to be after all; or a thread ends. in_runtime. */
static inline void wf_thread_count_undo(struct wf_thread *me)
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
 * `t`, which calls, ends. in_runtime. True if wf_thread_count_is_last has to be
 * asked.
 */
static inline bool wf_thread_count_ended(struct wf_thread *t)
{
	wf_thread_count_undo(t);
	if (WF_UNLIKELY(t->is_first))
		wf_store_relaxed(&wf_thread_count_first_has_ended, true);
	/* THREAD_COUNT-2; the CPU's part is the membarrier. */
	wf_compiler_barrier();
	return wf_load_relaxed(&wf_thread_count_first_has_ended);
}

/* About how many there are. */
uint32_t wf_thread_count_nr(void);
/* True for one caller: all other threads have exited. */
bool wf_thread_count_is_last(void);

/*
 * A thread leaves by a system call: libc does not know, natively, and so does
 * not run the handlers of exit when the last one ends.
 */
void wf_thread_count_left(void);
/* With what the last one says. in_runtime 0; for who was told to be that. */
WF_NORETURN void wf_thread_count_end_process(int status);

#endif
