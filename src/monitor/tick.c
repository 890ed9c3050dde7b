/* SPDX-License-Identifier: MIT */
/*
 * The monitor calls wf_tick_all once in each tick interval, usually 1 ms. The
 * tick reads each VP's CPU clock and count of switches. From these it charges
 * the running thread, finds CPU-bound threads, and decides which threads have
 * to yield. So a switch reads no clock, and the scheduler is still fair.
 *
 * TICK-2. batch_deficit is the time that a VP owes its batch run queue, in
 *     64ths of a tick. A tick of an interactive thread while batch threads wait
 *     adds the batch queue's part of a tick. A tick of a batch thread while
 *     interactive threads wait subtracts the rest of the tick. An empty batch
 *     queue does not clear the deficit: its threads may be on their way to
 *     another VP or back, and would lose their claim on both. For the same
 *     reason a VP with a deficit of a whole tick keeps its batch threads.
 * TICK-3. A batch thread yields to another batch thread after up to four ticks,
 *     because each preemption costs both threads their caches. The slice has
 *     fewer ticks if a batch thread would otherwise wait for more than 24
 *     ticks. A batch thread that yields to an interactive thread earlier goes
 *     to the head of the batch queue and keeps the rest of its slice. Otherwise
 *     a sleeper that wakes in step with the slices would always take them from
 *     the same thread.
 * TICK-4. A thread that has run for most of a tick without a switch is
 *     CPU-bound, if it is known to make no calls. It then belongs in the batch
 *     queue. A thread is also CPU-bound if it runs at the end of two busy ticks
 *     and has not blocked between them, though other threads ran before it.
 *     Otherwise a thread that always comes right behind a sleeper would stay in
 *     the interactive queue for ever, and get half of the VP. Other threads may
 *     be servers that find the next request each time they ask. A server yields
 *     when other threads wait (PREEMPT_REQUEST-2 in monitor/preempt_request.c).
 *     It is CPU-bound if it has not blocked for four such ticks.
 *
 * Rejected: plain round robin. A thread that sleeps 1 ms among six CPU-bound
 * threads wakes after 64 ms. Rejected: virtual run time. It reads a clock at
 * each switch, and is no better.
 */
#include "monitor/tick.h"

#include "monitor/handoff.h"
#include "monitor/latency_stats.h"
#include "monitor/mean_burst.h"
#include "monitor/preempt_request.h"
#include "os/clock.h"
#include "sched/idle.h"
#include "sched/load_balance.h"
#include "sched/offline.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/throttle.h"
#include "sched/vp_io.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	FULL_PERCENT = 70,
	/* with more switches in a tick no thread has run long: TICK-4 */
	FEW_SWITCHES = 8,
	IGNORED_PERCENT = 5,
	/* time for one slice of each batch thread: TICK-3 */
	SLICES_NS = 24 * TICK_NS,
	SLICE_MAX_TICKS = 4,
	/* the batch queue's part of a tick is 1/8 to 7/8 */
	PART_MIN = WF_DEFICIT_TICK / 8,
	PART_MAX = WF_DEFICIT_TICK - PART_MIN,
	/* A longer time between two ticks means that the monitor itself had no
	 * CPU. No tick interval is as long. */
	LOST_NS = 50 * 1000 * 1000,
};

/* The state of one VP, as the tick finds it. */
struct view {
	struct wf_vp *vp;
	struct wf_thread *t; /* the thread that runs */
	int64_t passed_ns;   /* ns since the last check */
	bool is_full;	     /* t is charged with a whole tick */
	bool is_long;	     /* ... and has run for most of it: TICK-4 */
	int32_t nr_interactive, nr_batch;
	uint64_t switches; /* count of switches when t was read */
};

static struct view view_of(struct wf_vp *vp)
{
	struct view v = {
		.vp = vp,
		.t = wf_load_acquire(&vp->cur),
		.switches = wf_load_relaxed(&vp->counters.switches),
		.nr_interactive = (int32_t)wf_queue_nr_interactive(vp),
		.nr_batch = (int32_t)wf_queue_nr_batch(vp),
	};

	return v;
}

/*
 * Adds the CPU time since the last call to the slice of t. Called at each tick
 * and when the slice ends.
 */
static void charge_slice(struct wf_vp *vp, struct wf_thread *t, int64_t cpu_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t used = cpu_ns - w->slice_cpu_ns;

	/* slice_us is 0 until the thread is taken from the batch queue. A
	 * time over LOST_NS means another carrier or a lost tick. */
	if (!t->from_batch)
		t->slice_us = 0;
	else if (used > 0 && used < LOST_NS)
		t->slice_us += (uint32_t)(used / WF_NS_PER_US) + 1;
	w->slice_cpu_ns = cpu_ns;
}

