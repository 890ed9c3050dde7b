/* SPDX-License-Identifier: MIT */
/*
 * The monitor is one kernel thread without a VP. It keeps time for busy VPs,
 * preempts their threads, does the load balancing, and takes VPs from carriers
 * that the kernel has put to sleep. It works in rounds: fire timers, tick if a
 * tick is due, check for blocked carriers and pending preemption requests, then
 * sleep until the next of these. When no thread waits it sleeps until a thread
 * wakes it.
 *
 * MONITOR-1. The monitor never calls malloc or the loader, and takes no lock of
 *     the program's: the thread that holds such a lock may wait for the
 *     monitor.
 * MONITOR-2. The monitor has a private descriptor table, since it opens files
 *     in /proc.
 * MONITOR-3. The monitor sleeps without a time-out only when no thread waits. A
 *     thread that makes another thread wait wakes it. The monitor stores
 *     monitor_asleep, passes a membarrier, then checks again. Pushers push,
 *     then load monitor_asleep. While a VP switches all the time the monitor
 *     ticks: such a VP has an empty queue now and then, but would wake the
 *     monitor at once.
 * MONITOR-4. The monitor wakes for the timers of busy VPs. A VP that begins to
 *     run a thread while it has a timer earlier than monitor_until wakes the
 *     monitor.
 * MONITOR-5. Some waits are for words without a doorbell. While there are any,
 *     the monitor checks the words at each tick if no VP has done that, and
 *     stores this in monitor_asleep. If the monitor sleeps otherwise, a thread
 *     that begins such a wait wakes it. When all VPs are idle and no such wait
 *     has begun for a time t, the monitor checks again after t / WATCH_SHARE.
 *     Before it makes sure that none has begun, it announces its sleep as in
 *     MONITOR-3. A VP that gets busy wakes it.
 * MONITOR-6. Most threads that a timer or the kernel wakes run for
 *     microseconds. So a VP that gets busy wakes the monitor only if threads
 *     wait, requests are in flight in the kernel, or the VP has a timer. If the
 *     monitor was woken soon after it had gone to sleep, it ticks until a tick
 *     finds hardly a switch: a tick costs less than the wakes between ticks. If
 *     a timer is far off, the monitor wakes for it though the VP is idle again.
 *     Otherwise each thread that runs until then would wake the monitor.
 * MONITOR-7. Where threads only switch, the monitor ticks less often
 *     (monitor/tick_interval.h). It does not do that if a thread has woken it
 *     since the last tick, or a timer is due before the next.
 */
#include "monitor/monitor.h"

#include <errno.h>
#include <linux/futex.h>

#include "base/options.h"
#include "base/upcall.h"
#include "monitor/clock_watch.h"
#include "monitor/deaths.h"
#include "monitor/handoff.h"
#include "monitor/latency_stats.h"
#include "monitor/preempt_request.h"
#include "monitor/private_table.h"
#include "monitor/tick.h"
#include "monitor/tick_interval.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/service.h"
#include "sched/monitor_time.h"
#include "signal/preempt.h"
#include "sync/shared.h"
#include "wait/timer.h"
#include "wait/word.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	SLOW_TICK_NS = 10 * TICK_NS,
	/* The monitor checks again this soon after a handoff, then at growing
	 * intervals: more threads are likely to block. With one handoff a tick,
	 * 500 blocking threads would stop all other threads for half a
	 * second. */
	HANDOFF_NS = 30 * 1000,
	/* As HANDOFF_NS, while more remote wakeups are likely to come. */
	REMOTE_WAKEUPS_NS = 50 * 1000,
	QUIET_TICKS_BEFORE_SLEEP = 10,
	/* MONITOR-6: a sleep that ended so soon makes the monitor tick. */
	SHORT_SLEEP_NS = TICK_NS / 2,
	SOME_SWITCHES = 2,
	FAR_NS = 100 * TICK_NS,
	/* MONITOR-5: part of the idle time until the next poll of wait words.
	 * A change is noticed late by at most 2 % of the time it took. */
	WATCH_SHARE = 64,
	WATCH_MAX_NS = 16 * TICK_NS,
};

static _Atomic int monitor_tid;
static struct wf_thread monitor_self;

int wf_monitor_tid(void)
{
	return wf_load_relaxed(&monitor_tid);
}

static bool is_busy(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->cur) != NULL;
}

/* True if threads or requests wait, also on VPs between two carriers. */
static bool is_needed(void)
{
	if (wf_realtime_waits(1) || wf_offline_is_pending())
		return true;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];

		if (wf_queue_nr_interactive(vp) + wf_queue_nr_batch(vp) > 0 ||
		    (is_busy(vp) && wf_load_relaxed(&vp->nr_requests) != 0))
			return true;
	}
	return false;
}

