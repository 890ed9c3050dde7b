/* SPDX-License-Identifier: MIT */
/* Stands for os/ as base/spin.h calls it, for tests without os/kthread.c. */
#include <sched.h>

#include "base/spin.h"

void wf_spin_lock_slow(struct wf_spin *s)
{
	while (!wf_spin_trylock(s))
		sched_yield();
}
