/* SPDX-License-Identifier: MIT */
/*
 * The kernel counts CPU time per kernel thread, and many threads share one
 * kernel thread. So each switch reads the carrier's CPU clock, and charges the
 * outgoing thread with the time since the last reading. To read a running
 * thread's time, a reader adds the time since that reading. The reader tries
 * again if a switch came between.
 *
 * The first thread that asks for a CPU time begins the measuring; it is called
 * the first asker here.
 *
 * CPU_TIME-1. used[i] is the CPU time of thread i. The carrier that runs thread
 *     i writes it when it stops running the thread. Thread i's creator writes
 *     it before thread i can run. The first asker writes its own when measuring
 *     begins.
 * CPU_TIME-2. c->cpu_mark is the CPU time of carrier c up to which its threads
 *     have been charged. Carrier c writes it, and the first asker does when
 *     measuring begins.
 * CPU_TIME-3. When measuring has begun, each carrier sets its mark as it
 *     switches, and the first asker sets the marks of carriers that have not
 *     switched. A carrier that gets a thread of its own loses its mark. If it
 *     gets a new mark before it runs the thread, all its time since then is the
 *     thread's. So the clock of a thread that has yet to begin never goes back.
 * CPU_TIME-4. The kernel thread of the first asker may have run other threads
 *     before. A thread has used no more CPU time than the time since its
 *     creation. handoff_ms has that moment, until a VP is taken from the
 *     thread. It may be too early, by at most the pause between two rounds of
 *     the monitor or between its wake and its first round.
 */
#include "sched/cpu_time.h"

#include <errno.h>

#include "os/clock.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/registers.h"
#include "sched/runtime.h"
#include "sched/table.h"

enum { MAX_THREADS = 1 << WF_TID_INDEX_BITS, NR_TRIES = 8 };

_Atomic bool wf_cpu_time_is_on;

static struct wf_spin lock = WF_SPIN_INIT; /* taken by begin() */
/* ns, by thread index; pages appear at the first use */
static _Atomic int64_t *used;
static bool was_asked_before;
/* ns; result of wf_cpu_time_extra for the first thread */
static int64_t first_extra;