/*
 * True if t has run long in this tick. If it did so in enough ticks, marks it
 * as CPU-bound. TICK-4
 */
static bool has_run_long(struct wf_thread *t, uint64_t nr_switches)
{
	bool is_known = wf_thread_was_uncooperative(t);
	uint32_t nr_before;

	if (nr_switches > FEW_SWITCHES)
		return false;
	nr_before = wf_thread_note_candidate(t);
	if (nr_before >= (is_known ? 1 : WF_CPU_BOUND_MOST) ||
	    (is_known && nr_switches <= 1))
		wf_thread_set_cpu_bound(t);
	return nr_before > 0 || nr_switches <= 1;
}

/*
 * Charges the VP for the time since the last check. Returns false if the
 * figures say nothing: the VP has another carrier, a tick was lost, or the
 * thread has used hardly any CPU time.
 */
static bool charge(struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	const struct wf_carrier *c = v->vp->carrier;
	int64_t cpu = wf_preempt_request_cpu_of(c);
	int64_t polled_ns = wf_load_relaxed(&v->vp->polled_ns);
	int64_t used = cpu - w->cpu_ns - (polled_ns - w->polled_ns);
	uint64_t nr_switches = v->switches - w->switches;
	bool is_same = nr_switches <= 1;
	bool is_known = w->carrier_tid == wf_load_relaxed(&c->tid);

	charge_slice(v->vp, v->t, cpu);
	v->passed_ns = now_ns - w->wall_ns < LOST_NS ? now_ns - w->wall_ns :
						       TICK_NS;
	w->cpu_ns = cpu;
	w->polled_ns = polled_ns;
	w->wall_ns = now_ns;
	w->switches = v->switches;
	if (is_known && used > 0)
		w->vp_ns += used;
	w->carrier_tid = wf_load_relaxed(&c->tid);
	w->nr_same = is_same ? w->nr_same + 1 : 0;
	if (!is_known || used < 0 || used > LOST_NS) {
		w->charge_ns = 0;
		wf_mean_burst_update(v->vp, now_ns, -1);
		return false;
	}
	wf_mean_burst_update(v->vp, now_ns, used);
	w->charge_ns = is_same ? w->charge_ns + used : used;
	v->is_full = w->charge_ns * 100 >= TICK_NS * FULL_PERCENT;
	if (used * 100 < TICK_NS * IGNORED_PERCENT)
		return false;
	v->is_long = v->is_full && v->t->rt_priority == 0 &&
		     has_run_long(v->t, nr_switches);
	return true;
}

static int32_t clamp(int32_t x, int32_t low, int32_t high)
{
	return x < low ? low : x > high ? high : x;
}

/* Updates and returns the VP's batch deficit. TICK-2 */
static int32_t update_deficit(const struct view *v)
{
	int32_t from_batch = v->t->from_batch, from_interactive = !from_batch;
	int32_t all_interactive = v->nr_interactive + from_interactive;
	int32_t all_batch = v->nr_batch + from_batch;
	int32_t part = clamp(WF_DEFICIT_TICK * all_batch /
				     (all_interactive + all_batch),
			     PART_MIN, PART_MAX);
	int32_t batch_deficit = wf_load_relaxed(&v->vp->batch_deficit);

	if (from_interactive && v->nr_batch > 0)
		batch_deficit += part;
	else if (from_interactive)
		batch_deficit = batch_deficit > 0 ? batch_deficit : 0;
	else if (v->nr_interactive > 0)
		batch_deficit -= WF_DEFICIT_TICK - part;
	else
		batch_deficit = batch_deficit > WF_DEFICIT_TICK ?
					batch_deficit - WF_DEFICIT_TICK :
					0;
	batch_deficit = clamp(batch_deficit, -WF_DEFICIT_TICK, WF_DEFICIT_TICK);
	wf_store_relaxed(&v->vp->batch_deficit, batch_deficit);
	return batch_deficit;
}

/* Returns how long the slice of the VP's thread is. TICK-3 */
static int64_t slice_ns(const struct view *v)
{
	int32_t ticks = clamp(SLICES_NS / TICK_NS / (v->nr_batch + 1), 1,
			      SLICE_MAX_TICKS);

	/*
	 * With more interactive than batch threads the batch queue gets few
	 * ticks. So a slice is one tick: other batch threads would wait long.
	 */
	if (v->nr_interactive > v->nr_batch)
		ticks = 1;
	/* The last tick of a slice counts when FULL_PERCENT of it is used. */
	return (ticks - 1) * (int64_t)TICK_NS +
	       (int64_t)TICK_NS * FULL_PERCENT / 100;
}

