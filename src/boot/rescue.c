/*
 * R1. The protocol of retake (DESIGN section 4): CAS NONE -> ASK; membarrier;
 *     in_runtime read first, vp->cur second; CAS ASK -> TAKEN or -> NONE.
 *     After the membarrier either the thread's entry sees ASK, or we see its
 *     in_runtime; both words of it are changed by CAS on both sides, so the
 *     VP always has exactly one owner.
 * R2. A carrier is suspected if its VP made no switch since the last look and
 *     its CPU clock advanced by less than half the time: then /proc is asked,
 *     and only then is a membarrier paid.
 * R3. A carrier that runs on without its VP is signalled until it rejoins.
 */
#include "boot/rescue.h"

#include "boot/tick.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "sched/carrier.h"
#include "sched/queue.h"
#include "signal/preempt.h"
#include "wait/timer.h"

enum { REFUSALS_BEFORE_TAKE = 5, STRAYS_PER_LOOK = 8 };

struct look {
	uint64_t switches;
	int64_t cpu_ns, wall_ns;
	const struct wf_carrier *carrier;
};

/* By VP, from look to look; the monitor's own. */
enum { MAX_VPS = 1024 };
static struct look looks[MAX_VPS];

static int proc = -1; /* the monitor's own descriptor of /proc/self/task */

void wf_rescue_init(void)
{
	proc = wf_os_proc_open();
}

/*
 * Where membarrier is refused: a carrier that sleeps has passed a barrier on
 * its way out of the CPU, and passes another before it runs.
 */
static bool pass_barrier(const struct wf_vp *vp)
{
	return wf_os_membarrier() == 0 ||
	       wf_os_thread_state(proc, wf_load_relaxed(&vp->carrier->tid)) ==
		       'S';
}

/* R1 */
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

/* Without /proc the idle CPU clock has to do. */
static bool is_asleep(int tid)
{
	char state = wf_os_thread_state(proc, tid);

	return state == 'S' || state == 'D' || proc < 0;
}

static bool has_work(const struct wf_vp *vp, int64_t now_ns)
{
	return wf_queue_waiting_i(vp) + wf_queue_waiting_b(vp) > 0 ||
	       wf_timers_earliest(vp) <= now_ns;
}

/* R2 */
static bool is_blocked(struct wf_vp *vp, int64_t now_ns)
{
	struct look *l = &looks[vp->id];
	const struct wf_carrier *c = vp->carrier;
	uint64_t switches = wf_load_relaxed(&vp->counters.switches);
	int tid = wf_load_relaxed(&c->tid);
	int64_t cpu = wf_os_thread_cpu(tid);
	bool is_suspect = l->carrier == c && l->switches == switches &&
			  (cpu - l->cpu_ns) * 2 < now_ns - l->wall_ns;

	*l = (struct look){ switches, cpu, now_ns, c };
	return is_suspect && is_asleep(tid);
}

static bool is_refusing(struct wf_vp *vp)
{
	struct wf_carrier *c = vp->carrier;

	if (wf_load_relaxed(&c->nr_refused) < REFUSALS_BEFORE_TAKE)
		return false;
	wf_store_relaxed(&c->nr_refused, 0);
	return true;
}

static bool rescue(struct wf_vp *vp, int64_t now_ns)
{
	struct wf_thread *t = wf_load_acquire(&vp->cur);
	struct wf_carrier *spare;

	if (t == NULL || !has_work(vp, now_ns)) {
		looks[vp->id].carrier = NULL;
		return false;
	}
	if (!is_refusing(vp) && !is_blocked(vp, now_ns))
		return false;
	/* First who is to have the VP, then the VP. */
	spare = wf_carrier_take_spare();
	if (spare == NULL)
		return false;
	if (!take(vp, t)) {
		wf_carrier_put_back(spare);
		return false;
	}
	t->nr_rescued++;
	wf_count(rescues);
	wf_carrier_give(spare, vp);
	return true;
}

/* R3: a few at each look, since there may be hundreds, asleep. */
static void signal_strays(void)
{
	static uint32_t next;
	uint32_t nr = wf_carrier_count();

	for (uint32_t i = 0; i < nr && i < STRAYS_PER_LOOK; i++) {
		struct wf_carrier *c = wf_carrier_at(next++ % nr);
		struct wf_vp *vp = c != NULL ? wf_load_relaxed(&c->vp) : NULL;
		int tid;

		if (vp == NULL || vp->carrier == c)
			continue;
		tid = wf_load_relaxed(&c->tid);
		if (tid != 0 && wf_os_thread_state(proc, tid) == 'R')
			wf_preempt_signal(c);
	}
}

bool wf_rescue_all(int64_t now_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < wf_sched.nr_vps && i < MAX_VPS; i++)
		any |= rescue(&wf_sched.vps[i], now_ns);
	signal_strays();
	return any;
}
