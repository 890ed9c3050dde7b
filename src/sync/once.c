/* SPDX-License-Identifier: MIT */
/*
 * One-time initialisation. The first thread to set RUNNING runs the routine;
 * other threads park until it is done. The word also has the number of forks,
 * so a fork child does not wait for a thread that only its parent has.
 *
 *     0, or RUNNING of an earlier generation -> g | RUNNING  [begin_run]
 *     g | RUNNING -> g | RUNNING | WAITED                    [begin_run]
 *     g | RUNNING, with WAITED or not -> DONE                [end_run]
 *     g | RUNNING, with WAITED or not -> 0                   [give_up]
 *
 * ONCE-1. RUNNING with the current generation g: one thread of this process is
 *     in the routine, and its end_run follows, however the routine is left
 *     (libc/cleanup.h).
 * ONCE-2. RUNNING with another generation: fork did not copy the thread in the
 *     routine.
 * ONCE-3. A thread parks only while WAITED is set. end_run wakes all if it is
 *     set.
 */
#include "sync/once.h"

#include <limits.h>
#include <pthread.h>
#include <threads.h>

#include "libc/cleanup.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

_Static_assert(sizeof(struct wf_once) == sizeof(pthread_once_t) &&
		       sizeof(struct wf_once) == sizeof(once_flag),
	       "the objects have libc's size");

/*
 * Number of forks, as in the word; changes only while the process has one
 * thread.
 */
static uint32_t generation;

void wf_once_fork_child(void)
{
	generation += WF_ONCE_GENERATION;
}

struct run {
	struct wf_once *once;
	bool is_begun; /* the caller has set RUNNING */
};

/*
 * Sets RUNNING for the caller. ONCE-1. In the runtime, so that no handler jumps
 * away between the CAS and is_begun.
 */
static bool take(struct run *r, uint32_t *word, uint32_t running)
{
	struct wf_thread *t = wf_runtime_enter();

	/* acquire: pairs with the release in end_run. */
	r->is_begun = wf_cas_acq_rel(&r->once->word, word, running);
	wf_runtime_leave(t);
	return r->is_begun;
}

/*
 * Returns true if the caller must run the routine; false when it has been run.
 */
static bool begin_run(struct run *r)
{
	const uint32_t running = generation | WF_ONCE_RUNNING;
	const uint32_t waited = running | WF_ONCE_WAITED;
	struct wf_once *o = r->once;
	/* acquire, here and below: the routine's writes; pairs with the release
	 * in end_run. */
	uint32_t word = wf_load_acquire(&o->word);

	while (word != WF_ONCE_DONE) {
		/* ONCE-2: DONE, 0 or a parent's */
		if (word != running && word != waited) {
			if (take(r, &word, running))
				return true;
			continue;
		}
		if (word == running && !wf_cas_acq_rel(&o->word, &word, waited))
			continue;
		wf_ufutex_wait(WF_WAIT_ONCE, &o->word, waited, WF_UFUTEX_ANY,
			       WF_FOREVER);
		word = wf_load_acquire(&o->word);
	}
	return false;
}

static void end_run(struct run *r, uint32_t result)
{
	/*
	 * release: publishes the routine's writes; pairs with begin_run and
	 * wf_once_run.
	 */
	uint32_t old = atomic_exchange_explicit(&r->once->word, result,
						memory_order_release);

	if (old & WF_ONCE_WAITED)
		/* ONCE-3: wakes all waiting threads. */
		wf_ufutex_wake(&r->once->word, INT_MAX, WF_UFUTEX_ANY);
}

/*
 * Cleans up when the routine is left early, or when a handler jumps away just
 * when it is done.
 */
static void give_up(void *run)
{
	struct run *r = run;

	if (r->is_begun && wf_load_relaxed(&r->once->word) != WF_ONCE_DONE)
		end_run(r, 0);
}

WF_COLD void wf_once_run_slow(struct wf_once *o, void (*routine)(void))
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct run r = { .once = o };

	wf_cleanup_begin(&cleanup, give_up, &r);
	if (begin_run(&r)) {
		routine();
		end_run(&r, WF_ONCE_DONE);
	}
	wf_cleanup_end(&cleanup);
}
