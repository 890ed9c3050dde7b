/* SPDX-License-Identifier: MIT */
/*
 * Fairness without a clock in the switch.
 *
 * TICK-2. batch_deficit counts what the batch run queue is owed, in 64ths of a
 *     tick. A tick of an interactive thread while batch threads wait adds the
 *     batch queue's part; a tick of a batch thread while interactive threads
 *     wait takes the rest away. The deficit stays when the batch queue is
 *     empty: its threads may be on their way to another VP or back, and would
 *     else be owed nothing anywhere. For the same reason a VP with a deficit of
 *     a whole tick keeps them.
 * TICK-3. A batch thread yields to another one after up to four ticks, fewer if
 *     else one would wait for more than 24 ticks: each preemption costs both
 *     threads their caches. A batch thread that yields to an interactive thread
 *     before goes to the head of the batch queue, and on with its slice: else a
 *     sleeper that wakes in step with the slices takes them from always the
 *     same thread.
 * TICK-4. A thread that has had most of a tick without a switch is CPU-bound,
 *     if it is known to make no calls, and belongs in the batch queue. So does
 *     a thread that runs at the end of two busy ticks and has not blocked
 *     between them, though others ran before it: else a thread that comes each
 *     time right behind a sleeper would stay in the interactive queue for ever,
 *     and have half of the VP. Another thread may be a server that finds the
 *     next request each time it asks: it yields when others wait
 *     (PREEMPT_REQUEST-2 in boot/preempt_request.c), and is CPU-bound if it has
 *     not blocked for four such ticks.
 *
 * Rejected: plain round robin (a thread that sleeps 1 ms among six CPU-bound
 * ones wakes after 64 ms); virtual run time (a clock read per switch, and no
 * better).
 */
#include "boot/tick.h"

#include "boot/handoff.h"
#include "boot/latency_stats.h"
#include "boot/mean_burst.h"
#include "boot/preempt_request.h"
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
	FEW_SWITCHES = 8, /* in a tick, TICK-4 */
	IGNORED_PERCENT = 5,
	SLICES_NS = 24 * TICK_NS, /* TICK-3 */
	SLICE_MAX_TICKS = 4,
	PART_MIN = WF_DEFICIT_TICK / 8, /* of the batch queue: 1/8 to 7/8 */
	PART_MAX = WF_DEFICIT_TICK - PART_MIN,
	/* Longer than any tick: the monitor itself was not run. */
	LOST_NS = 50 * 1000 * 1000,
};

/* What the tick knows of one VP. */
struct view {
	struct wf_vp *vp;
	struct wf_thread *t; /* running */
	int64_t passed_ns;   /* since the last check */
	bool is_full;	     /* charged with a whole tick */
	bool is_long;	     /* and t has had most of it: TICK-4 */
	int32_t nr_interactive, nr_batch;
	uint64_t switches; /* at which t was running */
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

/* What t has had of its slice, up to now: at each tick, and when it ends. */
static void charge_slice(struct wf_vp *vp, struct wf_thread *t, int64_t cpu_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t used = cpu_ns - w->slice_cpu_ns;

	/* 0 is who has not begun. Longer: another carrier, or a lost tick. */
	if (!t->from_batch)
		t->slice_us = 0;
	else if (used > 0 && used < LOST_NS)
		t->slice_us += (uint32_t)(used / WF_NS_PER_US) + 1;
	w->slice_cpu_ns = cpu_ns;
}

/* TICK-4 */
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
 * Charges the time since the last check. False if there is nothing to go by:
 * another carrier, a lost tick, or hardly any CPU time used.
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

/* TICK-2 */
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

/* TICK-3 */
static int64_t slice_ns(const struct view *v)
{
	int32_t ticks = clamp(SLICES_NS / TICK_NS / (v->nr_batch + 1), 1,
			      SLICE_MAX_TICKS);

	/* The batch queue has a small part of the ticks then. */
	if (v->nr_interactive > v->nr_batch)
		ticks = 1;
	/* The last tick counts when it is full. */
	return (ticks - 1) * (int64_t)TICK_NS +
	       (int64_t)TICK_NS * FULL_PERCENT / 100;
}

/* Is the thread's slice over, and does another batch thread wait? */
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
	/* The carrier does not get all of it; or else one tick more is due. */
	return quiet_ns + quiet_ns / 32 + TICK_NS / 50;
}

/* Should another thread run? Sets WF_PENDING_BATCH if a batch thread should. */
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

	/* One that sleeps in the kernel loses its VP (boot/handoff.h). */
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
		if (wf_vp_is_offline(&wf_sched.vps[i])) /* OFFLINE-3 */
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

/* True if the VP makes progress: others may give it work. */
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
 * A carrier that sleeps uses no CPU time, but its VP stood still: one tick.
 * Else threads that block in turn would keep the batch queue waiting.
 */
void wf_tick_handed_off(struct wf_vp *vp, struct wf_thread *t)
{
	struct view v = view_of(vp);

	v.t = t;
	if (update_deficit(&v) >= WF_DEFICIT_TICK && v.nr_batch > 0)
		atomic_fetch_or(&vp->pending, WF_PENDING_BATCH);
}

/* Preempts the thread of vp for an interactive one, if it computes. */
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
 * Does the thread compute? It does if it is CPU-bound, or if it has run for
 * WF_LONG_RUN_NS by these checks. Where most threads run for less, the VP
 * notices remote wakeups at its scheduling points; the tick finds the
 * exceptions.
 */
static enum wf_remote_wakeups judge(const struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	bool is_new = w->seen_switches != v->switches;

	/* They stay, or it has been asked; the tick sees to both. */
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
 * Real-time threads and throttling do not count. Their bits stay while
 * real-time threads wait: a thread that is preempted for them would be
 * preempted again and again.
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
