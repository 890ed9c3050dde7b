/* SPDX-License-Identifier: MIT */
#include "sync/spin.h"

#include "arch/arch.h"
#include "sched/yield.h"

/*
 * The holder either runs on another VP, then a few hundred cycles are enough
 * for the sections that spin locks are for, or it waits for a VP, perhaps for
 * ours, then only a yield helps.
 */
#define PAUSES_PER_YIELD 50

WF_COLD void wf_spinlock_lock_slow(struct wf_spinlock *s)
{
	for (;;) {
		for (int i = 0; i < PAUSES_PER_YIELD; i++) {
			if (wf_load_relaxed(&s->word) == WF_SPINLOCK_FREE &&
			    wf_spinlock_take(s))
				return;
			wf_cpu_pause();
		}
		wf_sched_yield();
	}
}
