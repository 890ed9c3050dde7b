#include "sync/once.h"

#include <limits.h>
#include <pthread.h>
#include <threads.h>

#include "wait/ufutex.h"

/*
 * One-time initialisation.
 *
 *     0, or RUNNING of an earlier generation -> g | RUNNING  [begin_run]
 *     g | RUNNING -> g | RUNNING | WAITED                    [begin_run]
 *     g | RUNNING, with WAITED or not -> DONE                [end_run]
 *     g | RUNNING, with WAITED or not -> 0                   [end_run, left
 *                                                            early]
 *
 * O1. RUNNING with the current generation g: one thread of this process is in
 *     the routine, and its end_run follows, however the routine is left.
 * O2. RUNNING with another generation: that thread was not copied by fork.
 * O3. A thread parks only while WAITED is set, and end_run wakes all if so.
 */

_Static_assert(sizeof(struct wf_once) == sizeof(pthread_once_t) &&
		       sizeof(struct wf_once) == sizeof(once_flag),
	       "the objects have libc's size");

/* Changes only while the process has one thread. */
static uint32_t generation;

void wf_once_fork_child(void)
{
	generation += WF_ONCE_GENERATION;
}

/* True if the caller has to run the routine, false when it has been run. */
static bool begin_run(struct wf_once *o)
{
	const uint32_t running = generation | WF_ONCE_RUNNING;
	const uint32_t waited = running | WF_ONCE_WAITED;
	/* acquire, here and below: pairs with the release in end_run. */
	uint32_t word = wf_load_acquire(&o->word);

	while (word != WF_ONCE_DONE) {
		if (word != running && word != waited) { /* O2 */
			if (wf_cas_acq_rel(&o->word, &word, running))
				return true;
			continue;
		}
		if (word == running && !wf_cas_acq_rel(&o->word, &word, waited))
			continue;
		wf_ufutex_wait(&o->word, waited, WF_UFUTEX_ANY, WF_FOREVER);
		word = wf_load_acquire(&o->word);
	}
	return false;
}

struct run {
	struct wf_once *once;
	uint32_t result; /* 0 until the routine has returned */
};

/* Also called while an exception or a forced unwind passes. */
static void end_run(struct run *r)
{
	/* release: publishes what the routine did; pairs with begin_run and
	 * wf_once_run. */
	uint32_t old = atomic_exchange_explicit(&r->once->word, r->result,
						memory_order_release);

	if (old & WF_ONCE_WAITED)
		wf_ufutex_wake(&r->once->word, INT_MAX, WF_UFUTEX_ANY); /* O3 */
}

static void run(struct wf_once *o, void (*routine)(void))
{
	__attribute__((cleanup(end_run))) struct run r = { .once = o };

	routine();
	r.result = WF_ONCE_DONE;
}

WF_COLD void wf_once_run_slow(struct wf_once *o, void (*routine)(void))
{
	if (begin_run(o))
		run(o, routine);
}