/*
 * Returns the earliest timer of busy VPs, and of idle VPs if it is at idle_from
 * or later; at most limit.
 */
static int64_t earliest_deadline(int64_t limit, int64_t idle_from)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];
		int64_t deadline = wf_timers_earliest(vp);

		if (deadline < limit && (deadline >= idle_from || is_busy(vp)))
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
 * The debug option: preempts every carrier that computes, at a high rate. It
 * spares carriers that sleep in a system call, since the signal would end the
 * call.
 */
static void preempt_all(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		int64_t cpu;

		if (!is_busy(vp))
			continue;
		cpu = wf_os_thread_cpu(wf_load_relaxed(&vp->carrier->tid));
		if (cpu - vp->watch.forced_cpu_ns <
			    (int64_t)wf_options.preempt_every / 2 ||
		    !wf_handoff_may_run(vp->carrier))
			continue;
		vp->watch.forced_cpu_ns = cpu;
		wf_preempt_signal(vp->carrier);
	}
}

/*
 * Stores in monitor_until that the monitor sleeps until `limit`, and returns
 * `limit` or the first timer of a busy VP. A VP that gets busy with an earlier
 * timer wakes the monitor (MONITOR-4).
 */
static int64_t announce(int64_t limit)
{
	wf_store_relaxed(&wf_sched.monitor_until, limit);
	return earliest_deadline(limit, WF_OS_FOREVER);
}

/*
 * For how long all VPs have been idle and no wait for a word has begun
 * (MONITOR-5).
 */
struct calm {
	uint64_t nr_waits;
	int64_t since_ns;
};

static bool any_is_busy(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (is_busy(&wf_sched.vps[i]))
			return true;
	}
	return false;
}

static int64_t watch_pause(struct calm *calm, int64_t now)
{
	uint64_t nr_waits = wf_words_nr_waits();
	int64_t pause;

	if (nr_waits != calm->nr_waits || any_is_busy())
		*calm = (struct calm){ nr_waits, now };
	pause = (now - calm->since_ns) / WATCH_SHARE;
	return pause < TICK_NS	    ? TICK_NS :
	       pause < WATCH_MAX_NS ? pause :
				      WATCH_MAX_NS;
}

/*
 * Changes monitor_asleep from awake to asleep. Returns false if a carrier's
 * kernel thread has ended: the monitor has to handle that first.
 */
static bool announce_sleep(void)
{
	uint32_t awake = WF_MONITOR_AWAKE;

	return wf_cas_acq_rel(&wf_sched.monitor_asleep, &awake,
			      WF_MONITOR_ASLEEP);
}

/* Sleeps on a futex that the kernel wakes, too (enum wf_monitor_asleep). */
static int sleep_asleep(uint32_t how, int64_t deadline)
{
	return wf_os_futex_wait_bits(&wf_sched.monitor_asleep, 0, how,
				     FUTEX_BITSET_MATCH_ANY, deadline);
}

/*
 * Announces a sleep in which the monitor checks words. Returns false if it has
 * to announce its sleep anew, or was woken meanwhile.
 */
static bool announce_watch(uint32_t wanted)
{
	uint32_t asleep = WF_MONITOR_ASLEEP;

	if (wf_load_relaxed(&wf_sched.monitor_asleep) == wanted)
		return true;
	return wanted == WF_MONITOR_WATCHING &&
	       wf_cas_acq_rel(&wf_sched.monitor_asleep, &asleep, wanted);
}

/* Sleeps until the deadline, and polls wait words meanwhile. MONITOR-5 */
static void sleep_and_watch(int64_t deadline)
{
	static struct calm calm;

	while (wf_words_watch()) {
		int64_t now = wf_os_now(), pause = watch_pause(&calm, now);
		int64_t until = now + pause < deadline ? now + pause : deadline;
		uint32_t how = pause > TICK_NS ? WF_MONITOR_ASLEEP :
						 WF_MONITOR_WATCHING;

		if (!announce_watch(how) ||
		    sleep_asleep(how, until) != -ETIMEDOUT || until == deadline)
			return;
	}
	sleep_asleep(WF_MONITOR_ASLEEP, deadline);
}

/* Sleeps until the next tick, timer or check, while a thread waits. */
static void nap(int64_t now, int64_t until, uint32_t pokes)
{
	if (wf_options.preempt_every != 0 &&
	    now + (int64_t)wf_options.preempt_every < until)
		until = now + (int64_t)wf_options.preempt_every;
	until = announce(until);
	wf_os_futex_wait(&wf_sched.monitor_poke, pokes, until);
	wf_store_relaxed(&wf_sched.monitor_until, INT64_MIN);
}

