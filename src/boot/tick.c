/*
 * Fairness without a clock in the switch (DESIGN section 4).
 *
 * K1. A signal is sent only to a carrier whose CPU clock has advanced by 70 %
 *     of the time since the last look: it computes, and no system call is
 *     disturbed.
 * K2. balance counts what ring B is owed, in 64ths of a tick. Running from I
 *     while B waits adds B's share; running from B while I waits takes the
 *     rest away.
 *
 * Rejected: plain round robin (a thread that sleeps 1 ms among six hogs wakes
 * after 64 ms); virtual run time (a clock read per switch, and no better).
 */
#include "boot/tick.h"

#include "os/clock.h"
#include "sched/carrier.h"
#include "sched/idle.h"
#include "sched/queue.h"
#include "signal/preempt.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	COMPUTING_PERCENT = 70,
	IGNORED_PERCENT = 5,
	SHARE_MIN = WF_BALANCE_TICK / 8, /* of B: 1/8 to 7/8 */
	SHARE_MAX = WF_BALANCE_TICK - SHARE_MIN,
	/* Longer than any tick: the monitor itself was not run. */
	LOST_NS = 50 * 1000 * 1000,
};

/* What the tick knows of one VP. */
struct view {
	struct wf_vp *vp;
	struct wf_thread *t; /* running */
	bool is_full;	     /* charged with a whole tick */
	int32_t waiting_i, waiting_b;
};

static int64_t cpu_of(const struct wf_carrier *c)
{
	return wf_os_thread_cpu(wf_load_relaxed(&c->tid));
}

bool wf_tick_is_computing(struct wf_vp *vp, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t wall = now_ns - w->wall_ns;
	int64_t cpu = cpu_of(vp->carrier) - w->cpu_ns;

	return wf_load_relaxed(&vp->carrier->tid) == w->carrier_tid &&
	       cpu * 100 >= wall * COMPUTING_PERCENT;
}

/*
 * Charges the time since the last look. False if there is nothing to go by:
 * another carrier, a lost tick, or hardly any CPU time used.
 */
static bool charge(struct view *v, int64_t now_ns)
{
	struct wf_vp_watch *w = &v->vp->watch;
	const struct wf_carrier *c = v->vp->carrier;
	int64_t cpu = cpu_of(c), used = cpu - w->cpu_ns;
	uint64_t switches = wf_load_relaxed(&v->vp->counters.switches);
	uint64_t nr_switches = switches - w->switches;
	bool is_same = nr_switches <= 1;
	bool is_known = w->carrier_tid == wf_load_relaxed(&c->tid);

	w->cpu_ns = cpu;
	w->wall_ns = now_ns;
	w->switches = switches;
	w->carrier_tid = wf_load_relaxed(&c->tid);
	w->nr_same = is_same ? w->nr_same + 1 : 0;
	if (!is_known || used < 0 || used > LOST_NS) {
		w->charge_ns = 0;
		return false;
	}
	wf_store_relaxed(&v->vp->runs_long,
			 used > (int64_t)(nr_switches + 1) * 2 *
					 wf_idle_wake_cost());
	w->charge_ns = is_same ? w->charge_ns + used : used;
	v->is_full = w->charge_ns * 100 >= TICK_NS * COMPUTING_PERCENT;
	if (used * 100 < TICK_NS * IGNORED_PERCENT)
		return false;
	if (is_same && v->is_full)
		v->t->hog = true;
	return true;
}

static int32_t clamp(int32_t x, int32_t low, int32_t high)
{
	return x < low ? low : x > high ? high : x;
}

/* K2 */
static int32_t update_balance(const struct view *v)
{
	int32_t from_b = v->t->from_b, from_i = !from_b;
	int32_t all_i = v->waiting_i + from_i;
	int32_t all_b = v->waiting_b + from_b;
	int32_t share = clamp(WF_BALANCE_TICK * all_b / (all_i + all_b),
			      SHARE_MIN, SHARE_MAX);
	int32_t balance = wf_load_relaxed(&v->vp->balance);

	if (from_i)
		balance = v->waiting_b > 0 ? balance + share : 0;
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

/* Should another thread run? Sets turn_b if it should be one of B's. */
static bool decide(const struct view *v, int32_t balance)
{
	bool b_is_owed = balance >= WF_BALANCE_TICK;

	if (!v->t->from_b) {
		if (v->waiting_b > 0 && b_is_owed) {
			wf_store_relaxed(&v->vp->turn_b, true);
			return true;
		}
		return v->t->hog && v->waiting_i + v->waiting_b > 0;
	}
	if (v->waiting_i > 0 && !b_is_owed)
		return true;
	if (v->waiting_b > 0 && b_is_owed)
		wf_store_relaxed(&v->vp->turn_b, true);
	return v->waiting_b > 0;
}

static void preempt(struct wf_vp *vp)
{
	vp->watch.charge_ns = 0;
	wf_preempt_signal(vp->carrier); /* K1 */
}

/* True if the VP makes progress: others may give it work. */
static bool tick_vp(struct wf_vp *vp, int64_t now_ns)
{
	struct view v = { .vp = vp, .t = wf_load_acquire(&vp->cur) };
	int32_t balance;

	if (v.t == NULL) {
		vp->watch.carrier_tid = 0;
		return false;
	}
	v.waiting_i = (int32_t)wf_queue_waiting_i(vp);
	v.waiting_b = (int32_t)wf_queue_waiting_b(vp);
	if (!charge(&v, now_ns))
		return false;
	balance = update_balance(&v);
	if (!decide(&v, balance))
		return true;
	if (v.t->from_b && v.is_full)
		v.t->hog = true;
	wf_store_relaxed(&vp->resched, WF_RESCHED_TICK);
	if (v.is_full)
		preempt(vp);
	return true;
}

void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns)
{
	const struct wf_thread *t = wf_load_acquire(&vp->cur);

	if (t == NULL || (!t->from_b && !t->hog) ||
	    wf_load_relaxed(&vp->balance) >= WF_BALANCE_TICK ||
	    !wf_tick_is_computing(vp, now_ns))
		return;
	wf_store_relaxed(&vp->resched, WF_RESCHED_TICK);
	preempt(vp);
}

/*
 * What has not moved since the last tick is offered to all: a LIFO slot by
 * way of the injection queue, a ring by the surplus word.
 */
static void see_stuck(struct wf_vp *vp)
{
	struct wf_vp_watch *w = &vp->watch;
	uint64_t lifo = wf_load_relaxed(&vp->lifo);
	uint32_t head = wf_runq_head(&vp->ring_i);
	bool is_stuck = head == w->ring_head &&
			wf_queue_waiting_i(vp) + wf_queue_waiting_b(vp) > 0;

	if (lifo != 0 && lifo == w->lifo && head == w->ring_head)
		wf_queue_evict_lifo(vp, lifo);
	if (is_stuck) {
		if (wf_runq_len(&vp->ring_i) > 0)
			wf_store_relaxed(&wf_sched.surplus, 1);
		wf_idle_wake_any();
	}
	w->lifo = lifo;
	w->ring_head = head;
}

void wf_tick_all(int64_t now_ns)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		bool makes_progress = tick_vp(vp, now_ns);

		see_stuck(vp);
		if (makes_progress) {
			wf_queue_balance(vp, (++vp->nr_ticks & 3) == (i & 3));
			if (wf_inject_len(&wf_sched.inject) > 0)
				wf_store_relaxed(&vp->look, 1);
		}
	}
}
