/* SPDX-License-Identifier: MIT */
/*
 * An idle time begins when a VP has no thread to run and ends when it has one.
 * Meanwhile the agent polls, if the policy allows and not enough other VPs
 * poll, then sleeps in the kernel. The spin budget says how long polling pays.
 *
 * AGENT-1. Between wf_idle_begin and the sleep the agent checks every queue and
 *     its timers again (sched/idle.h, IDLE-2).
 * AGENT-2. A carrier that sleeps, or polls for long, blocks the program's
 *     signals. SIGSEGV and SIGBUS stay open while it polls words that may
 *     fault.
 * AGENT-3. A VP keeps the poller role while it polls the queues, and gives it
 *     up before it sleeps or runs a thread (sched/idle.h, IDLE-4).
 * AGENT-4. The agent reads words that other VPs write at each switch at most
 *     once in FAR_POLL_NS: each read takes the cache line from its writer.
 * AGENT-5. A new policy raises the epoch, fences, and wakes sleeping VPs. A VP
 *     that goes to sleep enters the idle list, fences, then reads the epoch.
 *
 * Rejected: several pollers by default. They take cache lines and work from
 * each other. The first to find work wakes another VP if there is more.
 */
#include "wait/agent.h"

#include <errno.h>

#include "arch/arch.h"
#include "base/options.h"
#include "base/upcall.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/carrier_name.h"
#include "sched/cpu_time.h"
#include "sched/idle.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "sched/vp_io.h"
#include "wait/timer.h"
#include "wait/word.h"

enum {
	/* About 0.5 us of polls between two checks of the clock. */
	POLLS_PER_CLOCK = 16,
	FAR_POLL_NS = 2 * 1000, /* AGENT-4: limits cache misses */
	/* A longer poll blocks signals, which costs less than 1 % of it. */
	QUIET_AFTER_NS = 50 * 1000,
	/* The kernel's count of involuntary switches is read from here on. */
	SHORT_POLL_NS = 4 * 1000,
	/*
	 * Time between two yields of the CPU while polling. Another carrier may
	 * wait for this CPU, perhaps the carrier that will end the idle time.
	 * Without yields two processes on two CPUs each got a fifth of their
	 * native rate. A yield takes 0.3 us if no other kernel thread waits.
	 */
	YIELD_AFTER_NS = 8 * 1000,
	/* A longer time between clock checks hints at a lost CPU. */
	GAP_NS = 5 * 1000,
};

static bool has_cpu_to_spare;
static _Atomic uint32_t policy_epoch; /* counts policies: AGENT-5 */

/* One idle time of a VP. Times are of CLOCK_MONOTONIC. */
struct idle {
	bool has_begun, has_polled, has_slept;
	bool was_woken;		  /* another thread ended its last sleep */
	bool was_tried;		  /* polled as long as the policy allows */
	bool was_timed;		  /* the VP's own first timer ended it */
	uint32_t epoch, policy;	  /* when the idle time began */
	uint32_t nr_watched;	  /* wf_words_nr_watched then */
	int64_t begin_ns, end_ns; /* of the poll */
	int64_t came_ns;	  /* when the wakeup or deadline came */
	int64_t seen_ns;	  /* last check of the clock */
	int64_t far_ns;		  /* last check of other VPs' queues */
	int64_t yield_ns;	  /* last yield of the CPU */
	bool had_gap;		  /* a gap above GAP_NS in the poll */
	long nr_involuntary;	  /* at SHORT_POLL_NS; -1: not read */
};

/* The thread that a woken VP runs, and when the VP was woken. */
struct run {
	struct wf_vp *vp;
	struct wf_thread *t;
	uint64_t switches;
	int64_t begin_ns;
};

static void set_policy(uint32_t policy, uint32_t agents)
{
	wf_store_relaxed(&wf_sched.wait_policy, policy);
	wf_store_relaxed(&wf_sched.most_pollers, agents);
}

void wf_agent_init(bool has_cpu_for_each_vp)
{
	has_cpu_to_spare = has_cpu_for_each_vp && wf_sched.nr_vps > 1;
	/* A fork child keeps its parent's policy. */
	if (wf_load_relaxed(&policy_epoch) != 0)
		return;
	set_policy(wf_options.wait,
		   wf_options.agents == 0 ? 1 : (uint32_t)wf_options.agents);
	wf_store_relaxed(&policy_epoch, 1);
}

int wf_agent_set(uint32_t policy, uint32_t agents)
{
	struct wf_thread *t;

	if (policy > WF_WAIT_PARK || agents > wf_sched.nr_vps)
		return -EINVAL;
	t = wf_runtime_enter();
	set_policy(agents == 0 ? WF_WAIT_PARK : policy, agents);
	wf_agent_rouse();
	wf_runtime_leave(t);
	return 0;
}

