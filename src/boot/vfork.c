/* SPDX-License-Identifier: MIT */
/*
 * vfork, and clone with CLONE_VFORK. The child gets the signal mask, the
 * actions and the alternate stack that the program has set, as a child of fork
 * does. sched/vfork_child.h records which thread has made which child.
 */
#include "boot/vfork.h"

#include "boot/tracer.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/vp.h"
#include "signal/action.h"
#include "signal/signal.h"
#include "thread/name.h"
#include "thread/policy.h"

/*
 * A copy of the program's signal actions for each child, made before the child.
 * The child must not wait for the lock of the actions, nor be killed while it
 * holds that lock.
 */
static struct wf_actions actions[WF_VFORK_CHILDREN];

struct wf_vfork_child *wf_vfork_begin(void)
{
	struct wf_vfork_child *l;

	wf_tracer_fork();
	l = wf_vfork_child_begin();
	if (l != NULL && wf_load_relaxed(&wf_sched.is_started))
		wf_actions_copy(&actions[l - wf_vfork_children]);
	return l;
}

void wf_vfork_enter_child(void)
{
	const struct wf_vfork_child *l = wf_vfork_child_of(wf_self);
	const struct wf_thread *parent = wf_load_relaxed(&l->parent);

	if (wf_load_relaxed(&wf_sched.is_started))
		wf_actions_give_up(&actions[l - wf_vfork_children]);
	wf_policy_vfork_child(parent);
	if (parent->carrier != NULL) {
		wf_name_fork_child(parent);
		wf_signal_restore(parent);
	} else {
		wf_os_set_signal_mask(l->mask);
	}
}
