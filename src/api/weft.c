/* SPDX-License-Identifier: MIT */
/*
 * The functions of weft.h, for programs that run on weft. Each calls the part
 * of weft that does the work. weft_runtime() gives all of them to a program
 * that is linked with libweft-api.a (api/fallback.c).
 */
#include <weft/runtime.h>

#include <string.h>

#include "api/api.h"
#include "api/cancel.h"
#include "base/options.h"
#include "boot/boot.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/yield.h"
#include "see/list.h"
#include "thread/kernel_state.h"
#include "thread/lifecycle.h"
#include "wait/agent.h"
#include "wait/sleep.h"
#include "wait/word.h"
#include "wait/word_array.h"

WF_API(const char *, weft_version, void)
{
	return WEFT_VERSION;
}

WF_API(int, weft_is_active, void)
{
	return wf_is_started();
}

/* --- wait words ---------------------------------------------------------- */

_Static_assert(sizeof(struct weft_word) == sizeof(struct wf_word), "one type");
_Static_assert((int)WEFT_WORD_RUNG == (int)WF_WORD_RUNG, "one flag");
_Static_assert((int)WEFT_WORD_POLLED == (int)WF_WORD_POLLED, "one flag");
_Static_assert((int)WEFT_WORDS_MAX == (int)WF_WORDS_PER_WAIT, "one number");

/* Starts the runtime if it has not started: weft's agents poll the words. */
static int wait_for_words(const struct weft_word *words, size_t nr,
			  size_t *ret_index, const struct timespec *deadline)
{
	int64_t deadline_ns;
	int err = wf_deadline_from_abs(CLOCK_MONOTONIC, deadline, &deadline_ns);

	if (err == 0 && !wf_is_started() && wf_boot_start() < 0)
		err = -ENOMEM;
	if (err < 0)
		return -err;
	return -WF_CANCEL_POINT(wf_word_wait((const struct wf_word *)words, nr,
					     ret_index, deadline_ns));
}

WF_API(int, weft_word_wait_until, const volatile void *addr, size_t size,
       uint64_t mask, uint64_t old, const struct timespec *deadline)
{
	const struct weft_word word = { addr, size, mask, old };

	return wait_for_words(&word, 1, NULL, deadline);
}

WF_API(int, weft_word_wait_any_until, const struct weft_word *words, size_t nr,
       size_t *ret_index, const struct timespec *deadline)
{
	return wait_for_words(words, nr, ret_index, deadline);
}

WF_API(uint32_t *, weft_word_new, uint32_t value)
{
	return wf_word_new(value);
}

WF_API(void, weft_word_free, uint32_t *word)
{
	wf_word_free(word);
}

WF_API(void, weft_word_ring, const volatile void *addr)
{
	wf_word_ring(addr);
}

/* --- agents, hints, statistics ------------------------------------------- */

_Static_assert((int)WEFT_AGENT_ADAPTIVE == (int)WF_WAIT_ADAPTIVE &&
		       (int)WEFT_AGENT_POLL == (int)WF_WAIT_POLL &&
		       (int)WEFT_AGENT_PARK == (int)WF_WAIT_PARK,
	       "one enumeration");

WF_API(int, weft_agent_set, enum weft_agent_policy policy, unsigned int agents)
{
	if (!wf_is_started() && wf_boot_start() < 0)
		return ENOMEM;
	return -wf_agent_set((uint32_t)policy, agents);
}

WF_API(void, weft_block_begin, void)
{
	struct wf_thread *t = wf_runtime_enter();

	wf_carrier_hand_off(t);
	wf_runtime_leave(t);
}

WF_API(void, weft_block_end, void)
{
	wf_runtime_leave(wf_runtime_enter());
}

static uint64_t count_all(size_t offset)
{
	uint32_t nr = wf_is_started() ? wf_sched.nr_vps : 0;
	const char *of_process = (const char *)&wf_counters;
	uint64_t all = wf_load_relaxed(
		(const _Atomic uint64_t *)(of_process + offset));

	for (uint32_t i = 0; i < nr; i++) {
		const char *of_vp = (const char *)&wf_sched.vps[i].counters;

		all += wf_load_relaxed(
			(const _Atomic uint64_t *)(of_vp + offset));
	}
	return all;
}

WF_API(void, weft_stats, struct weft_stats *stats, size_t size)
{
#define ALL(name) count_all(offsetof(struct wf_counters, name))
	const struct weft_stats now = {
		.threads = ALL(made),
		.switches = ALL(switches),
		.parks = ALL(parks),
		.preemptions = ALL(preemptions),
		.handoffs = ALL(handoffs),
		.polls = ALL(polls),
		.poll_hits = ALL(hits),
		.poll_ns = ALL(polled_us) * 1000,
		.hand_overs = ALL(hand_overs),
		.sleeps = ALL(sleeps),
		.wakes = ALL(wakes),
		.word_waits = ALL(word_waits),
		.word_hits = ALL(word_hits),
		.word_rings = ALL(word_rings),
		.steals = ALL(steals),
		.preemptions_cooperative = ALL(preemptions_cooperative),
		.refusals = ALL(refusals_runtime) + ALL(refusals_stack) +
			    ALL(refusals_libc),
		.binds = ALL(bound) + ALL(binds),
		.requests = ALL(requests),
		.served = ALL(served),
	};
#undef ALL
	memset(stats, 0, size);
	memcpy(stats, &now, size < sizeof(now) ? size : sizeof(now));
}

/* --- threads ------------------------------------------------------------- */

WF_API(size_t, weft_thread_list, struct weft_thread *threads, size_t nr,
       size_t size)
{
	return wf_is_started() ? wf_see_list(threads, nr, size) : 0;
}

WF_API(int, weft_thread_bind, pthread_t thread)
{
	struct wf_thread *t;

	if (!wf_is_started() && wf_boot_start() < 0)
		return ENOMEM;
	t = wf_thread_of(thread);
	if (!wf_thread_exists(t))
		return ESRCH;
	if (t->kind == WF_THREAD_FOREIGN)
		return 0; /* it is a kernel thread */
	return -wf_kernel_state_begin_for(t, WF_BOUND_ASKED);
}

/* --- for libweft-api.a --------------------------------------------------- */

static int let_others(void)
{
	return wf_is_started() && wf_sched_let_others();
}

static void yield_cpu(void)
{
	wf_sys(SYS_sched_yield);
}

WF_API(const struct weft_runtime_functions *, weft_runtime, void)
{
	static const struct weft_runtime_functions functions = {
		.size = sizeof(functions),
		.version = weft_version,
		.is_active = weft_is_active,
		.word_wait_until = weft_word_wait_until,
		.word_wait_any_until = weft_word_wait_any_until,
		.word_new = weft_word_new,
		.word_free = weft_word_free,
		.word_ring = weft_word_ring,
		.agent_set = weft_agent_set,
		.block_begin = weft_block_begin,
		.block_end = weft_block_end,
		.stats = weft_stats,
		.let_others = let_others,
		.yield_cpu = yield_cpu,
		.thread_list = weft_thread_list,
		.thread_bind = weft_thread_bind,
	};

	return &functions;
}