void wf_agent_rouse(void)
{
	atomic_fetch_add(&policy_epoch, 1);
	wf_fence_seq_cst(); /* AGENT-5: before the wakes */
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		wf_idle_wake(&wf_sched.vps[i]);
}

static bool may_poll(const struct idle *idle)
{
	return idle->policy == WF_WAIT_POLL ||
	       (idle->policy == WF_WAIT_ADAPTIVE && has_cpu_to_spare);
}

static bool is_policy_new(const struct idle *idle)
{
	return wf_load_relaxed(&policy_epoch) != idle->epoch;
}

static bool has_signal_work(struct wf_carrier *c)
{
	return wf_load_relaxed(&c->signal_slot.nr) != 0;
}

/* Blocks signals for a poll (AGENT-2). */
static void quiet(struct wf_carrier *c)
{
	wf_carrier_set_mask(c, wf_words_has_slots() ?
				       ~wf_words_fault_signals() :
				       UINT64_MAX);
}

/* Blocks all signals for a sleep (AGENT-2). */
static void block_all(struct wf_carrier *c)
{
	wf_carrier_set_mask(c, UINT64_MAX);
}

static void check_signals(struct wf_carrier *c)
{
	if (WF_UNLIKELY(has_signal_work(c)))
		wf_upcall.idle_signal_work(c);
}

/* --- wait words ----------------------------------------------------------- */

/* Prepares c's mask. True if c may poll addresses that may fault. */
static bool prepare_poll(struct wf_carrier *c)
{
	if (wf_words_has_slots() && !wf_words_carrier_can_fault(c))
		quiet(c);
	return wf_words_carrier_can_fault(c);
}

static bool has_changed_word(struct wf_carrier *c, struct wf_vp *vp)
{
	return wf_sched_has_words() && wf_words_have_hit(vp, prepare_poll(c));
}

static struct wf_thread *take_changed_word(struct wf_carrier *c,
					   struct wf_vp *vp)
{
	if (!wf_sched_has_words() || wf_vp_is_offline(vp))
		return NULL;
	return wf_words_take(vp, &c->idle_self, NULL, prepare_poll(c));
}

/* --- polling ------------------------------------------------------------ */

static int64_t worth_ns(void)
{
	return wf_spin_budget_worth(wf_idle_wake_cost());
}

static void begin_idle(struct idle *idle, struct wf_vp *vp)
{
	*idle = (struct idle){ .has_begun = true, .nr_involuntary = -1 };
	/* Read before the policy: a change in between counts as new. */
	idle->epoch = wf_load_acquire(&policy_epoch);
	idle->policy = wf_load_relaxed(&wf_sched.wait_policy);
	if (!may_poll(idle))
		return;
	idle->nr_watched = wf_load_relaxed(&wf_words_nr_watched);
	idle->begin_ns = idle->far_ns = idle->seen_ns = wf_os_now();
	idle->yield_ns = idle->begin_ns;
	idle->end_ns = WF_OS_FOREVER;
	if (idle->policy == WF_WAIT_ADAPTIVE)
		idle->end_ns =
			idle->begin_ns + wf_spin_budget_begin(&vp->spin_budget);
}

/* Makes vp a poller if the policy and the spin budget allow. */
static bool try_poll(struct idle *idle, struct wf_vp *vp)
{
	if (!may_poll(idle) || idle->was_tried ||
	    idle->end_ns == idle->begin_ns)
		return false;
	if (vp->is_poller)
		return true;
	if (!wf_idle_poll_begin(vp))
		return false;
	idle->has_polled = true;
	if (idle->has_slept)
		idle->seen_ns = wf_os_now();
	return true;
}

/* Adds the time since the last check of the clock to vp->polled_ns. */
static void count_polled(struct idle *idle, struct wf_vp *vp, int64_t now)
{
	int64_t ns = now - idle->seen_ns;
	int64_t all_ns = wf_load_relaxed(&vp->polled_ns) + ns;

	idle->seen_ns = now;
	idle->had_gap |= ns >= GAP_NS;
	wf_store_relaxed(&vp->polled_ns, all_ns);
	wf_store_relaxed(&vp->counters.polled_us,
			 (uint64_t)(all_ns / WF_NS_PER_US));
}

/*
 * Polls the remote and the injection queue, signals, wait words, this VP's
 * timers, and other VPs' stealable work. Returns false if the time is up.
 */
