/*
 * Counters: one row here is one field per VP and one line of --stats.
 *
 * A VP's counters are written by its owner alone, the process's by anybody.
 */
#ifndef WEFT_TRACE_COUNTERS_H
#define WEFT_TRACE_COUNTERS_H

#include <stddef.h>

#include "base/atomic.h"

#define WF_COUNTERS(X)                                             \
	X(switches, "switches between threads")                    \
	X(parks, "waits that parked")                              \
	X(steals, "threads taken from another VP")                 \
	X(claims, "threads started")                               \
	X(preemptions, "preemptions")                              \
	X(refusals_runtime, "preemptions put off: in the runtime") \
	X(refusals_libc, "preemptions put off: in libc")           \
	X(rescues, "VPs taken from blocked carriers")              \
	X(rejoins, "threads that came back without a VP")          \
	X(sleeps, "VPs that went to sleep")                        \
	X(wakes, "sleeping VPs woken")                             \
	X(ticks, "monitor ticks")                                  \
	X(carriers, "carriers made")                               \
	X(attaches, "foreign threads met")

struct wf_counters {
#define X(name, text) _Atomic uint64_t name;
	WF_COUNTERS(X)
#undef X
};

extern struct wf_counters wf_counters;

#define wf_count(name) \
	atomic_fetch_add_explicit(&wf_counters.name, 1, memory_order_relaxed)
/* Owner-only: a plain increment that other threads may read. */
#define wf_count_own(counters, name)        \
	wf_store_relaxed(&(counters)->name, \
			 wf_load_relaxed(&(counters)->name) + 1)

/* Prints the sum of the process's and `nr` VPs' counters to stderr. */
void wf_counters_print(const struct wf_counters *const *of_vps, size_t nr);

#endif
