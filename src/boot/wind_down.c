/* SPDX-License-Identifier: MIT */
/*
 * Natively a process with all its threads joined has one kernel thread, and may
 * enter a user namespace. On weft the carriers, the monitor, the signal
 * receiver and the I/O workers would still exist. So wf_wind_down ends them for
 * such a call. The next pthread_create makes those again that it needs.
 *
 * WIND_DOWN-1. The caller is the only thread of the program that has not
 *     exited, and it blocks all signals. So no thread is made meanwhile, no
 *     thread waits, and nothing is in flight but the work of weft's kernel
 *     threads.
 * WIND_DOWN-2. Nothing happens if a kernel thread has state that would be lost
 *     with it:
 *     - kernel state of a caller that is not on the first kernel thread;
 *     - robust mutexes for which the monitor stands;
 *     - timers that signal the caller or are on its CPU clock;
 *     - a notification of a message queue, or a close in flight.
 *     Nothing happens either if the process has foreign kernel threads:
 *     natively the kernel refuses the call then, too.
 * WIND_DOWN-3. I/O workers end first, since only they may be in calls that take
 *     long. If one does not end, the runtime continues. From the end of the
 *     monitor on there is no way back: all remaining kernel threads are at
 *     rest, and end at once.
 * WIND_DOWN-4. The monitor ends before the carriers, or it would take their
 *     ends for deaths (monitor/deaths.c). The signal receiver ends before
 *     pending signals are given to the kernel.
 * WIND_DOWN-5. The caller waits for each end until the kernel no longer knows
 *     the id. The kernel clears the word of the kernel thread before that, so
 *     the word is not enough.
 * WIND_DOWN-6. A child that asks for a signal at its parent's end gets it when
 *     the kernel thread that made it ends. weft does not know which children
 *     have asked. So where a carrier has children, the runtime ends only for
 *     calls that the kernel refuses otherwise.
 *
 * Rejected: to start again at once. After unshare(CLONE_NEWPID) the kernel
 * makes no kernel thread, and most programs that isolate themselves fork or
 * execute next.
 */
#include "boot/wind_down.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "boot/boot.h"
#include "io/backend/ring.h"
#include "io/backend/worker.h"
#include "libc/tcb.h"
#include "monitor/monitor.h"
#include "monitor/private_table.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/cpu_time.h"
#include "sched/dismiss.h"
#include "sched/runtime.h"
#include "signal/dump_signal.h"
#include "signal/mask.h"
#include "signal/posix_timer.h"
#include "signal/preempt.h"
#include "signal/signal_receiver.h"
#include "signal/signal.h"
#include "sync/shared.h"
#include "thread/thread_count.h"
#include "thread/cpu_timer.h"
#include "thread/kernel_state.h"
#include "thread/name.h"
#include "thread/policy.h"
#include "thread/reap.h"
#include "wait/agent.h"
#include "wait/timer.h"

/* wf_wind_down_never was called in the process with this number of forks. */
static _Atomic uint32_t never_epoch;

/* WIND_DOWN-2: true if a foreign thread that has used weft exists. */
static bool has_foreign(const struct wf_thread *self)
{
	uint32_t high = wf_table_high();

	for (uint32_t i = 1; i < high; i++) {
		const struct wf_thread *t = wf_table_at(i);

		if (t != self && t->kind == WF_THREAD_FOREIGN && t->tid > 0 &&
		    wf_os_tgkill(t->tid, 0) == 0)
			return true;
	}
	return false;
}

/*
 * WIND_DOWN-6: true if a carrier other than the first kernel thread has
 * children.
 */
static bool has_children_elsewhere(void)
{
	const int any = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
	uint32_t nr = wf_carrier_count();
	bool has_any = false;
	int proc;

	if (wf_sys(SYS_waitid, P_ALL, 0, NULL, any, NULL) == -ECHILD)
		return false;
	proc = wf_os_proc_open();
	for (uint32_t i = 0; i < nr && !has_any; i++) {
		const struct wf_carrier *c = wf_carrier_at(i);
		int tid = c != NULL ? wf_load_relaxed(&c->tid) : 0;

		has_any = tid != 0 && tid != wf_os_getpid() &&
			  wf_os_tgkill(tid, 0) == 0 &&
			  wf_os_thread_has_children(proc, tid);
	}
	if (proc >= 0)
		wf_sys(SYS_close, proc);
	return has_any;
}

