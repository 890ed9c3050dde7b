/* SPDX-License-Identifier: MIT */
/*
 * The tick decides that a thread has to yield; this file makes it yield. It
 * first sets a flag that the thread checks at its next call of weft. If the
 * thread computes on and makes no call, the monitor signals its carrier, and
 * the handler preempts the thread (signal/preempt.c). The monitor repeats the
 * signal while the handler refuses.
 *
 * PREEMPT_REQUEST-1. A signal is sent only to a carrier that computes: it has
 *     used CPU time since the last check, and the kernel says that it could
 *     run. A carrier that computed until it went to sleep in a system call gets
 *     no signal, since some calls would fail with EINTR. Without /proc the
 *     carrier has to have used most of that time.
 * PREEMPT_REQUEST-2. A thread that has run for long without a switch need not
 *     be CPU-bound: a server finds the next request each time it asks if its
 *     clients answer at once. So such a thread gets a cooperative preemption
 *     request, which it checks at its next call. It is signalled only if it has
 *     used CPU time since and made no call. Then it is uncooperative, and
 *     signalled at once from then on, until it has made calls between
 *     preemptions three times. If the last thread with a request has yielded,
 *     the next one has a whole tick to make a call.
 *
 * Rejected: signals for all threads, and the batch run queue at once. A server
 * of 16 busy connections served a quarter fewer requests. Rejected: to classify
 * only uncooperative threads as CPU-bound. Each other thread that never blocks
 * then kept a woken thread waiting for one turn.
 */
#include "monitor/preempt_request.h"

#include "monitor/handoff.h"
#include "monitor/tick.h"
#include "os/clock.h"
#include "signal/preempt.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	COMPUTING_PERCENT = 70,
	/* The least CPU time of a carrier that computes: longer than most
	 * system calls, shorter than a delay that a user notices. */
	COMPUTING_MIN_NS = 20 * 1000,
};

int64_t wf_preempt_request_cpu_of(const struct wf_carrier *c)
{
	return wf_os_thread_cpu(wf_load_relaxed(&c->tid));
}

/*
 * True if c computes, so that a signal cuts no system call short.
 * PREEMPT_REQUEST-1
 */
bool wf_preempt_request_is_computing(const struct wf_carrier *c, int64_t cpu_ns,
				     int64_t wall_ns)
{
	if (cpu_ns * 100 >= wall_ns * COMPUTING_PERCENT)
		return wf_handoff_may_run(c);
	/* A small part of the time may be enough: other processes may have the
	 * CPU. */
	return cpu_ns >= COMPUTING_MIN_NS && wf_handoff_is_runnable(c);
}

/*
 * Signals vp's carrier (PREEMPT_REQUEST-1). cpu_ns is the carrier's CPU time
 * now.
 */
static void send_signal(struct wf_vp *vp, int64_t now_ns, int64_t cpu_ns)
{
	struct wf_vp_watch *w = &vp->watch;

	w->asked_ns = now_ns;
	w->asked_cpu_ns = cpu_ns;
	wf_store_relaxed(&vp->carrier->insist,
			 wf_load_relaxed(&vp->carrier->has_refused) &&
				 now_ns - w->first_asked_ns >= TICK_NS / 2);
	wf_preempt_signal(vp->carrier);
}

/* PREEMPT_REQUEST-2: true if t has a request and has made no call since. */
static bool goes_on(const struct wf_vp_watch *w, const struct wf_thread *t)
{
	return t != NULL && w->requested == t &&
	       (wf_load_relaxed(&t->exit_work) & WF_WORK_RESCHED) != 0;
}

static void request_yield(struct wf_vp *vp, struct wf_thread *t, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;

	if (goes_on(w, t))
		return; /* asked before, and the thread still has time */
	w->requested = t;
	w->requested_ns = now_ns;
	w->requested_cpu_ns = wf_preempt_request_cpu_of(vp->carrier);
	atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED);
}

void wf_preempt_request(struct wf_vp *vp, struct wf_thread *t,
			uint64_t switches, enum wf_resched why, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	bool is_new = wf_load_relaxed(&vp->asked_switches) != switches ||
		      w->first_asked_ns == 0;
	bool is_urgent = why == WF_RESCHED_REALTIME || t->rt_priority != 0;

	w->charge_ns = 0;
	if (is_new) {
		w->first_asked_ns = now_ns;
		w->is_uncooperative = wf_thread_is_uncooperative(t);
		wf_store_relaxed(&vp->carrier->has_refused, false);
	}
	wf_vp_ask(vp, why, switches);
	if (!is_urgent && !w->is_uncooperative) {
		request_yield(vp, t, now_ns);
		return;
	}
	w->requested = NULL;
	if (!is_urgent) /* the flag tells later whether t makes calls */
		atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED);
	send_signal(vp, now_ns, wf_preempt_request_cpu_of(vp->carrier));
}

/*
 * Signals t if it has computed since the request and made no call. Returns true
 * if the monitor has to check again soon. PREEMPT_REQUEST-2
 */
static bool retry_request(struct wf_vp *vp, struct wf_thread *t, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t time_ns = w->has_yielded ? TICK_NS : WF_TICK_RETRY_NS;
	int64_t elapsed = now_ns - w->requested_ns, cpu;

	if (elapsed < time_ns / 2)
		return time_ns < TICK_NS;
	cpu = wf_preempt_request_cpu_of(vp->carrier);
	/* the VP has another carrier: begin anew */
	if (cpu < w->requested_cpu_ns) {
		w->requested_ns = now_ns;
		w->requested_cpu_ns = cpu;
	}
	if (!wf_preempt_request_is_computing(
		    vp->carrier, cpu - w->requested_cpu_ns, elapsed))
		return false;
	w->requested = NULL;
	w->has_yielded = false;
	w->is_uncooperative = true;
	wf_thread_set_uncooperative(t);
	wf_thread_set_cpu_bound(t);
	if (wf_vp_asked(vp) == WF_RESCHED_NONE)
		return false; /* t is signalled at its next preemption */
	send_signal(vp, now_ns, cpu);
	return true;
}

/* Notes that the thread with the last request has made a call since. */
static void update_yielded(struct wf_vp_watch *w)
{
	if (w->requested == NULL || goes_on(w, w->requested))
		return;
	w->requested = NULL;
	w->has_yielded = true;
}

static bool retry(struct wf_vp *vp, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	struct wf_thread *t = wf_load_acquire(&vp->cur);
	struct wf_carrier *c = vp->carrier;
	int64_t elapsed = now_ns - w->asked_ns, cpu;

	update_yielded(w);
	if (goes_on(w, t))
		return retry_request(vp, t, now_ns);
	if (wf_vp_asked(vp) == WF_RESCHED_NONE || t == NULL)
		return false;
	/* True if the handler has not run yet. */
	if (wf_load_relaxed(&c->is_signalled))
		return elapsed < TICK_NS;
	if (!wf_load_relaxed(&c->has_refused))
		return false;
	if (elapsed < WF_TICK_RETRY_NS / 2)
		return true;
	cpu = wf_preempt_request_cpu_of(c);
	if (!wf_preempt_request_is_computing(c, cpu - w->asked_cpu_ns, elapsed))
		return elapsed < TICK_NS;
	send_signal(vp, now_ns, cpu);
	return true;
}

bool wf_preempt_request_retry(int64_t now_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		any |= retry(&wf_sched.vps[i], now_ns);
	return any;
}
