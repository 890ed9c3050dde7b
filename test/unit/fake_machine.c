/* SPDX-License-Identifier: MIT */
#include "fake_machine.h"

#include <stdlib.h>
#include <string.h>

#include "monitor/handoff.h"
#include "monitor/preempt_request.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/kthread.h"
#include "sched/cpu_time.h"
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/ready.h"
#include "sched/realtime.h"
#include "sched/registers.h"
#include "sched/start.h"
#include "sched/switch.h"
#include "signal/preempt.h"

enum { MAX_THREADS = 1024, MAX_VPS = 4, FIRST_TID = 100 };

struct machine machine;
struct wf_thread *wf_table;
struct wf_counters wf_counters;
/* No register of the real machine is read. */
_Atomic uint32_t wf_registers = WF_REGISTERS_NO_GSBASE;

static struct wf_carrier carriers[MAX_VPS];
static int64_t cpu_ns[MAX_VPS], used_ns[MAX_THREADS];
static uint32_t nr_threads;

void machine_init(uint32_t nr_vps)
{
	free(wf_table);
	wf_table =
		aligned_alloc(WF_CACHE_LINE, MAX_THREADS * sizeof(*wf_table));
	memset(wf_table, 0, MAX_THREADS * sizeof(*wf_table));
	memset(carriers, 0, sizeof(carriers));
	memset(cpu_ns, 0, sizeof(cpu_ns));
	memset(used_ns, 0, sizeof(used_ns));
	machine = (struct machine){ .now_ns = 1000 * MACHINE_TICK,
				    .is_runnable = true };
	nr_threads = 0;
	wf_realtime_fork_child();
	wf_sched.vps = NULL;
	if (wf_vps_init(nr_vps) != 0)
		abort();
	for (uint32_t i = 0; i < nr_vps; i++) {
		wf_sched.vps[i].carrier = &carriers[i];
		wf_store_relaxed(&carriers[i].tid, FIRST_TID + (int)i);
		wf_store_relaxed(&carriers[i].vp, &wf_sched.vps[i]);
	}
}

/* The number of CPUs is that of the VPs, unless a test sets fewer. */
uint32_t wf_os_cpus_allowed(int tid)
{
	return machine.nr_cpus != 0 ? machine.nr_cpus : MAX_VPS;
}

struct wf_vp *machine_one_vp(void)
{
	machine_init(1);
	return machine_vp(0);
}

struct wf_vp *machine_vp(uint32_t i)
{
	return &wf_sched.vps[i];
}

struct wf_thread *machine_thread(void)
{
	struct wf_thread *t = wf_table_at(++nr_threads);

	t->index = nr_threads;
	t->kind = WF_THREAD_MULTIPLEXED;
	return t;
}

struct wf_thread *machine_cpu_bound(void)
{
	struct wf_thread *t = machine_thread();

	t->cpu_bound = WF_CPU_BOUND_NOW;
	wf_thread_set_uncooperative(t);
	return t;
}

static void make_current(struct wf_vp *vp, struct wf_thread *t)
{
	wf_store_relaxed(&vp->cur, t);
	if (t == NULL)
		return;
	t->vp = vp;
	t->carrier = vp->carrier;
	wf_count_own(&vp->counters, switches);
}

void machine_run(struct wf_vp *vp, struct wf_thread *t)
{
	t->from_batch = t->cpu_bound;
	make_current(vp, t);
	machine_tick(); /* now the monitor has seen the thread */
}

void machine_queue(struct wf_vp *vp, struct wf_thread *t)
{
	wf_queue_put(vp, t, WF_READY_EXPIRED);
}

void machine_pass_idle(int64_t ns)
{
	machine.now_ns += ns;
}

void machine_pass(int64_t ns)
{
	machine_pass_idle(ns);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_thread *t =
			wf_load_relaxed(&wf_sched.vps[i].cur);

		if (t == NULL)
			continue;
		cpu_ns[i] += ns;
		used_ns[t->index] += ns;
	}
}

void machine_tick(void)
{
	wf_tick_all(machine.now_ns);
}

