/* SPDX-License-Identifier: MIT */
/*
 * The check of the order of locks. It only exists in builds that define
 * WF_CHECK_RANKS.
 *
 * RANK-1. A bit is set after the lock is taken and cleared before it is
 *     released, by the thread that holds the lock at that time. A signal
 *     handler of weft takes no lock while its thread holds one, so the
 *     word needs no atomic access.
 */
#include "base/rank.h"

#ifdef WF_CHECK_RANKS

#include "base/log.h"

static __thread uint64_t held
	__attribute__((tls_model("initial-exec"))); /* RANK-1 */

#define NAME(name, file, protects, under) #name,
static const char *const names[] = { "NONE", WF_RANKS(NAME) };
#undef NAME

void wf_rank_check(enum wf_rank rank)
{
	uint64_t later = held >> rank << rank;

	if (WF_LIKELY(later == 0))
		return;
	wf_log("lock %s is taken by a thread that holds %s", names[rank],
	       names[__builtin_ctzll(later)]);
	wf_panic(__func__, "the order of locks is broken");
}

void wf_rank_taken(enum wf_rank rank)
{
	held |= UINT64_C(1) << rank;
}

void wf_rank_released(enum wf_rank rank)
{
	held &= ~(UINT64_C(1) << rank);
}

uint64_t wf_ranks_held(void)
{
	return held;
}

void wf_ranks_carried(uint64_t ranks)
{
	held = ranks;
}

#endif
