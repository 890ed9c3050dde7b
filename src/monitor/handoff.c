/* SPDX-License-Identifier: MIT */
/*
 * A VP stands still when its carrier sleeps in the kernel. The monitor finds
 * such VPs by their count of switches, the carrier's CPU clock and its state in
 * /proc. It takes the VP from the carrier's thread and gives it to a spare
 * carrier. The thread notices that on its way out of the kernel, and queues for
 * a VP.
 *
 * HANDOFF-1. The protocol of retake is: CAS NONE -> ASK; membarrier; read
 *     in_runtime first, vp->cur second; CAS ASK -> TAKEN or -> NONE. After the
 *     membarrier either the thread finds ASK when it enters the runtime, or the
 *     monitor finds its in_runtime set. Both sides change retake only by CAS,
 *     so the VP always has exactly one owner.
 * HANDOFF-2. A carrier may be blocked if its VP made no switch since the last
 *     check and its CPU clock advanced by less than half the time. It may also
 *     be blocked if it got the VP only by the last handoff. Only then does the
 *     monitor read /proc, and only for a sleeping carrier does it pay for a
 *     membarrier.
 * HANDOFF-3. A carrier may run on without its VP. If it computes, the monitor
 *     signals it until its thread queues to reacquire a VP. A carrier computes
 *     if it has used CPU time since it last slept. The signal would cut short
 *     the call of a carrier that blocks again or has just been woken.
 */
#include "monitor/handoff.h"

#include <string.h>

#include "base/options.h"
#include "libc/text.h"
#include "monitor/private_table.h"
#include "monitor/tick.h"
#include "os/clock.h"
#include "os/fallback.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "signal/preempt.h"
#include "wait/timer.h"

enum {
	STRAYS_PER_CHECK = 8,
	MAX_SKIPS = 3, /* in a row: a handoff comes at most 3 ticks late */
	/* The longest time between two handoffs from one thread for which they
	 * count as in a row. With longer pauses they cost little, and the
	 * thread may also wait in ways that weft knows. */
	ROW_MS = 100,
	/* A handoff from a futex call compiled into a library counts as so
	 * many: the wait will come again, and never in a way that weft
	 * knows. */
	NR_AS_OF_INLINE = 8,
	COMPUTES_NS = 50 * WF_NS_PER_US, /* more than a call and its return */
};

struct sample {
	uint64_t switches;
	int64_t cpu_ns, wall_ns;
	const struct wf_carrier *carrier;
	/* checks in a row that found no sleep, at most MAX_SKIPS */
	uint32_t nr_alarms;
	uint32_t nr_skips; /* how many of the next checks to skip */
};

/* The last check of each VP; only the monitor uses it. */
static struct sample samples[WF_VPS_MAX];

static int proc = -1; /* the monitor's descriptor of /proc/self/task */
static bool has_asked_for_proc;

/*
 * How many descriptors of carriers' stat files stay open: those of the first
 * carriers. Few, as the monitor has the same descriptor limit as the program.
 * Those of hundreds of sleeping carriers would gain nothing.
 */
enum { NR_KEPT = 32 };
static struct {
	int tid; /* of the carrier's kernel thread; 0: no descriptor */
	int stat;
} kept[NR_KEPT];

void wf_handoff_init(void)
{
	proc = -1;
	has_asked_for_proc = false;
	/* In a fork child: forgets the parent's descriptors, which it does not
	 * have. */
	memset(kept, 0, sizeof(kept));
}

/* Opens /proc once the monitor may keep files open. */
static void open_proc(void)
{
	if (has_asked_for_proc || !wf_private_table_is_ready())
		return;
	proc = wf_os_proc_open();
	has_asked_for_proc = true;
	if (proc < 0)
		wf_fallback_note(WF_FALLBACK_PROC);
}

static void close_kept(void)
{
	for (uint32_t i = 0; i < NR_KEPT; i++) {
		if (kept[i].tid != 0)
			wf_sys(SYS_close, kept[i].stat);
		kept[i].tid = 0;
	}
}

/* Returns the state of c, by a descriptor that stays open. */
static char ask_kept(const struct wf_carrier *c, int tid)
{
	int *stat = &kept[c->number].stat;

	if (kept[c->number].tid != tid) {
		if (kept[c->number].tid != 0)
			wf_sys(SYS_close, *stat);
		*stat = wf_os_thread_stat_open(proc, tid);
		kept[c->number].tid = *stat >= 0 ? tid : 0;
	}
	return *stat >= 0 ? wf_os_thread_stat_state(*stat) : 'X';
}

