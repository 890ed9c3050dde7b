/* SPDX-License-Identifier: MIT */
/*
 * A wait until a time of CLOCK_REALTIME has to notice when the clock is set. A
 * kernel thread reads a timer that never expires. The kernel ends the read when
 * the clock was set, and when the machine has slept. The kernel thread then
 * checks the deadlines of all such waits.
 *
 * CLOCK_WATCH-1. The monitor makes the timer and the kernel thread, so that
 *     both share the monitor's descriptor table (private_table.c). The program
 *     neither finds nor closes the timer's descriptor there. It also works if
 *     the program has used up its descriptors.
 * CLOCK_WATCH-2. The kernel thread is made under the clone lock, or a change of
 *     credentials could miss it. The thread that holds that lock may wait for
 *     the monitor to follow such a change, so the monitor follows while it
 *     waits for the lock.
 * CLOCK_WATCH-3. The timer reports each change since it was set or last read.
 *     So a check after each of these misses no change.
 *
 * Where the kernel refuses the timer, each wait until a time of that clock
 * begins with a check of the clock (wait/timer.c, TIMER-6). If the clock is set
 * forward meanwhile, the wait ends late.
 *
 * Rejected: to start the kernel thread with the runtime. Most programs never
 * wait for a time of this clock, and would have one kernel thread more.
 * Rejected: a kernel timer for the first deadline. Each wait would have to set
 * it.
 */
#include "monitor/clock_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/timerfd.h>

#include "base/upcall.h"
#include "monitor/private_table.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/preempt.h"
#include "sched/service.h"
#include "wait/timer.h"

_Atomic uint32_t wf_clock_watch_followed;

static _Atomic int tid;
static struct wf_thread self;
static int timer;     /* its descriptor; set before the kernel thread is made */
static bool is_tried; /* start was called; only the monitor uses it */
static _Atomic bool is_forbidden;
static _Atomic uint32_t over; /* 1 once the kernel thread is dismissed; futex */

static int make_timer(void)
{
	/* The expiry, later than any clock will ever show. */
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX };
	int fd = (int)wf_sys(SYS_timerfd_create, CLOCK_REALTIME, TFD_CLOEXEC);
	int err;

	if (fd < 0)
		return fd;
	err = (int)wf_sys(SYS_timerfd_settime, fd,
			  TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
			  NULL);
	if (err < 0)
		wf_sys(SYS_close, fd);
	return err < 0 ? err : fd;
}

static void run(void *arg)
{
	uint64_t expirations;
	long rc;

	wf_os_set_thread_name("weft-clock");
	/* weft's signal stays open: it asks this kernel thread to follow a
	 * change of credentials. */
	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
	wf_store_relaxed(&over, 0);
	wf_timers_set_watched(true);
	do {
		if (wf_service_is_dismissed(&tid))
			wf_service_end();
		wf_timers_check_clock(); /* CLOCK_WATCH-3: after each change */
		rc = wf_sys(SYS_read, timer, &expirations, sizeof(expirations));
	} while (rc >= 0 || rc == -ECANCELED || rc == -EINTR);
	wf_timers_set_watched(false); /* a seccomp filter refuses the read */
	while (!wf_service_is_dismissed(&tid))
		wf_os_futex_wait(&over, 0, WF_OS_FOREVER);
	wf_service_end();
}

/* Makes the timer and the kernel thread. CLOCK_WATCH-2 */
static void start(void)
{
	wf_clone_lock_beside(wf_upcall.setxid);
	wf_store_relaxed(&wf_clock_watch_followed,
			 wf_carrier_setxid_generation);
	wf_service_start(run, &self, &tid);
	wf_clone_unlock();
}

void wf_clock_watch_serve(void)
{
	if (WF_LIKELY(!wf_timers_want_watch()) || is_tried ||
	    !wf_private_table_is_ready())
		return;
	is_tried = true;
	if (!wf_private_table_is_made() || wf_load_relaxed(&is_forbidden))
		return;
	timer = make_timer();
	if (timer >= 0)
		start();
}

void wf_clock_watch_dismiss_begin(void)
{
	wf_service_dismiss_begin(&tid);
}

/*
 * Ends the read by an expiry of the timer: after a signal the kernel would
 * restart it.
 */
void wf_clock_watch_stop(void)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 1 };

	if (wf_load_relaxed(&tid) == 0)
		return;
	wf_sys(SYS_timerfd_settime, timer, 0, &soon, NULL);
	wf_store_relaxed(&over, 1);
	wf_os_futex_wake(&over, 1);
}

bool wf_clock_watch_dismiss(void)
{
	return wf_service_dismiss(&tid, NULL);
}

void wf_clock_watch_forbid(void)
{
	wf_store_relaxed(&is_forbidden, true);
}

int wf_clock_watch_tid(void)
{
	return wf_load_acquire(&tid);
}

void wf_clock_watch_fork_child(void)
{
	wf_store_relaxed(&tid, 0);
	is_tried = false;
}
