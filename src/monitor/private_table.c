/* SPDX-License-Identifier: MIT */
/*
 * The monitor's private descriptor table (monitor.c, MONITOR-2) begins as a
 * copy of the program's. So its copies of the program's files have to be
 * closed.
 *
 * The close of a copy asks the file system. Another process may serve it, and
 * answer late or only after threads of the program have run. So a kernel thread
 * that shares the table, and has no other task, closes the copies. Until it is
 * done, the monitor keeps no descriptor open.
 *
 * Rejected: to copy nothing. The kernel copies the first 64 descriptors in any
 * case.
 */
#include "monitor/private_table.h"

#include <limits.h>
#include <linux/close_range.h>

#include "monitor/monitor.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/idle.h"
#include "sched/service.h"
#include "wait/timer.h"

static _Atomic uint32_t is_ready;
static bool is_own; /* the monitor's table is private */
static struct wf_thread closer_self;
static _Atomic int closer_tid;

bool wf_private_table_is_ready(void)
{
	/* acquire: all copies are closed; pairs with set_ready. */
	return wf_load_acquire(&is_ready) != 0;
}

static void set_ready(void)
{
	/* release: all copies are closed; pairs with
	 * wf_private_table_is_ready. */
	wf_store_release(&is_ready, 1);
	/* Wakes the monitor and the thread that has started weft: both may
	 * wait. */
	wf_os_futex_wake(&is_ready, INT_MAX);
}

static void close_copies(void)
{
	wf_sys(SYS_close_range, 0, ~0U, 0);
	set_ready();
}

static void run_closer(void *arg)
{
	wf_os_set_thread_name("weft-closer");
	close_copies();
	/* the monitor starts the clock watch once the table is ready */
	if (wf_timers_want_watch())
		wf_idle_wake_monitor();
	for (;;)
		wf_sys(SYS_exit, 0);
}

void wf_private_table_make(void)
{
	/* The monitor waits for at most this time: in most programs the copies
	 * are closed within microseconds. */
	const int64_t most_ns = 2 * WF_NS_PER_MS;

	is_own = wf_sys(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) == 0;
	if (!is_own) {
		set_ready();
		return;
	}
	if (wf_service_start(run_closer, &closer_self, &closer_tid) < 0)
		close_copies();
	else
		wf_os_futex_wait(&is_ready, 0, wf_os_now() + most_ns);
}

bool wf_private_table_is_made(void)
{
	return is_own;
}

/*
 * True if the kernel thread that closes the copies, or the monitor that makes
 * it, still waits for a CPU. If not, a file system keeps it waiting.
 */
static bool is_about_to_run(void)
{
	int closer = wf_load_relaxed(&closer_tid);
	int proc = wf_os_proc_open();
	char state = wf_os_thread_state(proc, closer != 0 ? closer :
							    wf_monitor_tid());

	if (proc >= 0)
		wf_sys(SYS_close, proc);
	return state == 'R';
}

void wf_private_table_wait(int64_t most_ns)
{
	const int64_t last_ns = wf_os_now() + 10 * WF_NS_PER_S;
	int64_t until_ns = wf_os_now() + most_ns;

	while (!wf_private_table_is_ready()) {
		int64_t now_ns = wf_os_now();

		if (now_ns >= until_ns) {
			if (now_ns >= last_ns || !is_about_to_run())
				return;
			until_ns = now_ns + most_ns;
		}
		wf_os_futex_wait(&is_ready, 0, until_ns);
	}
}

bool wf_private_table_dismiss(void)
{
	return wf_service_dismiss(&closer_tid, NULL);
}

void wf_private_table_fork_child(void)
{
	wf_store_relaxed(&is_ready, 0);
	wf_store_relaxed(&closer_tid, 0);
}