/* True if the thread's slice is over and another batch thread waits. */
static bool is_slice_over(const struct view *v)
{
	return v->nr_batch > 0 && v->t->slice_us * WF_NS_PER_US >= slice_ns(v);
}

int64_t wf_tick_quiet_ns(void)
{
	int64_t quiet_ns = INT64_MAX;

	if (wf_idle_is_any() || wf_realtime_waits(1) || wf_offline_is_pending())
		return 0;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		const struct view v = view_of(vp);
		int64_t left;

		if (v.nr_interactive > 0 || (v.t == NULL && v.nr_batch > 0) ||
		    (v.t != NULL && (!wf_thread_is_cpu_bound(v.t) ||
				     wf_load_relaxed(&vp->nr_requests) != 0)))
			return 0;
		if (v.t == NULL || v.nr_batch == 0)
			continue;
		left = slice_ns(&v) - v.t->slice_us * WF_NS_PER_US;
		quiet_ns = left < quiet_ns ? left : quiet_ns;
	}
	if (quiet_ns == INT64_MAX || quiet_ns < 0)
		return 0;
	/* Adds a margin, since the carrier gets less than the whole time.
	 * Without it the slice would end just after the tick, and need another
	 * tick. */
	return quiet_ns + quiet_ns / 32 + TICK_NS / 50;
}

/*
 * Decides whether another thread should run. Sets WF_PENDING_BATCH if that
 * should be a batch thread.
 */
static enum wf_resched decide(const struct view *v, int32_t batch_deficit)
{
	bool batch_is_owed = batch_deficit >= WF_DEFICIT_TICK;

	if (!v->t->from_batch) {
		if (v->nr_batch > 0 && batch_is_owed) {
			atomic_fetch_or(&v->vp->pending, WF_PENDING_BATCH);
			return WF_RESCHED_SLICE;
		}
		return (v->is_long || wf_thread_is_cpu_bound(v->t)) &&
				       v->nr_interactive + v->nr_batch > 0 ?
			       WF_RESCHED_SLICE :
			       WF_RESCHED_NONE;
	}
	if (v->nr_interactive > 0 && !batch_is_owed)
		return is_slice_over(v) ? WF_RESCHED_SLICE : WF_RESCHED_TICK;
	if (!is_slice_over(v))
		return WF_RESCHED_NONE;
	if (batch_is_owed)
		atomic_fetch_or(&v->vp->pending, WF_PENDING_BATCH);
	return WF_RESCHED_SLICE;
}

static void preempt_for_realtime(struct wf_vp *vp, int64_t now_ns)
{
	const struct view v = view_of(vp);

	/* A carrier that sleeps in the kernel loses its VP anyway
	 * (handoff.h). */
	if (v.t == NULL || wf_vp_asked(vp) == WF_RESCHED_REALTIME ||
	    !wf_handoff_is_runnable(vp->carrier))
		return;
	wf_preempt_request(vp, v.t, v.switches, WF_RESCHED_REALTIME, now_ns);
}

void wf_tick_realtime(int64_t now_ns)
{
	struct wf_vp *victim = wf_realtime_victim();

	if (victim != NULL)
		preempt_for_realtime(victim, now_ns);
	if (!wf_offline_is_pending())
		return;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		/* OFFLINE-3: its thread has to leave */
		if (wf_vp_is_offline(&wf_sched.vps[i]))
			preempt_for_realtime(&wf_sched.vps[i], now_ns);
	}
}

static enum wf_resched decide_realtime(const struct view *v)
{
	return wf_throttle_is_on(v->vp) ? WF_RESCHED_TICK :
					  wf_realtime_at_tick(v->vp, v->t);
}

static void charge_throttle(const struct view *v, bool is_realtime)
{
	if (!is_realtime)
		wf_throttle_others_ran(v->vp, v->passed_ns);
	else if (v->nr_interactive + v->nr_batch > 0)
		wf_throttle_realtime_ran(v->vp, v->passed_ns);
}

/*
 * Ticks one VP. Returns true if it makes progress, so that other VPs may give
 * it work.
 */
static bool tick_vp(struct wf_vp *vp, int64_t now_ns)
{
	struct view v = view_of(vp);
	enum wf_resched why;
	bool is_realtime, is_charged;

	if (v.t == NULL || wf_vp_is_offline(vp)) {
		vp->watch.carrier_tid = 0;
		wf_mean_burst_update(vp, now_ns, -1);
		return false;
	}
	is_realtime = v.t->rt_priority != 0;
	is_charged = charge(&v, now_ns);
	if (is_charged || is_realtime)
		charge_throttle(&v, is_realtime);
	if (!is_charged)
		return false;
	why = is_realtime ? decide_realtime(&v) :
			    decide(&v, update_deficit(&v));
	if (why == WF_RESCHED_NONE || !v.is_full ||
	    !wf_handoff_may_run(vp->carrier))
		return true;
	if (v.t->from_batch)
		wf_thread_set_cpu_bound(v.t);
	wf_preempt_request(vp, v.t, v.switches, why, now_ns);
	return true;
}

