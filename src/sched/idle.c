/* SPDX-License-Identifier: MIT */
/*
 * A VP without work enters a list under a lock and sleeps. A thread with work
 * takes a VP out of the list, stores its wake_word and wakes it, by the futex
 * or through its ring. VPs that poll are not in the list: they are counted in
 * wf_sched.nr_pollers. Each woken VP measures the cost of its wake. The
 * invariants are in idle.h.
 */
#include "sched/idle.h"

#include "base/log.h"
#include "base/options.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sched/monitor_time.h"
#include "sched/realtime.h"
#include "sched/vp_io.h"

static struct wf_spin idle_lock = WF_SPIN_INIT;
static struct wf_vp *idle_list;

/*
 * ns. The start value is a measurement on virtual machines, used until the
 * first wake has been measured.
 */
static _Atomic int64_t wake_cost_ns = 25 * 1000;

void wf_idle_begin(struct wf_vp *vp)
{
	wf_store_relaxed(&vp->wake_word, 0);
	wf_spin_lock(&idle_lock, WF_RANK_IDLE);
	vp->is_idle = true;
	vp->is_listed = !wf_vp_is_offline(vp);
	if (vp->is_listed) {
		vp->idle_next = idle_list;
		idle_list = vp;
		wf_store_relaxed(&wf_sched.nr_idle,
				 wf_load_relaxed(&wf_sched.nr_idle) + 1);
	}
	wf_spin_unlock(&idle_lock);
	wf_fence_seq_cst(); /* IDLE-2: announce, fence, check the queues */
}

static bool remove_locked(struct wf_vp *vp)
{
	struct wf_vp **link = &idle_list;

	if (!vp->is_idle)
		return false;
	vp->is_idle = false;
	if (!vp->is_listed)
		return true;
	while (*link != vp)
		link = &(*link)->idle_next;
	*link = vp->idle_next;
	wf_store_relaxed(&wf_sched.nr_idle,
			 wf_load_relaxed(&wf_sched.nr_idle) - 1);
	return true;
}

bool wf_idle_end(struct wf_vp *vp)
{
	bool was_idle;

	wf_spin_lock(&idle_lock, WF_RANK_IDLE);
	was_idle = remove_locked(vp);
	wf_spin_unlock(&idle_lock);
	return was_idle;
}

static bool wake(struct wf_vp *vp, bool was_idle)
{
	if (!was_idle)
		return false;
	wf_count(wakes);
	wf_store_relaxed(&vp->wake_ns, wf_os_now());
	/* release: the work pushed for the VP; pairs with the sleeper's
	 * load. */
	wf_store_release(&vp->wake_word, 1);
	if (vp->sleeps_in_ring)
		wf_vp_io_ops->wake(vp);
	else
		wf_os_futex_wake(&vp->wake_word, 1);
	return true;
}

int64_t wf_idle_wake_cost(void)
{
	return wf_load_relaxed(&wake_cost_ns);
}

void wf_idle_woken(struct wf_vp *vp)
{
	/* A sample counts as at most MAX_SAMPLE_NS: on a busy machine a sleeper
	 * may get a CPU late, and one sample must not dominate the mean of
	 * MEAN_OF. */
	enum { MAX_SAMPLE_NS = 200 * 1000, MEAN_OF = 8 };
	int64_t sample = wf_os_now() - wf_load_relaxed(&vp->wake_ns);
	int64_t mean = wf_idle_wake_cost();

	if (sample > MAX_SAMPLE_NS)
		sample = MAX_SAMPLE_NS;
	wf_store_relaxed(&wake_cost_ns, mean + (sample - mean) / MEAN_OF);
}

bool wf_idle_wake(struct wf_vp *vp)
{
	if (wf_load_relaxed(&wf_sched.nr_idle) == 0 && !wf_vp_is_offline(vp))
		return false;
	return wake(vp, wf_idle_end(vp));
}

