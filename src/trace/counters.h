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
	X(made, "threads made")                                    \
	X(bound, "threads made with a carrier of their own")       \
	X(switches, "switches between threads")                    \
	X(parks, "waits that parked")                              \
	X(steals, "threads taken from another VP")                 \
	X(claims, "threads started")                               \
	X(answers, "threads that gave way at a call, when asked")  \
	X(preemptions, "preemptions")                              \
	X(refusals_runtime, "preemptions put off: in the runtime") \
	X(refusals_stack, "preemptions put off: on weft's stack")  \
	X(refusals_libc, "preemptions put off: in libc")           \
	X(offline, "VPs taken offline: more than CPUs")            \
	X(binds, "threads that got a carrier of their own later")  \
	X(rescues, "VPs taken from blocked carriers")              \
	X(rejoins, "threads that came back without a VP")          \
	X(requests, "requests to the ring")                        \
	X(moves, "requests that followed their VP")                \
	X(polls, "idle VPs that began to poll")                    \
	X(hits, "polls that found work")                           \
	X(hand_overs, "pollers that woke another VP")              \
	X(polled_us, "time spent polling, us")                     \
	X(sleeps, "VPs that went to sleep")                        \
	X(wakes, "sleeping VPs woken")                             \
	X(word_waits, "waits for words that parked")               \
	X(word_hits, "waits for words ended by a look")            \
	X(word_rings, "waits for words ended by a doorbell")       \
	X(ticks, "monitor ticks")                                  \
	X(carriers, "carriers made")                               \
	X(attaches, "foreign threads met")                         \
	X(served, "requests to I/O servers")                       \
	X(served_at_once, "requests done at once")                 \
	X(notices, "completions told by I/O server processes")     \
	X(servers_lost, "I/O server processes lost")

/* Those of which the largest counts; the last three are set at the end. */
#define WF_MAXIMA(X)                                                \
	X(most_threads, "threads at once, at most")                 \
	X(longest_wait_us, "longest wait of a runnable thread, us") \
	X(stacks, "stacks made")                                    \
	X(stack_kib, "address space of stacks, KiB")                \
	X(peak_kib, "memory of the process at its most, KiB")

struct wf_counters {
#define X(name, text) _Atomic uint64_t name;
	WF_COUNTERS(X)
	WF_MAXIMA(X)
#undef X
};

extern struct wf_counters wf_counters;

/* A VP's, which is no more: the process's have them from now on. */
void wf_counters_add(const struct wf_counters *more);

#define wf_count(name) \
	atomic_fetch_add_explicit(&wf_counters.name, 1, memory_order_relaxed)
/* Owner-only: a plain increment that other threads may read. */
#define wf_count_own(counters, name)        \
	wf_store_relaxed(&(counters)->name, \
			 wf_load_relaxed(&(counters)->name) + 1)

/* Raises a maximum of the process to at least `value`. */
#define wf_count_most(name, value) \
	wf_counter_raise(&wf_counters.name, (uint64_t)(value))
static inline void wf_counter_raise(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t old = wf_load_relaxed(most);

	while (value > old && !atomic_compare_exchange_weak(most, &old, value))
		;
}

#endif
