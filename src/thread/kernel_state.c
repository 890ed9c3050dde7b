/* SPDX-License-Identifier: MIT */
/*
 * Binds threads that change kernel state. A thread that changes its own state
 * is bound before the call. For another thread a carrier is reserved, which
 * gets the state at once, and the thread moves to it soon. When such a thread
 * ends, its kernel thread exits or sleeps, and is not used again.
 */
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
 * Binds t, the caller, and moves it to a new carrier before. Other threads may
 * wait for requests that t's present carrier has made to the kernel. If t were
 * bound to that carrier, it would exit with t, and the requests would have to
 * be made again. The first thread stays if it is on the process's first kernel
 * thread, where /proc shows the process.
 */
static bool give_carrier(struct wf_thread *t, enum wf_bound_why why)
{
	bool stays = t->is_first &&
		     wf_load_relaxed(&t->carrier->tid) == wf_os_getpid();

	if (t->kind == WF_THREAD_MULTIPLEXED && !stays &&
	    wf_reserved_make(t, why) == NULL)
		return false;
	return wf_carrier_bind(t, why);
}

int wf_kernel_state_begin(enum wf_bound_why why)
{
	struct wf_thread *t;
	bool is_bound;

	/*
	 * Before the start a change needs no carrier: all kernel threads are
	 * cloned from this one. In a child process with a copy of the memory
	 * that weft does not know, the caller is the only thread.
	 */
	if (!wf_is_started() || !wf_preempt_is_here())
		return 0;
	t = wf_runtime_enter();
	is_bound = give_carrier(t, why);
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
 * Makes t check its exit_work soon. A thread that does not run checks it before
 * it runs (ROUTING-1 in signal/routing.c), or when the CPU timer of its carrier
 * fires. A signal is not sent to a thread that sleeps in a system call, since
 * it might interrupt the call. Such a thread loses its VP, and the monitor
 * preempts it once it computes.
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

int wf_kernel_state_begin_for(struct wf_thread *t, enum wf_bound_why why)
{
	struct wf_thread *me;
	bool has_own;

	if (t == wf_self)
		return wf_kernel_state_begin(why);
	me = wf_runtime_enter();
	has_own = wf_reserved_make(t, why) != NULL;
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

/*
 * the first thread has state that clones do not inherit; written while the
 * process has one thread
 */
static bool first_has_own;
static _Atomic int first_death_signal;

void wf_kernel_state_note_own(void)
{
	first_has_own = true;
}

/*
 * An earlier program in this process may have set a parent-death signal, which
 * is still in force. It belongs to the process until a program without it is
 * executed. The kernel sends it whichever thread has set it, so the first
 * thread may still leave its kernel thread.
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

/*
 * A thread that sets a parent-death signal is bound, so a multiplexed thread
 * has none.
 */
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

	/*
	 * Comes before the check of carriers, since in a fork child all threads
	 * are foreign and the VPs still show the parent's carriers.
	 */
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
