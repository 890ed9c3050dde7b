/* SPDX-License-Identifier: MIT */
#include "thread/kernel_state.h"

#include <errno.h>
#include <sys/prctl.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "signal/preempt.h"
#include "thread/lifecycle.h"

/*
 * It will exit with t: the carrier that t runs on may have asked the kernel for
 * what others wait for, which then would have to be asked for again. The first
 * thread stays where /proc shows the process, if it is there.
 */
static bool give_carrier(struct wf_thread *t)
{
	bool stays = t->is_first &&
		     wf_load_relaxed(&t->carrier->tid) == wf_os_getpid();

	if (t->kind == WF_THREAD_MULTIPLEXED && !stays &&
	    wf_reserved_make(t) == NULL)
		return false;
	return wf_carrier_bind(t);
}

int wf_kernel_state_begin(void)
{
	struct wf_thread *t;
	bool is_bound;

	/*
	 * Before there are others, all are cloned from this one. A child that
	 * has a copy of the memory unknown to weft is the caller alone.
	 */
	if (!wf_is_started() || !wf_preempt_is_here())
		return 0;
	t = wf_runtime_enter();
	is_bound = give_carrier(t);
	wf_runtime_leave(t);
	return is_bound ? 0 : -EAGAIN;
}

void wf_kernel_state_end(long rc)
{
	if (wf_self != NULL)
		wf_kernel_state_end_for(wf_self, rc);
}

void wf_kernel_state_files_end(long rc)
{
	wf_kernel_state_end(rc);
	if (rc >= 0 && wf_self != NULL && wf_carrier_is_altered(wf_self))
		wf_self->carrier->has_own_files = true;
}

static bool sleeps_in_kernel(const struct wf_carrier *c)
{
	int proc = wf_os_proc_open();
	char state;

	if (proc < 0)
		return false;
	state = wf_os_thread_state(proc, wf_load_relaxed(&c->tid));
	wf_sys(SYS_close, proc);
	return state == 'S' || state == 'D';
}

/*
 * Who does not run looks at its exit_work before it does (ROUTING-1 in
 * signal/routing.c), or when its carrier's CPU timer asks it to. One that
 * sleeps in a system call is let be, since a signal might cut that short: it
 * will lose its VP, and then the monitor sends for it as soon as it computes.
 */
static void hurry(const struct wf_thread *t)
{
	struct wf_carrier *c;

	wf_os_pass_barrier();
	c = wf_carrier_running(t);
	if (c != NULL && t->kind == WF_THREAD_MULTIPLEXED &&
	    !sleeps_in_kernel(c))
		wf_preempt_signal(c);
}

int wf_kernel_state_begin_for(struct wf_thread *t)
{
	struct wf_thread *me;
	bool has_own;

	if (t == wf_self)
		return wf_kernel_state_begin();
	me = wf_runtime_enter();
	has_own = wf_reserved_make(t) != NULL;
	if (has_own)
		hurry(t);
	wf_runtime_leave(me);
	return has_own ? 0 : -EAGAIN;
}

void wf_kernel_state_end_for(const struct wf_thread *t, long rc)
{
	struct wf_carrier *c = wf_reserved_find(t);

	if (rc >= 0 && c != NULL)
		c->is_altered = true;
}

void wf_kernel_state_end_own_for(const struct wf_thread *t)
{
	struct wf_carrier *c = wf_reserved_find(t);

	if (c != NULL)
		c->has_own_state = true;
}

/* --- before the start --------------------------------------------------- */

static bool first_has_own; /* written while the process has one thread */
static _Atomic int first_death_signal;

void wf_kernel_state_note_own(void)
{
	first_has_own = true;
}

/*
 * The signal of an earlier program's is still there: it is the process's until
 * a program without it is executed. It comes whichever thread set it, so the
 * first thread may leave its kernel thread for all that.
 */
void wf_kernel_state_adopt(struct wf_thread *t)
{
	int sig = 0;

	wf_sys(SYS_prctl, PR_GET_PDEATHSIG, &sig);
	wf_store_relaxed(&first_death_signal, sig);
	if (!first_has_own)
		return;
	atomic_fetch_or(&t->exit_work, WF_WORK_BIND);
	t->carrier->has_own_state = true;
}

void wf_kernel_state_note_death_signal(int sig)
{
	if (wf_self != NULL && wf_self->is_first)
		wf_store_relaxed(&first_death_signal, sig);
}

/* A thread that sets one is bound, so a multiplexed thread has none. */
bool wf_kernel_state_death_signal(int *ret_sig)
{
	const struct wf_thread *t = wf_self;

	if (!wf_is_started() || !wf_preempt_is_here() ||
	    (!t->is_first && t->kind != WF_THREAD_MULTIPLEXED))
		return false;
	*ret_sig = t->is_first ? wf_load_relaxed(&first_death_signal) : 0;
	return true;
}

void wf_kernel_state_thread_end(const struct wf_thread *t)
{
	if (t->carrier->has_own_state)
		t->carrier->is_altered = true;
}

bool wf_kernel_state_may_leave(const struct wf_thread *t)
{
	const struct wf_carrier *own = wf_reserved_find(t);

	return own == NULL || wf_load_relaxed(&own->tid) == wf_os_getpid() ||
	       (own == t->carrier && !own->is_altered && !own->has_own_state &&
		own->nr_inherited == 0);
}

void wf_kernel_state_stop(const struct wf_thread *t)
{
	first_has_own = t->carrier->has_own_state;
}

void wf_kernel_state_fork_child(void)
{
	first_has_own = false;
	wf_store_relaxed(&first_death_signal, 0);
}

/* --- ids ---------------------------------------------------------------- */

int wf_kernel_state_tid_of(const struct wf_thread *t)
{
	const struct wf_carrier *c;

	/* In a child of fork, too, whose VPs are still the parent's. */
	if (t->kind == WF_THREAD_FOREIGN)
		return t == wf_self ? 0 : t->tid;
	c = wf_reserved_find(t);
	if (c == NULL)
		c = wf_sched.vps[0].carrier;
	return wf_load_relaxed(&c->tid);
}

int wf_kernel_state_id_of(int tid)
{
	uint32_t nr = wf_carrier_count();

	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_carrier *c = wf_carrier_at(i);

		if (c != NULL && wf_load_relaxed(&c->tid) == tid &&
		    c->bound != NULL)
			return c->bound->tid;
	}
	return tid;
}

int wf_kernel_state_tid(int tid)
{
	const struct wf_thread *t = wf_thread_of_id(tid);

	return t != NULL ? wf_kernel_state_tid_of(t) : tid;
}
