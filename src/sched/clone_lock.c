/* SPDX-License-Identifier: MIT */
/*
 * A spin lock, and a count of the threads that wait for it in order to make a
 * kernel thread. A thread that changes credentials waits until that count is 0,
 * so that it does not starve them.
 */
#include "sched/clone_lock.h"

#include <time.h>

#include "base/spin.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"

static struct wf_spin lock = WF_SPIN_INIT;
/* Number of threads that wait for the lock in order to make a kernel thread. */
static _Atomic uint32_t nr_waiting;

void wf_clone_lock(void)
{
	atomic_fetch_add(&nr_waiting, 1);
	wf_spin_lock(&lock, WF_RANK_CLONE);
	atomic_fetch_sub(&nr_waiting, 1);
}

void wf_clone_lock_beside(void (*meanwhile)(void))
{
	atomic_fetch_add(&nr_waiting, 1);
	while (!wf_clone_trylock()) {
		meanwhile();
		wf_sys(SYS_sched_yield);
	}
	atomic_fetch_sub(&nr_waiting, 1);
}

bool wf_clone_trylock(void)
{
	return wf_spin_trylock(&lock, WF_RANK_CLONE);
}

void wf_clone_unlock(void)
{
	wf_spin_unlock(&lock);
}

/*
 * Takes the lock and releases it at once; returns false if another thread holds
 * it. Signals are closed only in here: handlers may run while the caller waits,
 * but not while it holds the lock. A handler might make a kernel thread.
 */
static bool try_to_pass(void)
{
	uint64_t mask = wf_os_close_signals();
	bool has_passed = wf_clone_trylock();

	if (has_passed)
		wf_clone_unlock();
	wf_os_set_signal_mask(mask);
	return has_passed;
}

void wf_clone_pass(void)
{
	atomic_fetch_add(&nr_waiting, 1);
	while (!try_to_pass())
		wf_sys(SYS_sched_yield);
	atomic_fetch_sub(&nr_waiting, 1);
}

/*
 * The lock is not fair: threads that change credentials again and again would
 * keep other threads from it for seconds. So this waits until no thread waits
 * to make a kernel thread. On a busy machine such a thread may have no CPU for
 * tens of ms. It may also have been killed: the limit of a second ends the wait
 * then.
 */
void wf_clone_lock_last(void)
{
	enum { MOST_NAPS = 10000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };

	for (int i = 0; i < MOST_NAPS && wf_load_relaxed(&nr_waiting) > 0; i++)
		wf_sys(SYS_nanosleep, &nap, NULL);
	wf_spin_lock(&lock, WF_RANK_CLONE);
}

void wf_clone_lock_fork_child(void)
{
	lock = WF_SPIN_INIT;
	wf_store_relaxed(&nr_waiting, 0);
}
