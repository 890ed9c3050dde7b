/* SPDX-License-Identifier: MIT */
/*
 * The time of the monitor's last round, for what needs no exact time: when a
 * wait began, and when a thread was made.
 *
 *     t->wait_since = wf_monitor_time();
 *
 * To read a clock takes as long as half a switch. So the monitor stores the
 * time at each of its rounds, which are at most 4 ms apart, and the thread that
 * wakes the monitor stores it before. While the monitor sleeps there is no
 * such time, and the caller reads the clock.
 */
#ifndef WEFT_SCHED_MONITOR_TIME_H
#define WEFT_SCHED_MONITOR_TIME_H

#include "os/clock.h"
#include "sched/vp.h"

/* CLOCK_MONOTONIC in ms. It wraps after 49 days; 0 means no time. */
static inline void wf_monitor_time_set(int64_t now_ns)
{
	wf_store_relaxed(&wf_sched.monitor_ms,
			 (uint32_t)(now_ns / WF_NS_PER_MS));
}

/* The monitor is about to sleep. */
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
