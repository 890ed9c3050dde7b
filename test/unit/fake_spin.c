/* SPDX-License-Identifier: MIT */
/*
 * Replaces the functions of os/ that base/spin.h calls, for tests without
 * os/kthread.c.
 */
#include <sched.h>

#include "base/spin.h"

void wf_spin_lock_slow(struct wf_spin *s, enum wf_rank rank)
{
	while (!wf_spin_take(s, rank))
		sched_yield();
}
