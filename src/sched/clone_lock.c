#include "sched/clone_lock.h"

#include <time.h>

#include "base/spin.h"
#include "os/clock.h"
#include "os/sys.h"

static struct wf_spin lock = WF_SPIN_INIT;
static _Atomic uint32_t nr_cloning; /* threads that wait in wf_clone_lock() */

void wf_clone_lock(void)
{
	atomic_fetch_add(&nr_cloning, 1);
	wf_spin_lock(&lock);
	atomic_fetch_sub(&nr_cloning, 1);
}

bool wf_clone_trylock(void)
{
	return wf_spin_trylock(&lock);
}

void wf_clone_unlock(void)
{
	wf_spin_unlock(&lock);
}

/*
 * The lock is not fair: threads that change credentials again and again would
 * keep the others from it for seconds. On a busy machine a waiting thread may
 * have no CPU for tens of ms; a second is the limit in case that it was killed.
 */
void wf_clone_lock_last(void)
{
	enum { MOST_NAPS = 10000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };

	for (int i = 0; i < MOST_NAPS && wf_load_relaxed(&nr_cloning) > 0; i++)
		wf_sys(SYS_nanosleep, &nap, NULL);
	wf_spin_lock(&lock);
}

void wf_clone_lock_fork_child(void)
{
	lock = WF_SPIN_INIT;
	wf_store_relaxed(&nr_cloning, 0);
}