bool wf_idle_wake_sleeper(void)
{
	struct wf_vp *vp;

	if (wf_load_relaxed(&wf_sched.nr_idle) == 0)
		return false;
	wf_spin_lock(&idle_lock, WF_RANK_IDLE);
	vp = idle_list;
	if (vp != NULL)
		remove_locked(vp);
	wf_spin_unlock(&idle_lock);
	return vp != NULL && wake(vp, true);
}

void wf_idle_wake_any(void)
{
	/* IDLE-4: a poller finds the work */
	if (wf_load_relaxed(&wf_sched.nr_pollers) == 0)
		wf_idle_wake_sleeper();
}

/* --- polling ------------------------------------------------------------ */

bool wf_idle_poll_begin(struct wf_vp *vp)
{
	uint32_t nr = wf_load_relaxed(&wf_sched.nr_pollers);

	if (wf_vp_is_offline(vp))
		return false;
	do {
		if (nr >= wf_load_relaxed(&wf_sched.most_pollers))
			return false;
	} while (!wf_cas_acq_rel(&wf_sched.nr_pollers, &nr, nr + 1));
	vp->is_poller = true;
	wf_count_own(&vp->counters, polls);
	return true;
}

void wf_idle_poll_end(struct wf_vp *vp)
{
	WF_ASSERT(vp->is_poller);
	vp->is_poller = false;
	/* IDLE-4: the fence that follows is the one in wf_idle_begin. */
	atomic_fetch_sub_explicit(&wf_sched.nr_pollers, 1,
				  memory_order_relaxed);
}

/* True if there is work for any VP that is worth a wake. */
static bool is_more(void)
{
	return wf_inject_len(&wf_sched.inject) != 0 || wf_realtime_waits(1) ||
	       wf_load_relaxed(&wf_sched.stealable) == WF_STEALABLE_MANY;
}

void wf_idle_poll_leave(struct wf_vp *vp)
{
	if (vp->is_poller) {
		wf_count_own(&vp->counters, hits);
		wf_idle_poll_end(vp);
		/* IDLE-4; pairs with the fence of a thread that pushes work */
		wf_fence_seq_cst();
	}
	if (is_more() && wf_idle_wake_sleeper())
		wf_count_own(&vp->counters, hand_overs);
}

void wf_idle_check_poller(void)
{
	if (wf_load_relaxed(&wf_sched.wait_policy) == WF_WAIT_POLL &&
	    wf_load_relaxed(&wf_sched.nr_pollers) <
		    wf_load_relaxed(&wf_sched.most_pollers))
		wf_idle_wake_sleeper();
}

void wf_idle_wake_monitor(void)
{
	/*
	 * wf_monitor_time needs a time until the monitor's next round. It is
	 * stored before the wake, so that it never replaces a time which the
	 * monitor itself has stored.
	 */
	wf_monitor_time_set(wf_os_now());
	atomic_fetch_add(&wf_sched.monitor_poke, 1);
	if (wf_idle_rouse_monitor())
		wf_os_futex_wake_shared(&wf_sched.monitor_asleep, 1);
	else
		wf_os_futex_wake(&wf_sched.monitor_poke, 1);
}

bool wf_idle_rouse_monitor(void)
{
	uint32_t how = wf_load_relaxed(&wf_sched.monitor_asleep);

	while (how > WF_MONITOR_AWAKE) {
		/* ASLEEP or WATCHING -> AWAKE. If the word is DEATH the monitor
		 * is awake and has yet to read it. */
		if (wf_cas_acq_rel(&wf_sched.monitor_asleep, &how,
				   WF_MONITOR_AWAKE))
			return true;
	}
	return false;
}

void wf_idle_reset(void)
{
	idle_lock = WF_SPIN_INIT;
	idle_list = NULL;
	wf_store_relaxed(&wf_sched.nr_idle, 0);
	wf_store_relaxed(&wf_sched.nr_pollers, 0);
	wf_store_relaxed(&wf_sched.monitor_asleep, WF_MONITOR_AWAKE);
	wf_store_relaxed(&wf_sched.monitor_until, INT64_MIN);
}
