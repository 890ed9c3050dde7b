/* SPDX-License-Identifier: MIT */
/*
 * Counters: each row here is a field per VP and a line of --stats. A row has
 * the field, the key in the JSON form, and the words of the text form. Keys
 * never change, since programs read them.
 *
 *     wf_count(carriers);                             the process's
 *     wf_count_own(&vp->counters, switches);          a VP's
 *
 * Only a VP's owner writes the VP's counters. Any thread writes the process's.
 */
#ifndef WEFT_TRACE_COUNTERS_H
#define WEFT_TRACE_COUNTERS_H

#include <stddef.h>

#include "base/atomic.h"

#define WF_COUNTERS(X)                                                         \
	X(made, threads_made, "threads made")                                  \
	X(bound, bound, "threads made with a carrier of their own")            \
	X(switches, switches, "switches between threads")                      \
	X(parks, parks, "waits that parked")                                   \
	X(steals, steals, "threads taken from another VP")                     \
	X(claims, threads_started, "threads started")                          \
	X(preemptions_cooperative, preemptions_cooperative,                    \
	  "cooperative preemptions")                                           \
	X(preemptions, preemptions, "preemptions")                             \
	X(refusals_runtime, preemptions_deferred_runtime,                      \
	  "preemptions put off: in the runtime")                               \
	X(refusals_stack, preemptions_deferred_stack,                          \
	  "preemptions put off: on weft's stack")                              \
	X(refusals_libc, preemptions_deferred_libc,                            \
	  "preemptions put off: in libc")                                      \
	X(offline, vps_offline, "VPs taken offline: more than CPUs")           \
	X(binds, bound_later, "threads that got a carrier of their own later") \
	X(handoffs, handoffs, "VPs taken from blocked carriers")               \
	X(reacquires, reacquires, "threads that came back without a VP")       \
	X(requests, uring_requests, "requests to the ring")                    \
	X(migrations, requests_migrated, "requests that followed their VP")    \
	X(polls, polls, "idle VPs that began to poll")                         \
	X(hits, poll_hits, "polls that found work")                            \
	X(hand_overs, poll_wakes, "pollers that woke another VP")              \
	X(polled_us, polled_us, "time spent polling, us")                      \
	X(sleeps, vp_sleeps, "VPs that went to sleep")                         \
	X(wakes, vp_wakes, "sleeping VPs woken")                               \
	X(word_waits, word_waits, "waits for words that parked")               \
	X(word_hits, word_hits, "waits for words ended by a poll")             \
	X(word_rings, word_doorbells, "waits for words ended by a doorbell")   \
	X(ticks, ticks, "monitor ticks")                                       \
	X(dumps, stack_dumps, "stacks of all threads printed")                 \
	X(dumps_guessed, stack_dumps_guessed, "of these by weft itself")       \
	X(carriers, carriers, "carriers made")                                 \
	X(attaches, foreign_threads, "foreign threads met")                    \
	X(served, worker_requests, "requests to I/O workers")                  \
	X(served_at_once, worker_requests_at_once, "requests done at once")    \
	X(completions, io_server_completions,                                  \
	  "completions reported by I/O servers")                               \
	X(servers_lost, io_servers_lost, "I/O servers lost")

/*
 * Rows of which the largest value counts. The last three are set at the
 * process's end.
 */
#define WF_MAXIMA(X)                                              \
	X(most_threads, threads_most, "threads at once, at most") \
	X(runnable_wait_most_us, runnable_wait_most_us,           \
	  "longest wait of a runnable thread, us")                \
	X(stacks, stacks, "stacks made")                          \
	X(stack_kib, stack_kib, "address space of stacks, KiB")   \
	X(peak_kib, memory_most_kib, "memory of the process at its most, KiB")

struct wf_counters {
#define X(name, key, text) _Atomic uint64_t name;
	WF_COUNTERS(X)
	WF_MAXIMA(X)
#undef X
};

extern struct wf_counters wf_counters;

/* Adds the counters of a VP that ceases to exist to those of the process. */
void wf_counters_add(const struct wf_counters *more);

#define wf_count(name) \
	atomic_fetch_add_explicit(&wf_counters.name, 1, memory_order_relaxed)
/*
 * Owner only: an increment without an atomic instruction, which any thread may
 * read. It is one instruction, where a relaxed load and store would be three.
 */
#define wf_count_own(counters, name) wf_add_own(&(counters)->name, 1)

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