void wf_wind_down_never(void)
{
	wf_store_relaxed(&never_epoch, wf_table_fork_epoch());
}

/*
 * True if the runtime may end now. The caller has in_runtime set. WIND_DOWN-1,
 * WIND_DOWN-2
 */
static bool may_end(const struct wf_thread *t)
{
	const uint32_t unseen = WF_WORK_BIND;

	return wf_load_relaxed(&never_epoch) != wf_table_fork_epoch() &&
	       wf_thread_count_nr() == 1 && t->wait_addr == NULL &&
	       !t->is_replacing && wf_load_relaxed(&wf_os_execs) == 0 &&
	       (wf_load_relaxed(&t->exit_work) & unseen) == 0 &&
	       wf_kernel_state_may_leave(t) && !wf_shared_is_any_given() &&
	       !wf_posix_timer_is_any(t->tid) && !wf_cpu_timer_is_any(t->tid) &&
	       wf_private_table_is_ready() && !wf_dump_signal_is_busy() &&
	       !has_foreign(t);
}

static bool may_end_now(bool is_needed)
{
	struct wf_thread *t = wf_runtime_enter();
	bool may = may_end(t) && (is_needed || !has_children_elsewhere());

	wf_runtime_leave(t);
	return may;
}

static void forget_vps(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];

		wf_counters_add(&vp->counters);
		wf_table_empty_pool(&vp->pool);
		wf_inject_fini(&vp->remote);
	}
	wf_inject_fini(&wf_sched.inject);
	wf_timers_fini();
}

/*
 * Registers libc's list of robust mutexes again: a thread bound to this kernel
 * thread may have registered its own.
 */
static void restore_robust_list(const struct wf_carrier *c)
{
	if (c->robust.head.list.next != NULL)
		wf_sys(SYS_set_robust_list,
		       wf_tcb_robust_list(wf_cpu_thread_register()),
		       sizeof(struct robust_list_head));
}

/* Restores the state before the first pthread_create. */
static void forget(struct wf_thread *t)
{
	struct wf_carrier *c = t->carrier;

	wf_os_set_signal_mask(UINT64_MAX);
	wf_signal_stop(t);
	if (c->cpu_timer >= 0)
		wf_sys(SYS_timer_delete, c->cpu_timer);
	restore_robust_list(c);
	wf_policy_stop(t);
	wf_cpu_time_stop(t);
	wf_kernel_state_stop(t);
	wf_name_fork_child(t);
	forget_vps();
	wf_store_release(&wf_sched.is_started, false);
	wf_ring_dismiss();
	wf_boot_forget_kernel_threads();
	wf_carrier_forget();
	wf_boot_become_first(t);
	wf_thread_count_reset();
}

/*
 * Ends weft's kernel threads. Returns true, with in_runtime set, if they have
 * ended; false if the runtime continues.
 */
static bool end_kernel_threads(struct wf_thread *t, bool is_needed)
{
	/* WIND_DOWN-3: I/O workers first */
	if (!may_end_now(is_needed) || !wf_worker_dismiss())
		return false;
	wf_runtime_enter();
	if (!may_end(t)) {
		wf_runtime_leave(t);
		return false;
	}
	wf_monitor_dismiss(); /* WIND_DOWN-4: before the carriers */
	wf_dump_signal_dismiss();
	wf_signal_receiver_dismiss();
	wf_dismiss_carriers(t, wf_agent_rouse);
	return true;
}

void wf_wind_down(bool is_needed)
{
	const uint64_t all = UINT64_MAX;
	struct wf_thread *t = wf_self;
	uint64_t mask;

	if (t == NULL || !t->is_first || !wf_is_started() ||
	    !wf_preempt_is_here())
		return;
	wf_reap_end();
	if (wf_thread_count_nr() != 1)
		return;
	/* WIND_DOWN-2: a close may be in flight */
	wf_private_table_wait(10 * WF_NS_PER_S);
	if (wf_mask_change(SIG_BLOCK, &all, &mask) < 0)
		return;
	if (!end_kernel_threads(t, is_needed)) {
		wf_mask_change(SIG_SETMASK, &mask, NULL);
		return;
	}
	forget(t);
	t->sigmask = mask;
	wf_signal_restore(t);
}