static int64_t own_ns(void)
{
	struct timespec ts;

	wf_sys(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * WF_NS_PER_S + ts.tv_nsec;
}

void wf_cpu_time_charge_slow(struct wf_carrier *c, const struct wf_thread *t)
{
	int64_t now = own_ns();
	int64_t mark = wf_load_relaxed(&c->cpu_mark);

	if (t == NULL || t == &c->idle_self)
		/* CPU_TIME-3: a bound thread gets all the time of its
		 * carrier */
		t = c->bound;
	if (t != NULL && mark != 0)
		wf_store_relaxed(&used[t->index],
				 wf_load_relaxed(&used[t->index]) + now - mark);
	/* release: the time; pairs with the acquire in time_now. */
	wf_store_release(&c->cpu_mark, now);
}

/* If c has a bound thread, charges it with all of c's CPU time so far. */
void wf_cpu_time_resume_slow(struct wf_carrier *c)
{
	if (c->bound != NULL || wf_load_relaxed(&c->cpu_mark) == 0)
		wf_cpu_time_charge_slow(c, NULL);
}

void wf_cpu_time_begin_slow(const struct wf_thread *t)
{
	wf_store_relaxed(&used[t->index], 0);
}

static void forget_marks(void)
{
	for (uint32_t i = 0; i < wf_carrier_count(); i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (c != NULL) /* NULL if the carrier is being made */
			wf_store_relaxed(&c->cpu_mark, 0);
	}
}

/*
 * Marks the carriers that have not switched since measuring began. CPU_TIME-3
 */
static void mark_carriers(void)
{
	for (uint32_t i = 0; i < wf_carrier_count(); i++) {
		struct wf_carrier *c = wf_carrier_at(i);
		int tid = c != NULL ? wf_load_relaxed(&c->tid) : 0;
		int64_t now = tid != 0 ? wf_os_thread_cpu(tid) : 0;
		int64_t unmarked = 0;

		if (now > 0)
			wf_cas_acq_rel(&c->cpu_mark, &unmarked, now);
	}
}

/* An upper limit of the CPU time of `me`, the first asker (CPU_TIME-4). */
static int64_t most_ns(const struct wf_thread *me)
{
	uint32_t now_ms = (uint32_t)(wf_os_now() / WF_NS_PER_MS);
	uint32_t age_ms = now_ms - me->handoff_ms;

	if (me->is_first || me->nr_handoffs != 0)
		return INT64_MAX;
	return (age_ms + INT64_C(1)) * WF_NS_PER_MS;
}

/* Begins the measuring. me: the first asker, or NULL. */
static int begin(const struct wf_thread *me)
{
	if (used == NULL)
		used = wf_os_reserve(MAX_THREADS * sizeof(*used));
	if (used == NULL)
		return -ENOMEM;
	forget_marks();
	if (me != NULL && me->carrier != NULL) {
		int64_t now = own_ns(), most = most_ns(me);

		wf_store_relaxed(&used[me->index],
				 (now < most ? now : most) +
					 wf_cpu_time_extra(me));
		wf_store_relaxed(&me->carrier->cpu_mark, now);
	}
	/* Sets the bit before the flag, since a switch reads the flag only if
	 * the bit is set. */
	wf_registers_add(WF_REGISTERS_CLOCK);
	/* release: publishes `used`; pairs with the acquire in
	 * wf_cpu_time_of. */
	wf_store_release(&wf_cpu_time_is_on, true);
	wf_os_pass_barrier();
	mark_carriers();
	return 0;
}

static int ensure(const struct wf_thread *me)
{
	int err = 0;

	if (WF_LIKELY(wf_load_acquire(&wf_cpu_time_is_on)))
		return 0;
	wf_spin_lock(&lock, WF_RANK_CPU_TIME);
	if (!wf_load_relaxed(&wf_cpu_time_is_on))
		err = begin(me);
	wf_spin_unlock(&lock);
	return err;
}

static bool is_running_on(const struct wf_thread *t, const struct wf_carrier *c)
{
	const struct wf_vp *vp;

	if (c == NULL)
		return false;
	if (t->kind != WF_THREAD_MULTIPLEXED)
		return true;
	vp = wf_load_acquire(&c->vp);
	return vp != NULL && wf_load_relaxed(&vp->cur) == t;
}

/*
 * Reads t's CPU time. Returns false if t was switched to or away from
 * meanwhile.
 */
static bool time_now(const struct wf_thread *t, int64_t *ret_ns)
{
	const struct wf_carrier *c = t->carrier;
	bool is_running = is_running_on(t, c);
	int64_t mark, now = 0;

	mark = is_running ? wf_load_acquire(&c->cpu_mark) : 0;
	*ret_ns = wf_load_relaxed(&used[t->index]);
	if (mark == 0) /* CPU_TIME-3: nothing to add */
		return is_running == is_running_on(t, t->carrier);
	now = wf_os_thread_cpu(wf_load_relaxed(&c->tid));
	if (now > mark)
		*ret_ns += now - mark;
	return is_running_on(t, c) && wf_load_acquire(&c->cpu_mark) == mark;
}

int64_t wf_cpu_time_of(const struct wf_thread *t)
{
	struct wf_thread *me;
	int64_t ns;

	if (t == wf_self && t->kind == WF_THREAD_FOREIGN)
		return own_ns() + wf_cpu_time_extra(t);
	me = wf_runtime_enter();
	ns = ensure(me);

	/* After NR_TRIES the last value is near enough: t switches all the
	 * time, so little of its time is not yet charged. */
	for (int i = 0; ns >= 0 && i < NR_TRIES; i++) {
		if (time_now(t, &ns))
			break;
	}
	wf_runtime_leave(me);
	return ns;
}

void wf_cpu_time_note(void)
{
	was_asked_before = true;
}

void wf_cpu_time_adopt(const struct wf_thread *t)
{
	if (was_asked_before)
		ensure(t);
}

int64_t wf_cpu_time_extra(const struct wf_thread *t)
{
	return t != NULL && t->is_first ? first_extra : 0;
}

void wf_cpu_time_stop(const struct wf_thread *t)
{
	int64_t ns = 0;

	if (!wf_load_relaxed(&wf_cpu_time_is_on))
		return;
	for (int i = 0; i < NR_TRIES && !time_now(t, &ns); i++)
		;
	first_extra = ns - own_ns();
	was_asked_before = true;
	wf_store_relaxed(&wf_cpu_time_is_on, false);
}

void wf_cpu_time_fork_child(void)
{
	first_extra = 0;
	lock = WF_SPIN_INIT;
	was_asked_before = false;
	wf_store_relaxed(&wf_cpu_time_is_on, false);
}
