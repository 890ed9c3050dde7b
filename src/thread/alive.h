/*
 * How many threads there are: the last one to end ends the process.
 */
#ifndef WEFT_THREAD_ALIVE_H
#define WEFT_THREAD_ALIVE_H

#include "base/options.h"
#include "sched/vp.h"

/* alive.c's: the process's first thread has. */
extern _Atomic bool wf_alive_first_has_ended;

/* The process's first thread alone is alive: at start, in a fork child. */
void wf_alive_reset(void);

/* `me` has created a thread, which cannot run yet. in_runtime. */
static inline void wf_alive_created(struct wf_thread *me)
{
	struct wf_vp *vp = wf_vp_of(me);

	if (WF_UNLIKELY(wf_options.stats))
		wf_count_most(most_threads,
			      atomic_fetch_add(&wf_sched.nr_threads, 1) + 1);
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->alive, nr_created);
	else
		atomic_fetch_add(&wf_sched.alive.nr_created, 1);
}

/* It has not come to be after all; or a thread ends. in_runtime. */
static inline void wf_alive_undo(struct wf_thread *me)
{
	struct wf_vp *vp = wf_vp_of(me);

	if (WF_UNLIKELY(wf_options.stats))
		atomic_fetch_sub(&wf_sched.nr_threads, 1);
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->alive, nr_ended);
	else
		atomic_fetch_add(&wf_sched.alive.nr_ended, 1);
}

/*
 * `t`, which calls, ends. in_runtime. True if wf_alive_is_last has to be
 * asked.
 */
static inline bool wf_alive_ended(struct wf_thread *t)
{
	wf_alive_undo(t);
	if (WF_UNLIKELY(t->is_first))
		wf_store_relaxed(&wf_alive_first_has_ended, true);
	wf_compiler_barrier(); /* ALIVE-2; the CPU's part is the membarrier. */
	return wf_load_relaxed(&wf_alive_first_has_ended);
}

/* About how many there are. */
uint32_t wf_alive_nr(void);
/* True for one caller: nobody else is alive. */
bool wf_alive_is_last(void);

/*
 * A thread leaves by a system call: libc does not know, natively, and so does
 * not run the handlers of exit when the last one ends.
 */
void wf_alive_left(void);
/* With what the last one says. in_runtime 0; for who was told to be that. */
WF_NORETURN void wf_alive_end_process(int status);

#endif
