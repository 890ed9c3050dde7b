/*
 * vfork and clone's like: what the child has of its own, signal mask, actions
 * and alternate stack, is made to be what the program takes it for, as in a
 * child of fork. Who lends, and to whom, is sched/borrow.h's.
 */
#include "boot/vfork.h"

#include "boot/tracer.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/vp.h"
#include "signal/action.h"
#include "signal/signal.h"
#include "thread/policy.h"

/* Of the lenders, from before the child is made: it must not wait for a lock,
 * nor be killed while it holds one. */
static struct wf_actions actions[WF_LOANS];

struct wf_loan *wf_vfork_begin(void)
{
	struct wf_loan *l;

	wf_tracer_fork();
	l = wf_borrow_begin();
	if (l != NULL && wf_load_relaxed(&wf_sched.is_started))
		wf_actions_copy(&actions[l - wf_loans]);
	return l;
}

void wf_vfork_child(void)
{
	const struct wf_loan *l = wf_loan_of(wf_self);
	const struct wf_thread *lender = wf_load_relaxed(&l->lender);

	if (wf_load_relaxed(&wf_sched.is_started))
		wf_actions_give_up(&actions[l - wf_loans]);
	wf_policy_vfork_child(lender);
	if (lender->carrier != NULL)
		wf_signal_restore(lender);
	else
		wf_os_set_signal_mask(l->mask);
}
