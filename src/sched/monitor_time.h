/* SPDX-License-Identifier: MIT */
/*
 * A cheap clock: the time of the monitor's last round. It serves where no exact
 * time is needed, as for the beginning of a wait.
 *
 *     t->wait_since = wf_monitor_time();
 *
 * To read the kernel's clock takes as long as half a switch. So the monitor
 * stores the time at each of its rounds, which are at most 4 ms apart. A thread
 * that wakes the monitor stores the time before. While the monitor sleeps there
 * is no stored time, and wf_monitor_time reads the clock.
 */
#ifndef WEFT_SCHED_MONITOR_TIME_H
#define WEFT_SCHED_MONITOR_TIME_H

#include "os/clock.h"
#include "sched/vp.h"

/*
 * Stores now_ns as ms of CLOCK_MONOTONIC. The number wraps after 49 days; 0
 * means that there is no stored time.
 */
static inline void wf_monitor_time_set(int64_t now_ns)
{
	wf_store_relaxed(&wf_sched.monitor_ms,
			 (uint32_t)(now_ns / WF_NS_PER_MS));
}

/* Called by the monitor before it sleeps: the stored time is void. */
static inline void wf_monitor_time_stop(void)
{
	wf_store_relaxed(&wf_sched.monitor_ms, 0);
}

static inline uint32_t wf_monitor_time(void)
{
	uint32_t ms = wf_load_relaxed(&wf_sched.monitor_ms);

	if (WF_UNLIKELY(ms == 0))
		ms = (uint32_t)(wf_os_now() / WF_NS_PER_MS);
	return ms;
}

#endif