static bool poll(struct wf_carrier *c, struct wf_vp *vp, struct idle *idle)
{
	wf_vp_io_submit(vp);
	while (!wf_vp_is_offline(vp)) {
		int64_t now;

		for (int i = 0; i < POLLS_PER_CLOCK; i++) {
			if (wf_queue_has_pending(vp) || has_signal_work(c) ||
			    wf_vp_io_has_done(vp) || has_changed_word(c, vp))
				return true;
			wf_cpu_pause();
		}
		now = wf_os_now();
		count_polled(idle, vp, now);
		idle->was_timed = now >= wf_timers_earliest(vp);
		if (idle->was_timed)
			return true;
		if (now - idle->far_ns >= FAR_POLL_NS) {
			idle->far_ns = now;
			if (wf_queue_has_work(vp))
				return true;
		}
		if (now >= idle->end_ns || is_policy_new(idle))
			return false;
		if (idle->nr_involuntary < 0 &&
		    now - idle->begin_ns >= SHORT_POLL_NS)
			idle->nr_involuntary = wf_os_involuntary_switches();
		if (now - idle->yield_ns >= YIELD_AFTER_NS) {
			wf_sys(SYS_sched_yield);
			idle->yield_ns = wf_os_now();
		}
		if (now - idle->begin_ns < QUIET_AFTER_NS)
			continue;
		quiet(c);
		if (wf_vp_io_settle(vp, false))
			return true;
	}
	return false;
}

/*
 * Notes whether another kernel thread ran on the poller's CPU. Asks the kernel
 * only if there was a gap, since a runnable thread waits meanwhile.
 */
static void check_disturbance(struct idle *idle, struct wf_vp *vp)
{
	if (idle->policy != WF_WAIT_ADAPTIVE || idle->nr_involuntary < 0)
		return;
	count_polled(idle, vp, wf_os_now());
	wf_spin_budget_polled(&vp->spin_budget,
			      idle->had_gap && wf_os_involuntary_switches() !=
						       idle->nr_involuntary);
}

/* Called when the time for polling is over and no work has come. */
static void end_poll(struct idle *idle, struct wf_vp *vp)
{
	idle->was_tried = true;
	check_disturbance(idle, vp);
	wf_idle_poll_end(vp); /* AGENT-3: before the sleep */
}

/*
 * Returns the idle time for the spin budget, in ns. If the VP's timer ended it,
 * it counts as too long to poll: a sleep until a known deadline needs no waker.
 *
 * If the monitor found a changed word, the time of the change is unknown, since
 * the monitor polls once a tick. The idle time then counts as one that a little
 * more polling would have covered, as words may change more often than ticks.
 */
static int64_t idle_ns(const struct idle *idle, const struct wf_vp *vp)
{
	int64_t a_little_more = vp->spin_budget.poll_ns + 1;

	if (idle->was_timed)
		return WF_OS_FOREVER;
	if (wf_load_relaxed(&wf_words_nr_watched) == idle->nr_watched)
		return idle->came_ns - idle->begin_ns;
	return a_little_more < worth_ns() ? a_little_more : worth_ns();
}

/* Ends the idle time: there is a thread to run. */
static void end_idle(struct idle *idle, struct wf_carrier *c, struct wf_vp *vp)
{
	if (!idle->has_begun)
		return;
	idle->has_begun = false;
	if (vp->is_poller)
		check_disturbance(idle, vp);
	if (idle->has_polled) {
		wf_idle_poll_leave(vp); /* AGENT-3: before the thread runs */
		wf_cpu_time_charge(c, NULL);
	}
	/* If work ended the poll, the spin budget was right and stays. */
	if (may_poll(idle) && (idle->has_slept || idle->was_timed))
		wf_spin_budget_end(&vp->spin_budget, idle_ns(idle, vp),
				   worth_ns());
}

static void sleep_idle(struct wf_carrier *c, struct wf_vp *vp,
		       struct idle *idle)
{
	int64_t deadline;

	block_all(c);
	if (has_signal_work(c))
		return;
	/* With no VP polling, waits with WF_WORD_POLLED must end. */
	if (wf_words_has_polled() &&
	    wf_load_relaxed(&wf_sched.nr_pollers) == 0 &&
	    wf_words_end_polled(&c->idle_self) > 0)
		return;
	vp->sleeps_in_ring = wf_load_relaxed(&vp->nr_requests) != 0;
	wf_idle_begin(vp);
	deadline = wf_timers_earliest(vp);
	/* AGENT-1, AGENT-5: checks once more before the sleep. */
	if (!wf_queue_has_work(vp) && !is_policy_new(idle)) {
		wf_count_own(&vp->counters, sleeps);
		idle->has_slept = true;
		idle->came_ns = deadline;
		/* acquire: pairs with the waker's release of wake_word. */
		if (wf_load_acquire(&vp->wake_word) != 0)
			; /* woken meanwhile */
		else if (vp->sleeps_in_ring)
			wf_vp_io_ops->sleep(vp, deadline);
		else if (wf_os_futex_wait(&vp->wake_word, 0, deadline) == 0 &&
			 wf_load_acquire(&vp->wake_word) != 0)
			wf_idle_woken(vp);
		idle->was_woken = wf_load_acquire(&vp->wake_word) != 0;
		idle->was_timed = !idle->was_woken && wf_os_now() >= deadline;
		if (idle->was_woken)
			idle->came_ns = wf_load_relaxed(&vp->wake_ns);
	}
	wf_idle_end(vp);
}

