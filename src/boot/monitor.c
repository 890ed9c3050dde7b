/*
 * The monitor: one kernel thread without a VP that keeps time for VPs that
 * are busy, preempts, balances, and takes VPs from carriers that the kernel
 * has put to sleep.
 *
 * N1. It never calls malloc or the loader and takes no lock of the program's:
 *     whoever holds one may be waiting for it.
 * N2. It has a descriptor table of its own, since it opens files in /proc.
 * N3. It sleeps for good only when nothing waits and no busy VP has a timer;
 *     whoever changes that wakes it. It stores monitor_asleep, passes a
 *     membarrier, then looks again; pushers push, then load monitor_asleep.
 */
#include <errno.h>

#include "base/options.h"
#include "boot/boot.h"
#include "boot/rescue.h"
#include "boot/tick.h"
#include "libc/tcb.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/idle.h"
#include "sched/queue.h"
#include "signal/preempt.h"
#include "wait/timer.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	SLOW_TICK_NS = 10 * TICK_NS,
	/* After a rescue more VPs are likely stuck: 500 blocked threads
	 * would stop all others for half a second at a tick per rescue. */
	RESCUE_NS = 100 * 1000,
	/* It takes two looks to suspect a carrier. */
	RESCUING_NS = 2 * TICK_NS,
	QUIET_TICKS_BEFORE_SLEEP = 10,
	STACK_BYTES = 64 * 1024,
};

static _Atomic int monitor_tid;
static _Atomic uint32_t poke_word;
static struct wf_thread monitor_self;

int wf_monitor_tid(void)
{
	return wf_load_relaxed(&monitor_tid);
}

void wf_monitor_poke(void)
{
	wf_idle_wake_monitor();
	atomic_fetch_add(&poke_word, 1);
	wf_os_futex_wake(&poke_word, 1);
}

static bool is_busy(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->cur) != NULL;
}

/* Does anything depend on the monitor: waiting threads, timers? */
static bool is_needed(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];

		if (!is_busy(vp))
			continue;
		if (wf_queue_waiting_i(vp) + wf_queue_waiting_b(vp) > 0 ||
		    wf_timers_earliest(vp) != INT64_MAX)
			return true;
	}
	return false;
}

static int64_t earliest_deadline(int64_t limit)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];
		int64_t deadline = wf_timers_earliest(vp);

		if (is_busy(vp) && deadline < limit)
			limit = deadline;
	}
	return limit;
}

static void fire_timers(int64_t now)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];

		if (is_busy(vp) && wf_timers_earliest(vp) <= now &&
		    wf_timers_fire(vp, now, NULL) > 0)
			wf_tick_timer_fired(vp, now);
	}
}

/*
 * The debug option: every carrier that computes, at a high rate. Not one that
 * sleeps in a system call, which the signal would end.
 */
static void preempt_all(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		int tid = wf_load_relaxed(&vp->carrier->tid);
		int64_t cpu;

		if (!is_busy(vp) || tid == 0)
			continue;
		cpu = wf_os_thread_cpu(tid);
		if (cpu - vp->watch.forced_cpu_ns <
		    (int64_t)wf_options.preempt_every / 2)
			continue;
		vp->watch.forced_cpu_ns = cpu;
		wf_store_relaxed(&vp->resched, WF_RESCHED_TICK);
		wf_preempt_signal(vp->carrier);
	}
}

static void sleep_for_good(void)
{
	wf_store_relaxed(&wf_sched.monitor_asleep, 1); /* N3 */
	if (wf_os_membarrier() < 0)
		wf_fence_seq_cst();
	if (!is_needed())
		wf_os_futex_wait(&wf_sched.monitor_asleep, 1, WF_OS_FOREVER);
	wf_store_relaxed(&wf_sched.monitor_asleep, 0);
}

static void nap_until(int64_t deadline)
{
	uint32_t seen = wf_load_relaxed(&poke_word);

	wf_os_futex_wait(&poke_word, seen, deadline);
}

/* When to look next, seen from `now`. */
static int64_t next_look(int64_t now, int64_t next_tick, bool is_rescuing)
{
	int64_t until = next_tick;

	if (is_rescuing && now + RESCUE_NS < until)
		until = now + RESCUE_NS;
	if (wf_options.preempt_every != 0 &&
	    now + (int64_t)wf_options.preempt_every < until)
		until = now + (int64_t)wf_options.preempt_every;
	return earliest_deadline(until);
}

static void run(void *arg)
{
	int64_t next_tick = 0;
	uint32_t quiet_ticks = 0;
	int64_t rescuing_until = 0;

	wf_sys(SYS_close_range, 0, ~0U, 2 /* CLOSE_RANGE_UNSHARE */); /* N2 */
	wf_store_relaxed(&monitor_tid, wf_os_gettid());
	for (;;) {
		int64_t now = wf_os_now();

		wf_setxid_follow();
		fire_timers(now);
		if (wf_options.preempt_every != 0)
			preempt_all();
		if (now >= next_tick) {
			bool needed = is_needed();

			wf_count(ticks);
			wf_tick_all(now);
			quiet_ticks = needed ? 0 : quiet_ticks + 1;
			next_tick = now + (needed ? TICK_NS : SLOW_TICK_NS);
		}
		if (wf_rescue_all(now))
			rescuing_until = now + RESCUING_NS;
		if (quiet_ticks >= QUIET_TICKS_BEFORE_SLEEP &&
		    wf_options.preempt_every == 0) {
			sleep_for_good();
			quiet_ticks = 0;
			next_tick = 0;
			continue;
		}
		nap_until(next_look(now, next_tick, now < rescuing_until));
	}
}

int wf_monitor_start(void)
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	char *block = wf_os_reserve(tls + STACK_BYTES);
	uintptr_t tp;
	int tid;

	if (block == NULL)
		return -ENOMEM;
	monitor_self.kind = WF_THREAD_FOREIGN;
	wf_store_relaxed(&monitor_self.in_runtime, 1);
	tp = wf_tcb_minimal_make(block, &monitor_self);
	tid = wf_os_kthread_start(run, NULL, block + tls + STACK_BYTES, tp);
	wf_store_relaxed(&monitor_tid, tid);
	return tid < 0 ? tid : 0;
}

void wf_monitor_fork_child(void)
{
	wf_store_relaxed(&monitor_tid, 0);
}