/*
 * Charges vp with one tick. Its carrier slept and used no CPU time, but the VP
 * stood still. Without the charge threads that block in turn would keep the
 * batch queue waiting.
 */
void wf_tick_handed_off(struct wf_vp *vp, struct wf_thread *t)
{
	struct view v = view_of(vp);

	v.t = t;
	if (update_deficit(&v) >= WF_DEFICIT_TICK && v.nr_batch > 0)
		atomic_fetch_or(&vp->pending, WF_PENDING_BATCH);
}

/* Preempts the VP's thread for an interactive thread, if it computes. */
static void preempt_for_interactive(const struct view *v, int64_t now_ns)
{
	struct wf_vp *vp = v->vp;
	const struct wf_vp_watch *w = &vp->watch;
	const struct wf_carrier *c = vp->carrier;
	int64_t cpu;

	if (wf_load_relaxed(&vp->batch_deficit) >= WF_DEFICIT_TICK ||
	    wf_load_relaxed(&c->tid) != w->carrier_tid)
		return;
	cpu = wf_preempt_request_cpu_of(c);
	if (!wf_preempt_request_is_computing(c, cpu - w->cpu_ns,
					     now_ns - w->wall_ns))
		return;
	charge_slice(vp, v->t, cpu);
	wf_preempt_request(
		vp, v->t, v->switches,
		is_slice_over(v) ? WF_RESCHED_SLICE : WF_RESCHED_TICK, now_ns);
}

void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns)
{
	const struct view v = view_of(vp);

	if (v.t != NULL && (v.t->from_batch || wf_thread_is_cpu_bound(v.t)))
		preempt_for_interactive(&v, now_ns);
}

/*
 * Decides what to do about remote wakeups of a VP. Its thread is preempted if
 * it is CPU-bound, or if it has run for WF_LONG_RUN_NS by these checks. Where
 * most threads run for less, the VP notices remote wakeups at its scheduling
 * points, and the tick finds the exceptions.
 */
static enum wf_remote_wakeups judge(const struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	bool is_new = w->seen_switches != v->switches;

	/* The woken threads have to wait, or the thread was already asked to
	 * yield: the tick handles both. */
	if (wf_load_relaxed(&v->vp->batch_deficit) >= WF_DEFICIT_TICK ||
	    wf_vp_asked(v->vp) != WF_RESCHED_NONE)
		return WF_REMOTE_WAKEUPS_NONE;
	if (wf_thread_is_cpu_bound(v->t))
		return WF_REMOTE_WAKEUPS_KEPT;
	if (wf_load_relaxed(&v->vp->starvation_bound) >
	    WF_STARVATION_NS / WF_LONG_RUN_NS)
		return WF_REMOTE_WAKEUPS_NONE;
	if (is_new) {
		w->seen_switches = v->switches;
		w->seen_ns = now_ns;
	}
	return now_ns - w->seen_ns >= WF_LONG_RUN_NS ?
		       WF_REMOTE_WAKEUPS_KEPT :
		       WF_REMOTE_WAKEUPS_PENDING;
}

/*
 * True if vp has remote wakeups to notice. The bits for real-time threads and
 * for throttling do not count. They stay set while real-time threads wait, and
 * would preempt each thread again at once.
 */
static bool has_remote_wakeups(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_REMOTE) != 0 ||
	       wf_vp_io_has_done(vp);
}

enum wf_remote_wakeups wf_tick_remote_wakeups(int64_t now_ns)
{
	enum wf_remote_wakeups most = WF_REMOTE_WAKEUPS_NONE;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		const struct view v = view_of(vp);
		enum wf_remote_wakeups one;

		if (v.t == NULL || !has_remote_wakeups(vp))
			continue;
		one = judge(&v, now_ns);
		if (one == WF_REMOTE_WAKEUPS_KEPT)
			preempt_for_interactive(&v, now_ns);
		most = one > most ? one : most;
	}
	return most;
}

void wf_tick_all(int64_t now_ns)
{
	wf_idle_check_poller();
	wf_latency_stats_update_injected();
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		bool makes_progress = tick_vp(vp, now_ns);

		wf_latency_stats_update(vp);
		wf_load_balance_check_stuck(vp);
		if (makes_progress) {
			wf_load_balance_vp(vp, (++vp->nr_ticks & 3) == (i & 3));
			if (wf_inject_len(&wf_sched.inject) > 0)
				atomic_fetch_or(&vp->pending,
						WF_PENDING_REMOTE);
		}
	}
}