/*
 * Sleeps for more than a tick, while all VPs run CPU-bound threads. A thread
 * that makes another one wait wakes the monitor, as in MONITOR-3. This path has
 * no membarrier, so a wake may be missed; that thread waits until the nap ends.
 */
static void nap_quietly(int64_t until, uint32_t pokes)
{
	if (!announce_sleep())
		return;
	wf_fence_seq_cst();
	until = announce(until);
	if (wf_tick_quiet_ns() > 0 &&
	    wf_load_acquire(&wf_sched.monitor_poke) == pokes)
		sleep_asleep(WF_MONITOR_ASLEEP, until);
	wf_idle_rouse_monitor();
	wf_store_relaxed(&wf_sched.monitor_until, INT64_MIN);
}

/* The state of run() from round to round. */
struct rounds {
	int64_t next_tick;
	bool is_watching; /* the last tick checked wait words */
	bool is_planned;  /* plan_tick has run since the last tick */
	/* Times to the next checks, in ns; TICK_NS if nothing is expected. */
	int64_t handoff_nap, remote_wakeups_nap;
	struct wf_tick_interval interval;
	uint32_t quiet_ticks;
	bool is_quiet;	/* until next_tick all VPs run CPU-bound threads */
	bool was_poked; /* a thread woke it since the last tick: MONITOR-7 */
	bool was_woken; /* a thread ended the last sleep */
	bool was_short; /* ... and soon; no tick was calm since */
};

/*
 * Sleeps until a thread waits (MONITOR-3). While a thread computes, the first
 * sleeps have a time-out of SLOW_TICK_NS. Without membarrier pushers may miss
 * that the monitor sleeps, so all its sleeps have that time-out.
 */
static void sleep_until_needed(struct rounds *r, int64_t now, uint32_t pokes)
{
	bool is_for_good = r->quiet_ticks >= QUIET_TICKS_BEFORE_SLEEP ||
			   !any_is_busy();
	int64_t limit = is_for_good ? WF_OS_FOREVER : now + SLOW_TICK_NS;

	if (!announce_sleep()) /* MONITOR-3: then checks again */
		return;
	wf_monitor_time_stop();
	wf_store_relaxed(&wf_sched.monitor_until, limit); /* MONITOR-4 */
	if (wf_os_membarrier() < 0)
		limit = now + SLOW_TICK_NS;
	limit = earliest_deadline(limit, r->was_woken ? now + FAR_NS :
							/* MONITOR-6 */
							WF_OS_FOREVER);
	wf_store_relaxed(&wf_sched.monitor_until, limit);
	r->was_woken = false;
	/* A thread that changes credentials stores the change, then wakes. */
	wf_upcall.setxid();
	if (!is_needed() && wf_load_acquire(&wf_sched.monitor_poke) == pokes) {
		wf_latency_stats_reset();
		sleep_and_watch(limit);
		r->was_woken = wf_load_acquire(&wf_sched.monitor_poke) != pokes;
		r->was_short = r->was_woken &&
			       wf_os_now() - now < SHORT_SLEEP_NS;
	}
	wf_idle_rouse_monitor();
	wf_store_relaxed(&wf_sched.monitor_until, INT64_MIN);
}

/* True if the next tick may come later than in a tick interval. MONITOR-7 */
static bool may_be_calm(const struct rounds *r, int64_t now)
{
	return !r->was_short && !r->was_poked && !r->is_watching &&
	       r->handoff_nap >= TICK_NS && r->remote_wakeups_nap >= TICK_NS &&
	       earliest_deadline(WF_OS_FOREVER, WF_OS_FOREVER) >
		       now + SLOW_TICK_NS;
}

static void tick(struct rounds *r, int64_t now)
{
	bool is_lively, needed;

	wf_tick_interval_update(&r->interval);
	is_lively = r->interval.most >=
		    (r->was_short ? SOME_SWITCHES : WF_TICK_LIVELY);
	needed = is_lively || is_needed();
	wf_count(ticks);
	r->was_short &= is_lively;
	r->is_watching = wf_words_watch(); /* MONITOR-5: polls words */
	wf_tick_all(now);
	r->quiet_ticks = needed ? 0 : r->quiet_ticks + 1;
	r->next_tick =
		now + wf_tick_interval_next(&r->interval, may_be_calm(r, now));
	r->is_planned = false;
	r->is_quiet = false;
	r->was_poked = false;
}

/* Ticks at the end of the first slice, if all VPs run CPU-bound threads. */
static void plan_tick(struct rounds *r, int64_t now)
{
	int64_t quiet_ns = 0;

	if (wf_options.preempt_every == 0 && !r->is_watching)
		quiet_ns = wf_tick_quiet_ns();
	r->is_quiet = quiet_ns > TICK_NS;
	if (r->is_quiet)
		r->next_tick = now + quiet_ns;
	r->is_planned = true;
}

