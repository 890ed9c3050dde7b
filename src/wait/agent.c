/*
 * A1. Between wf_idle_begin and the sleep the agent looks at every queue and
 *     at its timers again (sched/idle.h, I2).
 * A2. A carrier that sleeps blocks the program's signals.
 */
#include "wait/agent.h"

#include "arch/arch.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sched/carrier.h"
#include "sched/idle.h"
#include "sched/queue.h"
#include "sched/switch.h"
#include "wait/timer.h"

uint64_t wf_agent_signal_mask = UINT64_MAX;
void (*wf_agent_signal_work)(struct wf_carrier *c);

/*
 * About what a wake through the kernel costs the waker, 12 us: a VP that
 * looks for so long before it sleeps at most doubles the cost of a wait.
 */
enum { SPIN_NS = 12 * 1000, LOOKS_PER_CLOCK = 64 };

static bool has_signal_work(struct wf_carrier *c)
{
	return wf_load_relaxed(&c->signal_slot.nr) != 0;
}

static void quiet(struct wf_carrier *c)
{
	wf_carrier_set_mask(c, wf_agent_signal_mask); /* A2 */
}

static void see_signals(struct wf_carrier *c)
{
	if (WF_UNLIKELY(has_signal_work(c)) && wf_agent_signal_work != NULL)
		wf_agent_signal_work(c);
}

/* Spins for a moment; with one VP nobody could bring work meanwhile. */
static bool spin(struct wf_vp *vp)
{
	int64_t end;

	if (wf_sched.nr_vps == 1)
		return wf_queue_has_work(vp);
	end = wf_os_now() + SPIN_NS;
	do {
		for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (wf_queue_has_work(vp))
				return true;
			wf_cpu_pause();
		}
	} while (wf_os_now() < end);
	return false;
}

static void sleep_idle(struct wf_carrier *c, struct wf_vp *vp)
{
	int64_t deadline;

	quiet(c);
	if (has_signal_work(c))
		return;
	wf_idle_begin(vp);
	deadline = wf_timers_earliest(vp);
	if (!wf_queue_has_work(vp)) { /* A1 */
		wf_count_own(&vp->counters, sleeps);
		/* acquire: pairs with the waker's release of wake_word. */
		if (wf_load_acquire(&vp->wake_word) == 0 &&
		    wf_os_futex_wait(&vp->wake_word, 0, deadline) == 0 &&
		    wf_load_acquire(&vp->wake_word) != 0)
			wf_idle_woken(vp);
	}
	wf_idle_end(vp);
}

static struct wf_thread *find_thread(struct wf_carrier *c, struct wf_vp *vp)
{
	struct wf_thread *t = wf_queue_pick(vp);

	c->idle_self.vp = vp;
	if (t == NULL && wf_timers_earliest(vp) != INT64_MAX &&
	    wf_timers_fire(vp, wf_os_now(), &c->idle_self) > 0)
		t = wf_queue_pick(vp);
	return t;
}

/*
 * The VP is busy from here on, and the monitor, which may be about to sleep,
 * passes a membarrier before it looks: it sees that, or we see it asleep.
 */
static void get_busy(struct wf_vp *vp, struct wf_thread *t)
{
	wf_store_release(&vp->cur, t);
	wf_compiler_barrier();
	wf_idle_see_timer(wf_timers_earliest(vp));
	if (wf_load_relaxed(&wf_sched.monitor_asleep) != 0)
		wf_idle_wake_monitor();
}

void wf_agent_run(struct wf_carrier *c)
{
	for (;;) {
		struct wf_vp *vp = wf_load_relaxed(&c->vp);
		struct wf_thread *t;

		see_signals(c);
		if (c->bound != NULL) {
			wf_switch_from_carrier(c, c->bound);
			continue;
		}
		if (vp == NULL) {
			quiet(c);
			if (!has_signal_work(c))
				wf_carrier_wait_for_vp(c);
			continue;
		}
		wf_carrier_ensure_spare();
		t = find_thread(c, vp);
		if (t != NULL) {
			get_busy(vp, t);
			wf_switch_from_carrier(c, t);
		} else if (!spin(vp)) {
			sleep_idle(c, vp);
		}
	}
}