static char state_of(const struct wf_carrier *c)
{
	int tid = wf_load_relaxed(&c->tid);
	bool is_kept = c->number < NR_KEPT && tid != 0 &&
		       wf_private_table_is_made();
	char state = is_kept ? ask_kept(c, tid) : wf_os_thread_state(proc, tid);

	if (state != 'X')
		return state;
	/* The descriptor is of no use: c's kernel thread may have ended, and
	 * another may have its id. Or the process has reached its limit of
	 * descriptors. */
	close_kept();
	return wf_os_thread_state(proc, tid);
}

/*
 * Passes a membarrier. If the kernel refuses that, returns true only for a
 * sleeping carrier: it has passed a barrier on its way out of the CPU, and
 * passes another before it runs. If the state cannot be read, a pause takes the
 * place of the barrier.
 */
static bool pass_barrier(const struct wf_vp *vp)
{
	char state;

	if (wf_os_membarrier() == 0)
		return true;
	state = state_of(vp->carrier);
	if (state == 'X')
		wf_os_pass_barrier();
	return state == 'S' || state == 'X';
}

/* Takes vp from t. Returns false if t keeps it. HANDOFF-1 */
static bool take(struct wf_vp *vp, struct wf_thread *t)
{
	uint32_t none = WF_RETAKE_NONE, ask = WF_RETAKE_ASK;

	if (t->kind != WF_THREAD_MULTIPLEXED ||
	    !wf_cas_acq_rel(&t->retake, &none, WF_RETAKE_ASK))
		return false;
	if (pass_barrier(vp) && wf_load_acquire(&t->in_runtime) == 0 &&
	    wf_load_acquire(&vp->cur) == t &&
	    wf_cas_acq_rel(&t->retake, &ask, WF_RETAKE_TAKEN))
		return true;
	ask = WF_RETAKE_ASK;
	wf_cas_acq_rel(&t->retake, &ask, WF_RETAKE_NONE);
	return false;
}

bool wf_handoff_is_runnable(const struct wf_carrier *c)
{
	return state_of(c) == 'R';
}

bool wf_handoff_may_run(const struct wf_carrier *c)
{
	char state = state_of(c);

	return state == 'R' || state == 'X';
}

/*
 * True if the carrier sleeps or has ended. 'X' also means that there is no
 * /proc: it is not mounted, or the program has used up the descriptors. Then
 * the idle CPU clock has to do. A carrier that a system call in the program has
 * ended is in state 'X', or in 'Z' if it is the process's first kernel thread.
 */
static bool is_asleep(const struct wf_carrier *c)
{
	char state = state_of(c);

	return state == 'S' || state == 'D' || state == 'X' || state == 'Z';
}

static bool has_work(const struct wf_vp *vp, int64_t now_ns)
{
	return wf_vp_is_offline(vp) || /* OFFLINE-3: the thread must leave it */
	       wf_queue_nr_interactive(vp) + wf_queue_nr_batch(vp) > 0 ||
	       wf_realtime_waits(1) || wf_load_relaxed(&vp->nr_requests) != 0 ||
	       wf_timers_earliest(vp) <= now_ns;
}

/* True if the VP's carrier is blocked in the kernel. HANDOFF-2 */
static bool is_blocked(struct wf_vp *vp, int64_t now_ns, bool is_handing_off)
{
	struct sample *l = &samples[vp->id];
	const struct wf_carrier *c = vp->carrier;
	uint64_t switches = wf_load_relaxed(&vp->counters.switches);
	int tid = wf_load_relaxed(&c->tid);
	int64_t cpu = wf_os_thread_cpu(tid);
	bool may_be_blocked = l->carrier != c ?
				      is_handing_off :
				      l->switches == switches &&
					      (cpu - l->cpu_ns) * 2 <
						      now_ns - l->wall_ns;

	l->switches = switches;
	l->cpu_ns = cpu;
	l->wall_ns = now_ns;
	l->carrier = c;
	if (!may_be_blocked || (l->nr_skips > 0 && l->nr_skips-- > 0))
		return false;
	if (is_asleep(c)) {
		l->nr_alarms = 0;
		return true;
	}
	/* A wrong guess: other processes have the CPU at each check. So checks
	 * less often. */
	if (l->nr_alarms < MAX_SKIPS)
		l->nr_alarms++;
	l->nr_skips = l->nr_alarms;
	return false;
}