static void wait_for_work(struct wf_carrier *c, struct wf_vp *vp,
			  struct idle *idle)
{
	if (!idle->has_begun || (is_policy_new(idle) && !vp->is_poller))
		begin_idle(idle, vp);
	if (try_poll(idle, vp)) {
		if (poll(c, vp, idle))
			return;
		end_poll(idle, vp);
	}
	sleep_idle(c, vp, idle);
}

static struct wf_thread *find_thread(struct wf_carrier *c, struct wf_vp *vp)
{
	struct wf_thread *t;

	c->idle_self.vp = vp;
	wf_vp_io_poll(vp);
	t = wf_queue_pick(vp);
	if (t == NULL && wf_timers_earliest(vp) != INT64_MAX &&
	    wf_timers_fire(vp, wf_os_now(), &c->idle_self) > 0)
		t = wf_queue_pick(vp);
	if (t == NULL)
		t = take_changed_word(c, vp);
	while (t == NULL && wf_vp_io_submit_some(vp))
		t = wf_queue_pick(vp);
	if (t == NULL && wf_vp_io_settle(vp, true))
		t = wf_queue_pick(vp);
	return t;
}

/*
 * True if the monitor has to wake because vp gets busy: for runnable threads,
 * requests in the kernel, wait words and the poller role. The usual thread runs
 * for some microseconds and waits again: it needs no monitor.
 */
static bool needs_monitor(const struct wf_vp *vp)
{
	return wf_queue_nr_interactive(vp) + wf_queue_nr_batch(vp) > 0 ||
	       wf_realtime_waits(1) || wf_load_relaxed(&vp->nr_requests) != 0 ||
	       wf_sched_has_words() ||
	       wf_load_relaxed(&wf_sched.wait_policy) == WF_WAIT_POLL;
}

/*
 * The VP is busy from here on. A monitor that goes to sleep says so, passes a
 * membarrier, then checks vp->cur. So it finds vp busy, or vp finds it asleep.
 */
static void get_busy(struct wf_vp *vp, struct wf_thread *t)
{
	wf_store_release(&vp->cur, t);
	wf_compiler_barrier();
	wf_idle_check_timer(wf_timers_earliest(vp));
	if (wf_monitor_sleeps() && needs_monitor(vp))
		wf_idle_wake_monitor();
}

static void begin_run(struct run *run, const struct idle *idle,
		      struct wf_vp *vp, struct wf_thread *t)
{
	run->vp = idle->has_begun && idle->was_woken ? vp : NULL;
	run->t = t;
	run->switches = wf_load_relaxed(&vp->counters.switches) + 1;
	run->begin_ns = idle->came_ns;
}

/*
 * Marks a thread that ran for 3 times the cost of a wake as worth a wake the
 * next time, too. A hint: it may have blocked and run again.
 */
static void end_run(struct run *run, const struct wf_vp *vp)
{
	if (run->vp != vp ||
	    run->switches != wf_load_relaxed(&vp->counters.switches))
		return;
	run->vp = NULL;
	if (wf_os_now() - run->begin_ns > 3 * wf_idle_wake_cost())
		wf_thread_has_run_long(run->t);
}

void wf_agent_run(struct wf_carrier *c)
{
	struct idle idle = { 0 };
	struct run run = { 0 };

	for (;;) {
		struct wf_vp *vp = wf_load_relaxed(&c->vp);
		struct wf_thread *t;

		check_signals(c);
		if (c->bound != NULL) {
			wf_carrier_name_bound(c, c->bound);
			wf_switch_from_carrier(c, c->bound);
			continue;
		}
		/* acquire: pairs with dismiss_all in sched/dismiss.c. */
		if (vp == NULL || wf_load_acquire(&c->is_dismissed)) {
			block_all(c);
			if (!has_signal_work(c))
				wf_carrier_wait_for_vp(c);
			continue;
		}
		wf_carrier_name_vp(c, vp);
		wf_carrier_ensure_spare();
		t = find_thread(c, vp);
		if (t == NULL) {
			end_run(&run, vp);
			wait_for_work(c, vp, &idle);
			continue;
		}
		begin_run(&run, &idle, vp, t);
		end_idle(&idle, c, vp);
		get_busy(vp, t);
		wf_switch_from_carrier(c, t);
	}
}