void machine_pass_ticks(int nr)
{
	for (int i = 0; i < nr; i++) {
		machine_pass(WF_TICK_RETRY_NS);
		wf_preempt_request_retry(machine.now_ns);
		machine_pass(MACHINE_TICK - WF_TICK_RETRY_NS);
		machine_tick();
	}
}

static void yield_to(struct wf_vp *vp, struct wf_thread *t, enum wf_resched why)
{
	struct wf_thread *next = wf_switch_next(t, why);

	if (wf_switch_stays(vp, next))
		return;
	make_current(vp, next);
	wf_switch_requeue(why)(vp->carrier, t);
}

bool machine_call(struct wf_vp *vp)
{
	struct wf_thread *t = wf_load_relaxed(&vp->cur);
	enum wf_resched why = wf_vp_asked(vp);

	if ((wf_load_relaxed(&t->exit_work) & WF_WORK_RESCHED) == 0)
		return false;
	wf_store_relaxed(&t->exit_work, 0);
	if (why != WF_RESCHED_NONE)
		yield_to(vp, t, why);
	return why != WF_RESCHED_NONE;
}

bool machine_switch(struct wf_vp *vp)
{
	struct wf_thread *t = wf_load_relaxed(&vp->cur);
	enum wf_resched why = wf_vp_asked(vp);

	if (!wf_load_relaxed(&vp->carrier->is_signalled))
		return false;
	wf_store_relaxed(&vp->carrier->is_signalled, false);
	if (why != WF_RESCHED_NONE)
		yield_to(vp, t, why);
	return wf_load_relaxed(&vp->cur) != t;
}

void machine_block(struct wf_vp *vp)
{
	wf_thread_end_stay(wf_load_relaxed(&vp->cur));
	make_current(vp, wf_queue_pick(vp));
}

int64_t machine_used(const struct wf_thread *t)
{
	return used_ns[t->index];
}

/* --- the rest of weft, as far as the rules use it ------------------------- */

int64_t wf_os_thread_cpu(int tid)
{
	return cpu_ns[tid - FIRST_TID];
}

bool wf_handoff_is_runnable(const struct wf_carrier *c)
{
	return machine.is_runnable && !machine.has_no_proc;
}

bool wf_handoff_may_run(const struct wf_carrier *c)
{
	return machine.is_runnable || machine.has_no_proc;
}

void wf_preempt_signal(struct wf_carrier *c)
{
	if (!atomic_exchange(&c->is_signalled, true))
		machine.nr_signals++;
}

int64_t wf_idle_wake_cost(void)
{
	return 25 * 1000;
}

bool wf_idle_wake(struct wf_vp *vp)
{
	machine.nr_wakes++;
	return true;
}

bool wf_idle_wake_sleeper(void)
{
	machine.nr_wakes++;
	return true;
}

void wf_idle_wake_any(void)
{
	machine.nr_wakes++;
}

void wf_idle_check_poller(void)
{
}

void wf_idle_wake_monitor(void)
{
}

void wf_start_prepare(struct wf_thread *t, struct wf_pool *pool)
{
}

__thread struct wf_thread *wf_self;

/* There is one kernel thread, so no barrier is needed. */
void wf_os_pass_barrier(void)
{
}

/* No test takes a thread out of wf_realtime_set's lists. */

void wf_ready_woken(struct wf_thread *me, struct wf_thread *t)
{
	abort();
}

/* No stack is switched here, and no CPU time is read. */

_Atomic bool wf_cpu_time_is_on;

void wf_registers_save_slow(const struct wf_thread *t)
{
	(void)t;
}

void wf_registers_load_slow(const struct wf_thread *t)
{
	(void)t;
}

void wf_cpu_time_charge_slow(struct wf_carrier *c, const struct wf_thread *t)
{
	abort();
}

void wf_cpu_time_resume_slow(struct wf_carrier *c)
{
	abort();
}

void *wf_arch_switch_syscall(void **save_sp, void *load_sp, uintptr_t load_tp,
			     void *token)
{
	abort();
}

void wf_os_set_signal_mask(uint64_t mask)
{
	abort();
}
