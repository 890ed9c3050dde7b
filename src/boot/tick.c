/*
 * Fairness without a clock in the switch.
 *
 * TICK-2. balance counts what ring B is owed, in 64ths of a tick. Running from
 *     I while B waits adds B's share; running from B while I waits takes the
 *     rest away. What is owed stays when B is empty: its threads may be on
 *     their way to another VP or back, and would else be owed nothing
 *     anywhere. For the same reason a VP that owes a whole tick keeps them.
 * TICK-3. A thread of B's gives way to another of B's after up to four ticks,
 *     but so that nobody waits for more than 24 ticks if it can be helped: each
 *     preemption costs both of them their caches. Who gives way to one of I's
 *     before goes to B's head, and on with its slice: else a sleeper that wakes
 *     in step with the slices takes them from always the same.
 * TICK-4. Who has had most of a tick without a switch computes, if it is known
 *     to make no calls, and its place is in ring B. So does who is found
 *     running at the end of two busy ticks between which it has not blocked,
 *     though others ran before it: one that comes each time right behind a
 *     sleeper would else stay in ring I for ever, and have half of the VP.
 *     Another may be a server whose clients answer at once, which finds the
 *     next request each time it asks: it gives way when others wait (STOP-2 in
 *     boot/stop.c), and computes for sure if it has not blocked for four such
 *     ticks.
 *
 * Rejected: plain round robin (a thread that sleeps 1 ms among six hogs wakes
 * after 64 ms); virtual run time (a clock read per switch, and no better).
 */
#include "boot/tick.h"

#include "boot/longest.h"
#include "boot/rescue.h"
#include "boot/run_length.h"
#include "boot/stop.h"
#include "os/clock.h"
#include "sched/balance.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/share.h"
#include "sched/vp_io.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	FULL_PERCENT = 70,
	FEW_SWITCHES = 8, /* in a tick, TICK-4 */
	IGNORED_PERCENT = 5,
	SLICES_NS = 24 * TICK_NS, /* TICK-3 */
	SLICE_MAX_TICKS = 4,
	SHARE_MIN = WF_BALANCE_TICK / 8, /* of B: 1/8 to 7/8 */
	SHARE_MAX = WF_BALANCE_TICK - SHARE_MIN,
	/* Longer than any tick: the monitor itself was not run. */
	LOST_NS = 50 * 1000 * 1000,
};

/* What the tick knows of one VP. */
struct view {
	struct wf_vp *vp;
	struct wf_thread *t; /* running */
	int64_t passed_ns;   /* since the last look */
	bool is_full;	     /* charged with a whole tick */
	bool is_long;	     /* and t has had most of it: TICK-4 */
	int32_t waiting_i, waiting_b;
	uint64_t switches; /* at which t was running */
};

static struct view view_of(struct wf_vp *vp)
{
	struct view v = {
		.vp = vp,
		.t = wf_load_acquire(&vp->cur),
		.switches = wf_load_relaxed(&vp->counters.switches),
		.waiting_i = (int32_t)wf_queue_waiting_i(vp),
		.waiting_b = (int32_t)wf_queue_waiting_b(vp),
	};

	return v;
}

/* What t has had of its slice, up to now: at each tick, and when it ends. */
static void charge_slice(struct wf_vp *vp, struct wf_thread *t, int64_t cpu_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t used = cpu_ns - w->slice_cpu_ns;

	/* 0 is who has not begun. Longer: another carrier, or a lost tick. */
	if (!t->from_b)
		t->slice_us = 0;
	else if (used > 0 && used < LOST_NS)
		t->slice_us += (uint32_t)(used / WF_NS_PER_US) + 1;
	w->slice_cpu_ns = cpu_ns;
}

/* TICK-4 */
static bool has_run_long(struct wf_thread *t, uint64_t nr_switches)
{
	bool is_known = wf_thread_was_deaf(t);
	uint32_t nr_before;

	if (nr_switches > FEW_SWITCHES)
		return false;
	nr_before = wf_thread_suspect(t);
	if (nr_before >= (is_known ? 1 : WF_HOG_MOST) ||
	    (is_known && nr_switches <= 1))
		wf_thread_set_hog(t);
	return nr_before > 0 || nr_switches <= 1;
}

/*
 * Charges the time since the last look. False if there is nothing to go by:
 * another carrier, a lost tick, or hardly any CPU time used.
 */
