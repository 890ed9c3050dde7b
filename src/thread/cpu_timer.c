/* SPDX-License-Identifier: MIT */
/*
 * A timer on a thread's CPU clock needs the kernel's clock of one kernel
 * thread. So the thread is bound, and the kernel arms the timer on the clock of
 * its carrier. This file remembers which timer is on which thread's clock.
 *
 * Rejected: to arm the timer in the carrier at each switch to the thread. That
 * costs two system calls a switch. Programs have such timers for threads that
 * compute, and these gain nothing by sharing a kernel thread.
 *
 * CPU_TIMER-1. Entries change under the lock only. An entry with tid 0 is free.
 */
#include "thread/cpu_timer.h"

#include <errno.h>
#include <string.h>

#include "base/spin.h"
#include "os/clock.h"
#include "sched/cpu_time.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "thread/kernel_state.h"

enum {
	MAX_TIMERS = 1024,
	/* The kernel's number of a thread's CPU clock: the inverted tid, and
	 * below it so many bits for the kind of clock. */
	KIND_BITS = 3,
	THREADS_CPU_TIME = 6,
};

struct entry {
	timer_t timer;
	int32_t tid;
};

static struct wf_spin lock = WF_SPIN_INIT;
static struct entry entries[MAX_TIMERS]; /* CPU_TIMER-1: under the lock */
/* number of entries in use; written under the lock */
static _Atomic uint32_t nr_timers;
/* the first thread made a timer before weft's start */
static bool first_is_timed;

int wf_cpu_timer_clock(struct wf_thread *t, clockid_t *ret_clock)
{
	int err = wf_kernel_state_begin_for(t, WF_BOUND_CPU_CLOCK);

	if (err == 0)
		*ret_clock = (clockid_t)(~(uint32_t)wf_kernel_state_tid_of(t)
						 << KIND_BITS |
					 THREADS_CPU_TIME);
	return err;
}

/*
 * Finds the entry of a timer, or with is_free a free one; NULL if there is
 * none.
 */
static struct entry *find_locked(timer_t timer, bool is_free)
{
	for (uint32_t i = 0; i < MAX_TIMERS; i++) {
		struct entry *e = &entries[i];

		if (is_free ? e->tid == 0 : e->tid != 0 && e->timer == timer)
			return e;
	}
	return NULL;
}

int wf_cpu_timer_add(timer_t timer, const struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();
	struct entry *e;

	wf_spin_lock(&lock, WF_RANK_CPU_TIMERS);
	e = find_locked(timer, true);
	if (e != NULL) {
		*e = (struct entry){ timer, t->tid };
		wf_store_relaxed(&nr_timers, wf_load_relaxed(&nr_timers) + 1);
	}
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	return e != NULL ? 0 : -EAGAIN;
}

void wf_cpu_timer_remove(timer_t timer)
{
	struct wf_thread *me;
	struct entry *e;

	if (wf_load_relaxed(&nr_timers) == 0)
		return;
	me = wf_runtime_enter();
	wf_spin_lock(&lock, WF_RANK_CPU_TIMERS);
	e = find_locked(timer, false);
	if (e != NULL) {
		e->tid = 0;
		wf_store_relaxed(&nr_timers, wf_load_relaxed(&nr_timers) - 1);
	}
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
}

void wf_cpu_timer_note(void)
{
	first_is_timed = true;
}

void wf_cpu_timer_adopt(struct wf_thread *t)
{
	if (first_is_timed)
		atomic_fetch_or(&t->exit_work, WF_WORK_BIND);
}

bool wf_cpu_timer_owner(timer_t timer, const struct wf_thread **ret_thread)
{
	const struct wf_thread *t;
	struct wf_thread *me;
	const struct entry *e;
	int32_t tid;

	if (wf_load_relaxed(&nr_timers) == 0)
		return false;
	me = wf_runtime_enter();
	wf_spin_lock(&lock, WF_RANK_CPU_TIMERS);
	e = find_locked(timer, false);
	tid = e != NULL ? e->tid : 0;
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	if (tid == 0)
		return false;
	t = wf_table_by_tid(tid);
	*ret_thread = wf_thread_exists(t) ? t : NULL;
	return true;
}

/*
 * Returns ts in ns, at most half of the range of int64_t: then an addition
 * cannot overflow.
 */
static int64_t ns_of(struct timespec ts)
{
	const int64_t most_s = INT64_MAX / 2 / WF_NS_PER_S;

	return ts.tv_sec < most_s ? ts.tv_sec * WF_NS_PER_S + ts.tv_nsec :
				    most_s * WF_NS_PER_S;
}

struct timespec wf_cpu_timer_after(clockid_t clock, struct timespec more)
{
	return wf_os_timespec(wf_os_clock(clock) + ns_of(more));
}

struct timespec wf_cpu_timer_until(clockid_t clock, struct timespec at)
{
	int64_t ns = ns_of(at) - wf_os_clock(clock);

	return wf_os_timespec(ns > 0 ? ns : 0);
}

struct timespec wf_cpu_timer_translate(const struct wf_thread *t,
				       struct timespec at)
{
	int64_t ns = ns_of(at);

	ns += wf_os_thread_cpu(wf_kernel_state_tid_of(t)) - wf_cpu_time_of(t);
	/* If the time is in the past, 1 ns makes the timer expire at once. 0
	 * would stop it. */
	return wf_os_timespec(ns > 0 ? ns : 1);
}

bool wf_cpu_timer_is_any(int32_t tid)
{
	bool is_any = false;

	if (wf_load_relaxed(&nr_timers) == 0)
		return false;
	wf_spin_lock(&lock, WF_RANK_CPU_TIMERS);
	for (uint32_t i = 0; i < MAX_TIMERS; i++)
		is_any |= entries[i].tid == tid;
	wf_spin_unlock(&lock);
	return is_any;
}

void wf_cpu_timer_thread_end(const struct wf_thread *t)
{
	if (t->kind == WF_THREAD_BOUND && wf_cpu_timer_is_any(t->tid))
		t->carrier->is_altered = true;
}

void wf_cpu_timer_fork_child(void)
{
	lock = WF_SPIN_INIT;
	memset(entries, 0, sizeof(entries));
	wf_store_relaxed(&nr_timers, 0);
	first_is_timed = false;
}
