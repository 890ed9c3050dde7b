#include "thread/kernel_state.h"

#include <errno.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/promise.h"
#include "sched/runtime.h"
#include "signal/preempt.h"
#include "thread/lifecycle.h"

int wf_kernel_state_begin(void)
{
	struct wf_thread *t;
	bool is_bound;

	/* Before there are others, all are cloned from this one. */
	if (!wf_is_started())
		return 0;
	t = wf_runtime_enter();
	is_bound = wf_carrier_bind(t);
	wf_runtime_leave(t);
	return is_bound ? 0 : -EAGAIN;
}

void wf_kernel_state_end(long rc)
{
	if (wf_self != NULL)
		wf_kernel_state_end_for(wf_self, rc);
}

/*
 * Where it runs, if it does, and does not wait in a system call, which a signal
 * might cut short; else NULL. One that has lost its VP so is sent for by the
 * monitor if it computes. It may have ended by now and be another, which has no
 * carrier.
 */
static struct wf_carrier *running_on(const struct wf_thread *t)
{
	struct wf_carrier *c =
		*(struct wf_carrier *const volatile *)&t->carrier;
	const struct wf_vp *vp = *(struct wf_vp *const volatile *)&t->vp;
	char state = 'X';
	int proc;

	if (c == NULL || vp == NULL || wf_load_acquire(&vp->cur) != t)
		return NULL;
	proc = wf_os_proc_open();
	if (proc >= 0) {
		state = wf_os_thread_state(proc, wf_load_relaxed(&c->tid));
		wf_sys(SYS_close, proc);
	}
	return state != 'S' && state != 'D' ? c : NULL;
}

/*
 * Who does not run looks at its exit_work before it does (W1 in
 * signal/route.c), or when its carrier's CPU timer asks it to.
 */
static void hurry(const struct wf_thread *t)
{
	struct wf_carrier *c;

	wf_os_pass_barrier();
	c = t->kind == WF_THREAD_MULTIPLEXED ? running_on(t) : NULL;
	if (c != NULL)
		wf_preempt_signal(c);
}

int wf_kernel_state_begin_for(struct wf_thread *t)
{
	struct wf_thread *me;
	bool has_own;

	if (t == wf_self)
		return wf_kernel_state_begin();
	me = wf_runtime_enter();
	has_own = wf_promise_make(t) != NULL;
	if (has_own)
		hurry(t);
	wf_runtime_leave(me);
	return has_own ? 0 : -EAGAIN;
}

void wf_kernel_state_end_for(const struct wf_thread *t, long rc)
{
	struct wf_carrier *c = wf_promise_find(t);

	if (rc >= 0 && c != NULL)
		c->is_altered = true;
}

int wf_kernel_state_tid_of(const struct wf_thread *t)
{
	const struct wf_carrier *c;

	/* In a child of fork, too, whose VPs are still the parent's. */
	if (t->kind == WF_THREAD_FOREIGN)
		return t == wf_self ? 0 : t->tid;
	c = wf_promise_find(t);
	if (c == NULL)
		c = wf_sched.vps[0].carrier;
	return wf_load_relaxed(&c->tid);
}

int wf_kernel_state_tid(int tid)
{
	const struct wf_thread *t = wf_thread_of_id(tid);

	return t != NULL ? wf_kernel_state_tid_of(t) : tid;
}
