/* SPDX-License-Identifier: MIT */
/*
 * One-time initialisation: pthread_once_t and once_flag.
 *
 *     static struct wf_once once;             zero: not yet run
 *     wf_once_run(&once, routine);            returns when it has been run
 *
 * If an exception, longjmp, pthread_exit or cancellation leaves the routine, it
 * counts as not run and a waiting thread runs it. If fork copies a process in
 * which another thread runs it, the child runs it again. When it has been run,
 * a call costs one load. May park; not for signal handlers.
 */
#ifndef WEFT_SYNC_ONCE_H
#define WEFT_SYNC_ONCE_H

#include "base/atomic.h"
#include "base/compiler.h"

/* struct wf_once.word: 0 when never run. DONE is also libc's value. */
enum wf_once_word {
	WF_ONCE_RUNNING = 1 << 0,
	WF_ONCE_DONE = 1 << 1,
	WF_ONCE_WAITED = 1 << 2, /* threads may be parked on it */
	/* unit of the number of forks before it began */
	WF_ONCE_GENERATION = 1 << 3,
};

struct wf_once {
	_Atomic uint32_t word; /* enum wf_once_word; any thread, atomic */
};

void wf_once_run_slow(struct wf_once *o, void (*routine)(void));

/* Called in a fork child, before other threads exist. */
void wf_once_fork_child(void);

static inline void wf_once_run(struct wf_once *o, void (*routine)(void))
{
	/* acquire: pairs with the release in end_run. */
	if (WF_UNLIKELY(wf_load_acquire(&o->word) != WF_ONCE_DONE))
		wf_once_run_slow(o, routine);
}

#endif
