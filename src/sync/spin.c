/* SPDX-License-Identifier: MIT */
/*
 * The slow path of pthread_spin_lock: some pauses, then a yield, until the lock
 * is free. If the holder runs on another VP, a few hundred cycles are enough
 * for the sections that spin locks are for. If the holder waits for a VP,
 * perhaps the caller's, only a yield helps.
 */
#include "sync/spin.h"

#include "arch/arch.h"
#include "sched/yield.h"

/* Some hundred cycles: longer than most sections under a spin lock. */
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