static bool charge(struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	const struct wf_carrier *c = v->vp->carrier;
	int64_t cpu = wf_stop_cpu_of(c);
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
		wf_run_length_see(v->vp, now_ns, -1);
		return false;
	}
	wf_run_length_see(v->vp, now_ns, used);
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
static int32_t update_balance(const struct view *v)
{
	int32_t from_b = v->t->from_b, from_i = !from_b;
	int32_t all_i = v->waiting_i + from_i;
	int32_t all_b = v->waiting_b + from_b;
	int32_t share = clamp(WF_BALANCE_TICK * all_b / (all_i + all_b),
			      SHARE_MIN, SHARE_MAX);
	int32_t balance = wf_load_relaxed(&v->vp->balance);

	if (from_i && v->waiting_b > 0)
		balance += share;
	else if (from_i)
		balance = balance > 0 ? balance : 0;
	else if (v->waiting_i > 0)
		balance -= WF_BALANCE_TICK - share;
	else
		balance = balance > WF_BALANCE_TICK ?
				  balance - WF_BALANCE_TICK :
				  0;
	balance = clamp(balance, -WF_BALANCE_TICK, WF_BALANCE_TICK);
	wf_store_relaxed(&v->vp->balance, balance);
	return balance;
}

/* TICK-3 */
static int64_t slice_ns(const struct view *v)
{
	int32_t ticks = clamp(SLICES_NS / TICK_NS / (v->waiting_b + 1), 1,
			      SLICE_MAX_TICKS);

	/* B has a small part of the ticks then. */
	if (v->waiting_i > v->waiting_b)
		ticks = 1;
	/* The last tick counts when it is full. */
	return (ticks - 1) * (int64_t)TICK_NS +
	       (int64_t)TICK_NS * FULL_PERCENT / 100;
}

/* Has the thread had its slice, and does another of B's wait for it? */
static bool is_slice_over(const struct view *v)
{
	return v->waiting_b > 0 && v->t->slice_us * WF_NS_PER_US >= slice_ns(v);
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

		if (v.waiting_i > 0 || (v.t == NULL && v.waiting_b > 0) ||
		    (v.t != NULL && (!wf_thread_is_hog(v.t) ||
				     wf_load_relaxed(&vp->nr_requests) != 0)))
			return 0;
		if (v.t == NULL || v.waiting_b == 0)
			continue;
		left = slice_ns(&v) - v.t->slice_us * WF_NS_PER_US;
		quiet_ns = left < quiet_ns ? left : quiet_ns;
	}
	if (quiet_ns == INT64_MAX || quiet_ns < 0)
		return 0;
	/* The carrier does not get all of it; or else one tick more is due. */
	return quiet_ns + quiet_ns / 32 + TICK_NS / 50;
}

/* Should another thread run? Sets WF_LOOK_TURN_B if it should be one of B's. */
static enum wf_resched decide(const struct view *v, int32_t balance)
{
	bool b_is_owed = balance >= WF_BALANCE_TICK;

	if (!v->t->from_b) {
		if (v->waiting_b > 0 && b_is_owed) {
			atomic_fetch_or(&v->vp->look, WF_LOOK_TURN_B);
			return WF_RESCHED_SLICE;
		}
		return (v->is_long || wf_thread_is_hog(v->t)) &&
				       v->waiting_i + v->waiting_b > 0 ?
			       WF_RESCHED_SLICE :
			       WF_RESCHED_NONE;
	}
	if (v->waiting_i > 0 && !b_is_owed)
		return is_slice_over(v) ? WF_RESCHED_SLICE : WF_RESCHED_TICK;
	if (!is_slice_over(v))
		return WF_RESCHED_NONE;
	if (b_is_owed)
		atomic_fetch_or(&v->vp->look, WF_LOOK_TURN_B);
	return WF_RESCHED_SLICE;
}

static void stop_for_realtime(struct wf_vp *vp, int64_t now_ns)
{
	const struct view v = view_of(vp);

	/* One that sleeps in the kernel loses its VP (boot/rescue.h). */
	if (v.t == NULL || wf_vp_asked(vp) == WF_RESCHED_REALTIME ||
	    !wf_rescue_is_runnable(vp->carrier))
		return;
	wf_stop(vp, v.t, v.switches, WF_RESCHED_REALTIME, now_ns);
}

void wf_tick_realtime(int64_t now_ns)
{
	struct wf_vp *victim = wf_realtime_victim();

	if (victim != NULL)
		stop_for_realtime(victim, now_ns);
	if (!wf_offline_is_pending())
		return;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (wf_vp_is_offline(&wf_sched.vps[i])) /* OFFLINE-3 */
			stop_for_realtime(&wf_sched.vps[i], now_ns);
	}
}

static enum wf_resched decide_realtime(const struct view *v)
{
	return wf_share_is_on(v->vp) ? WF_RESCHED_TICK :
				       wf_realtime_at_tick(v->vp, v->t);
}

static void charge_share(const struct view *v, bool is_realtime)
{
	if (!is_realtime)
		wf_share_used(v->vp, v->passed_ns);
	else if (v->waiting_i + v->waiting_b > 0)
		wf_share_missed(v->vp, v->passed_ns);
}