/*
 * True if c waits in a futex call that is compiled into a library, as libgomp's
 * are.
 */
static bool waits_inline(const struct wf_carrier *c)
{
	uintptr_t pc;
	long nr;

	return wf_os_thread_call(proc, wf_load_relaxed(&c->tid), &nr, &pc) &&
	       nr == SYS_futex && wf_text_of(pc) == WF_TEXT_PROGRAM;
}

/*
 * Takes vp from t for a spare carrier, and returns that carrier. Returns NULL,
 * with nothing changed, if there is no spare or t keeps the VP.
 */
static struct wf_carrier *take_for_spare(struct wf_vp *vp, struct wf_thread *t)
{
	struct wf_carrier *spare = wf_carrier_take_spare();

	if (spare != NULL && !take(vp, t)) {
		wf_carrier_put_back(spare);
		spare = NULL;
	}
	return spare;
}

static void give(struct wf_carrier *spare, struct wf_vp *vp,
		 struct wf_thread *t)
{
	wf_tick_handed_off(vp, t);
	wf_carrier_give(spare, vp);
}

bool wf_handoff_has_ended(const struct wf_carrier *c)
{
	int tid = wf_load_relaxed(&c->tid);

	/* 'Z': the process's first kernel thread stays as a zombie until the
	 * others have ended. */
	return wf_os_tgkill(tid, 0) == -ESRCH ||
	       (tid == wf_os_getpid() && state_of(c) == 'Z');
}

void wf_handoff_from_dead(struct wf_vp *vp, struct wf_thread *t)
{
	struct wf_carrier *spare = take_for_spare(vp, t);

	if (spare != NULL)
		give(spare, vp, t);
}

static bool hand_off(struct wf_vp *vp, int64_t now_ns, bool is_handing_off)
{
	struct wf_thread *t = wf_load_acquire(&vp->cur);
	uint32_t now_ms = (uint32_t)(now_ns / WF_NS_PER_MS);
	const struct wf_carrier *blocked = vp->carrier;
	struct wf_carrier *spare;

	if (t == NULL || !has_work(vp, now_ns)) {
		samples[vp->id].carrier = NULL;
		return false;
	}
	if (!is_blocked(vp, now_ns, is_handing_off))
		return false;
	spare = take_for_spare(vp, t);
	if (spare == NULL)
		return false;
	if (now_ms - t->handoff_ms > ROW_MS)
		t->nr_handoffs = 0;
	t->handoff_ms = now_ms;
	t->nr_handoffs += waits_inline(blocked) ? NR_AS_OF_INLINE : 1;
	wf_count(handoffs);
	give(spare, vp, t);
	return true;
}

/* True if c runs and has computed since it last slept. HANDOFF-3 */
static bool computes(struct wf_carrier *c, int tid)
{
	uint64_t nr_sleeps;
	int64_t cpu_ns;

	if (state_of(c) != 'R')
		return false;
	cpu_ns = wf_os_thread_cpu(tid);
	nr_sleeps = wf_os_thread_sleeps(proc, tid);
	if (nr_sleeps != c->nr_sleeps)
		c->awake_cpu_ns = cpu_ns;
	c->nr_sleeps = nr_sleeps;
	return cpu_ns - c->awake_cpu_ns >= COMPUTES_NS;
}

/*
 * Signals carriers that compute without a VP. Checks a few carriers at each
 * call, since hundreds may be asleep.
 */
static void signal_strays(void)
{
	static uint32_t next;
	uint32_t nr = wf_carrier_count();

	for (uint32_t i = 0; i < nr && i < STRAYS_PER_CHECK; i++) {
		struct wf_carrier *c = wf_carrier_at(next++ % nr);
		struct wf_vp *vp = c != NULL ? wf_load_relaxed(&c->vp) : NULL;
		int tid;

		if (vp == NULL || vp->carrier == c)
			continue;
		tid = wf_load_relaxed(&c->tid);
		if (tid == 0 || !computes(c, tid) ||
		    wf_load_relaxed(&c->vp) != vp)
			continue;
		wf_store_relaxed(&c->insist, wf_load_relaxed(&c->has_refused));
		wf_preempt_signal(c);
	}
}

bool wf_handoff_all(int64_t now_ns, bool is_handing_off)
{
	bool any = false;

	open_proc();
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		any |= hand_off(&wf_sched.vps[i], now_ns, is_handing_off);
	signal_strays();
	return any;
}