/* Returns the ns to the next check, which grow by half unless has_found. */
static int64_t nap_after(bool has_found, int64_t nap_ns, int64_t least_ns)
{
	if (has_found)
		return least_ns;
	return nap_ns < TICK_NS ? nap_ns + nap_ns / 2 : nap_ns;
}

static int64_t earlier(int64_t next, int64_t now, int64_t nap_ns)
{
	return nap_ns < TICK_NS && now + nap_ns < next ? now + nap_ns : next;
}

/* Returns the time of the next check, which is the next tick or earlier. */
static int64_t hand_off_and_retry(struct rounds *r, int64_t now)
{
	enum wf_remote_wakeups wakeups;
	bool is_asking;
	int64_t next;

	r->handoff_nap =
		nap_after(wf_handoff_all(now, r->handoff_nap < TICK_NS),
			  r->handoff_nap, HANDOFF_NS);
	wakeups = wf_tick_remote_wakeups(now);
	r->remote_wakeups_nap = nap_after(wakeups == WF_REMOTE_WAKEUPS_KEPT,
					  r->remote_wakeups_nap,
					  REMOTE_WAKEUPS_NS);
	is_asking = wf_preempt_request_retry(now);
	/* Do not plan the next tick while preemptions of this tick are
	 * pending. */
	if (!is_asking && !r->is_planned)
		plan_tick(r, now);
	next = earlier(r->next_tick, now, r->handoff_nap);
	next = earlier(next, now, r->remote_wakeups_nap);
	next = earlier(next, now,
		       wakeups == WF_REMOTE_WAKEUPS_PENDING ? WF_LONG_RUN_NS :
							      TICK_NS);
	return earlier(next, now, is_asking ? WF_TICK_RETRY_NS : TICK_NS);
}

static void rest(struct rounds *r, int64_t now, int64_t next, uint32_t pokes)
{
	if (r->is_quiet && next == r->next_tick)
		nap_quietly(next, pokes);
	else
		nap(now, next, pokes);
	r->was_poked |= wf_load_relaxed(&wf_sched.monitor_poke) != pokes;
	/* Woken early: plan a tick soon if the VPs are no longer quiet or
	 * calm. */
	if (r->next_tick > now + TICK_NS &&
	    (r->is_quiet ? wf_tick_quiet_ns() == 0 : r->was_poked)) {
		r->next_tick = now + TICK_NS;
		r->is_quiet = false;
	}
}

static void run(void *arg)
{
	struct rounds r = { .handoff_nap = TICK_NS,
			    .remote_wakeups_nap = TICK_NS };

	wf_os_set_thread_name("weft-monitor");
	wf_private_table_make(); /* MONITOR-2: private descriptors */
	wf_store_relaxed(&monitor_tid, wf_os_gettid());
	/* The monitor's naps are shorter than the kernel's default slack of 50
	 * us. */
	wf_os_set_timer_slack(1);
	wf_shared_answer();
	wf_handoff_init();
	for (;;) {
		uint32_t pokes = wf_load_acquire(&wf_sched.monitor_poke);
		int64_t now = wf_os_now(), next;

		wf_monitor_time_set(now);
		if (WF_UNLIKELY(wf_service_is_dismissed(&monitor_tid))) {
			wf_clock_watch_stop();
			wf_service_end();
		}
		wf_upcall.setxid();
		wf_clock_watch_serve();
		fire_timers(now);
		wf_tick_realtime(now);
		if (wf_options.preempt_every != 0)
			preempt_all();
		if (now >= r.next_tick)
			tick(&r, now);
		next = hand_off_and_retry(&r, now);
		if (wf_deaths_serve(now) || r.quiet_ticks == 0 ||
		    wf_options.preempt_every != 0) {
			rest(&r, now, next, pokes);
			continue;
		}
		sleep_until_needed(&r, now, pokes);
		r.next_tick = 0;
	}
}

int wf_monitor_start(void)
{
	return wf_service_start(run, &monitor_self, &monitor_tid);
}

bool wf_monitor_dismiss(void)
{
	wf_clock_watch_dismiss_begin();
	return wf_service_dismiss(&monitor_tid, wf_idle_wake_monitor) &&
	       wf_clock_watch_dismiss() && wf_private_table_dismiss();
}

void wf_monitor_fork_child(void)
{
	wf_monitor_time_stop();
	wf_store_relaxed(&monitor_tid, 0);
	wf_private_table_fork_child();
	wf_clock_watch_fork_child();
}