/* True if the VP makes progress: others may give it work. */
static bool tick_vp(struct wf_vp *vp, int64_t now_ns)
{
	struct view v = view_of(vp);
	enum wf_resched why;
	bool is_realtime, is_charged;

	if (v.t == NULL || wf_vp_is_offline(vp)) {
		vp->watch.carrier_tid = 0;
		wf_run_length_see(vp, now_ns, -1);
		return false;
	}
	is_realtime = v.t->rt_priority != 0;
	is_charged = charge(&v, now_ns);
	if (is_charged || is_realtime)
		charge_share(&v, is_realtime);
	if (!is_charged)
		return false;
	why = is_realtime ? decide_realtime(&v) :
			    decide(&v, update_balance(&v));
	if (why == WF_RESCHED_NONE || !v.is_full ||
	    !wf_rescue_may_run(vp->carrier))
		return true;
	if (v.t->from_b)
		wf_thread_set_hog(v.t);
	wf_stop(vp, v.t, v.switches, why, now_ns);
	return true;
}

/*
 * A carrier that sleeps uses no CPU time, but its VP stood still: one tick.
 * Else threads that block in turn would keep all of ring B waiting.
 */
void wf_tick_rescued(struct wf_vp *vp, struct wf_thread *t)
{
	struct view v = view_of(vp);

	v.t = t;
	if (update_balance(&v) >= WF_BALANCE_TICK && v.waiting_b > 0)
		atomic_fetch_or(&vp->look, WF_LOOK_TURN_B);
}

/* The thread that runs on vp gives way to one of I's if it computes. */
static void give_way(const struct view *v, int64_t now_ns)
{
	struct wf_vp *vp = v->vp;
	const struct wf_vp_watch *w = &vp->watch;
	const struct wf_carrier *c = vp->carrier;
	int64_t cpu;

	if (wf_load_relaxed(&vp->balance) >= WF_BALANCE_TICK ||
	    wf_load_relaxed(&c->tid) != w->carrier_tid)
		return;
	cpu = wf_stop_cpu_of(c);
	if (!wf_stop_is_computing(c, cpu - w->cpu_ns, now_ns - w->wall_ns))
		return;
	charge_slice(vp, v->t, cpu);
	wf_stop(vp, v->t, v->switches,
		is_slice_over(v) ? WF_RESCHED_SLICE : WF_RESCHED_TICK, now_ns);
}

void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns)
{
	const struct view v = view_of(vp);

	if (v.t != NULL && (v.t->from_b || wf_thread_is_hog(v.t)))
		give_way(&v, now_ns);
}

/*
 * Does it compute? Known for sure, or after it has run from look to look for
 * WF_LONG_RUN_NS. Where most run for less, arrivals are seen at their
 * scheduling points; of another the tick will tell soon enough.
 */
static enum wf_arrivals judge(const struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	bool is_new = w->seen_switches != v->switches;

	/* They stay, or it has been asked; the tick sees to both. */
	if (wf_load_relaxed(&v->vp->balance) >= WF_BALANCE_TICK ||
	    wf_vp_asked(v->vp) != WF_RESCHED_NONE)
		return WF_ARRIVALS_NONE;
	if (wf_thread_is_hog(v->t))
		return WF_ARRIVALS_KEPT;
	if (wf_load_relaxed(&v->vp->patience) > WF_PATIENCE_NS / WF_LONG_RUN_NS)
		return WF_ARRIVALS_NONE;
	if (is_new) {
		w->seen_switches = v->switches;
		w->seen_ns = now_ns;
	}
	return now_ns - w->seen_ns >= WF_LONG_RUN_NS ? WF_ARRIVALS_KEPT :
						       WF_ARRIVALS_SEEN;
}

/*
 * Not real-time threads, which are seen to at once and whose bit stays while
 * they wait for one like them, nor others' share: who were asked for the sake
 * of these would be asked again and again.
 */
static bool has_arrivals(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->look) & WF_LOOK_GIFTS) != 0 ||
	       wf_vp_io_has_done(vp);
}

enum wf_arrivals wf_tick_arrivals(int64_t now_ns)
{
	enum wf_arrivals most = WF_ARRIVALS_NONE;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		const struct view v = view_of(vp);
		enum wf_arrivals one;

		if (v.t == NULL || !has_arrivals(vp))
			continue;
		one = judge(&v, now_ns);
		if (one == WF_ARRIVALS_KEPT)
			give_way(&v, now_ns);
		most = one > most ? one : most;
	}
	return most;
}

void wf_tick_all(int64_t now_ns)
{
	wf_idle_see_poller();
	wf_longest_see_injected();
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		bool makes_progress = tick_vp(vp, now_ns);

		wf_longest_see(vp);
		wf_balance_see_stuck(vp);
		if (makes_progress) {
			wf_balance_vp(vp, (++vp->nr_ticks & 3) == (i & 3));
			if (wf_inject_len(&wf_sched.inject) > 0)
				atomic_fetch_or(&vp->look, WF_LOOK_GIFTS);
		}
	}
}
