/*
 * STOP-1. A signal is sent only to a carrier that has used CPU time since the
 *     last look, and of which the kernel says that it could run: it computes.
 *     Who computed until it went to sleep in a system call is left alone, since
 *     some calls would fail with EINTR. Where nobody knows, without /proc, it
 *     has to have used most of that time.
 * STOP-2. Who has run for long without a switch does not compute for sure: a
 *     server whose clients answer at once finds the next request each time it
 *     asks. So a thread that is not known to be deaf is asked to give way at
 *     its next call, and signalled only if it has used CPU time since and made
 *     none: it is deaf then, and signalled at once from then on, until it has
 *     made calls between stops for three times. Where the last who was asked
 *     has answered, this one is given a tick for that.
 *
 * Rejected: signals for all, and ring B at once. A server of 16 busy
 * connections made a quarter less requests. Rejected: to take only the deaf for
 * threads that compute. Others that never block kept who wakes waiting for a
 * turn of each.
 */
#include "boot/stop.h"

#include "boot/rescue.h"
#include "boot/tick.h"
#include "os/clock.h"
#include "signal/preempt.h"

enum {
	TICK_NS = WF_MONITOR_TICK_NS,
	COMPUTING_PERCENT = 70,
	/* More than most system calls; less than anybody waits for. */
	COMPUTING_MIN_NS = 20 * 1000,
};

int64_t wf_stop_cpu_of(const struct wf_carrier *c)
{
	return wf_os_thread_cpu(wf_load_relaxed(&c->tid));
}

/* STOP-1 */
bool wf_stop_is_computing(const struct wf_carrier *c, int64_t cpu_ns,
			  int64_t wall_ns)
{
	if (cpu_ns * 100 >= wall_ns * COMPUTING_PERCENT)
		return wf_rescue_may_run(c);
	/* Or other processes have the CPU. */
	return cpu_ns >= COMPUTING_MIN_NS && wf_rescue_is_runnable(c);
}

/* STOP-1; cpu_ns is the carrier's by now. */
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

/* STOP-2: asked before, and has made no call since. */
static bool goes_on(const struct wf_vp_watch *w, const struct wf_thread *t)
{
	return t != NULL && w->gently_asked == t &&
	       (wf_load_relaxed(&t->exit_work) & WF_WORK_RESCHED) != 0;
}

static void ask_gently(struct wf_vp *vp, struct wf_thread *t, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;

	if (goes_on(w, t))
		return; /* it still has time */
	w->gently_asked = t;
	w->gently_ns = now_ns;
	w->gently_cpu_ns = wf_stop_cpu_of(vp->carrier);
	atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED);
}

void wf_stop(struct wf_vp *vp, struct wf_thread *t, uint64_t switches,
	     enum wf_resched why, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	bool is_new = wf_load_relaxed(&vp->asked_switches) != switches ||
		      w->first_asked_ns == 0;
	bool is_urgent = why == WF_RESCHED_REALTIME || t->rt_priority != 0;

	w->charge_ns = 0;
	if (is_new) {
		w->first_asked_ns = now_ns;
		w->is_deaf = wf_thread_is_deaf(t);
		wf_store_relaxed(&vp->carrier->has_refused, false);
	}
	wf_vp_ask(vp, why, switches);
	if (!is_urgent && !w->is_deaf) {
		ask_gently(vp, t, now_ns);
		return;
	}
	w->gently_asked = NULL;
	if (!is_urgent) /* to see whether it makes calls */
		atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED);
	send_signal(vp, now_ns, wf_stop_cpu_of(vp->carrier));
}

/* STOP-2. True if it is to be looked at again soon. */
static bool retry_gently(struct wf_vp *vp, struct wf_thread *t, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t time_ns = w->has_answered ? TICK_NS : WF_TICK_RETRY_NS;
	int64_t elapsed = now_ns - w->gently_ns, cpu;

	if (elapsed < time_ns / 2)
		return time_ns < TICK_NS;
	cpu = wf_stop_cpu_of(vp->carrier);
	if (cpu < w->gently_cpu_ns) { /* another carrier's: from now on */
		w->gently_ns = now_ns;
		w->gently_cpu_ns = cpu;
	}
	if (!wf_stop_is_computing(vp->carrier, cpu - w->gently_cpu_ns, elapsed))
		return false;
	w->gently_asked = NULL;
	w->has_answered = false;
	w->is_deaf = true;
	wf_thread_set_deaf(t);
	wf_thread_set_hog(t);
	if (wf_vp_asked(vp) == WF_RESCHED_NONE)
		return false; /* the next time */
	send_signal(vp, now_ns, cpu);
	return true;
}

/* Has who was asked gently made a call since? */
static void see_answer(struct wf_vp_watch *w)
{
	if (w->gently_asked == NULL || goes_on(w, w->gently_asked))
		return;
	w->gently_asked = NULL;
	w->has_answered = true;
}

static bool retry(struct wf_vp *vp, int64_t now_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	struct wf_thread *t = wf_load_acquire(&vp->cur);
	struct wf_carrier *c = vp->carrier;
	int64_t elapsed = now_ns - w->asked_ns, cpu;

	see_answer(w);
	if (goes_on(w, t))
		return retry_gently(vp, t, now_ns);
	if (wf_vp_asked(vp) == WF_RESCHED_NONE || t == NULL)
		return false;
	/* Not answered yet? */
	if (wf_load_relaxed(&c->is_signalled))
		return elapsed < TICK_NS;
	if (!wf_load_relaxed(&c->has_refused))
		return false;
	if (elapsed < WF_TICK_RETRY_NS / 2)
		return true;
	cpu = wf_stop_cpu_of(c);
	if (!wf_stop_is_computing(c, cpu - w->asked_cpu_ns, elapsed))
		return elapsed < TICK_NS;
	send_signal(vp, now_ns, cpu);
	return true;
}

bool wf_stop_retry(int64_t now_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		any |= retry(&wf_sched.vps[i], now_ns);
	return any;
}
