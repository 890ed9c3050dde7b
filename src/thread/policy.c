/*
 * A thread with a VP has its policy among weft's threads (sched/realtime.h);
 * one with a kernel thread of its own has the kernel's. What a program may not
 * have it does not get. Limits, capabilities and groups decide that, so the
 * kernel is asked: the receiver gets the policy for a moment.
 */
#include "thread/policy.h"

#include <errno.h>
#include <sched.h>

#include "base/spin.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/receiver.h"
#include "sync/lending.h"
#include "thread/kernel_state.h"

static struct wf_spin lock = WF_SPIN_INIT; /* the receiver's policy */
static int base_policy, base_priority;	   /* of all carriers */

static int try_policy(int tid, int policy, int priority)
{
	struct sched_param before, param = { .sched_priority = priority };
	long had = wf_sys(SYS_sched_getscheduler, tid);
	int err;

	wf_sys(SYS_sched_getparam, tid, &before);
	err = (int)wf_sys(SYS_sched_setscheduler, tid, policy, &param);
	if (err == 0)
		wf_sys(SYS_sched_setscheduler, tid, had, &before);
	return err;
}

int wf_policy_check(int policy, int priority)
{
	long low = wf_sys(SYS_sched_get_priority_min, policy);
	struct wf_thread *me;
	int err;

	if (low < 0 || priority < low ||
	    priority > wf_sys(SYS_sched_get_priority_max, policy))
		return -EINVAL;
	if (policy != SCHED_FIFO && policy != SCHED_RR)
		return 0;
	me = wf_runtime_enter();
	wf_spin_lock(&lock);
	err = try_policy(wf_receiver_tid(), policy, priority);
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	return err;
}

void wf_policy_adopt(struct wf_thread *t)
{
	struct sched_param param = { .sched_priority = 0 };
	long policy = wf_sys(SYS_sched_getscheduler, 0);

	wf_sys(SYS_sched_getparam, 0, &param);
	/* Without SCHED_RESET_ON_FORK, a bit far above; the call may be
	 * refused. */
	t->sched_policy = policy < 0 ? SCHED_OTHER : (int8_t)(policy & 0x7f);
	t->sched_priority = (int8_t)param.sched_priority;
	t->rt_priority = (uint8_t)param.sched_priority;
	base_policy = t->sched_policy;
	base_priority = t->sched_priority;
}

static int set_kernel_thread(int tid, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return (int)wf_sys(SYS_sched_setscheduler, tid, policy, &param);
}

static int kernel_tid(const struct wf_thread *t)
{
	return t->kind == WF_THREAD_BOUND ? wf_kernel_state_tid_of(t) : t->tid;
}

static bool is_as_carriers(const struct wf_thread *t)
{
	return t->sched_policy == base_policy &&
	       t->sched_priority == base_priority;
}

int wf_policy_set(struct wf_thread *t, int policy, int priority)
{
	int err = wf_policy_check(policy, priority);

	if (err == 0 && t->kind != WF_THREAD_MULTIPLEXED)
		err = set_kernel_thread(kernel_tid(t), policy, priority);
	if (err < 0)
		return err;
	t->sched_policy = (int8_t)policy;
	t->sched_priority = (int8_t)priority;
	wf_lending_changed(t);
	return 0;
}

void wf_policy_begin_bound(const struct wf_thread *t)
{
	if (!is_as_carriers(t))
		set_kernel_thread(0, t->sched_policy, t->sched_priority);
}

void wf_policy_end_bound(const struct wf_thread *t)
{
	if (!is_as_carriers(t))
		set_kernel_thread(0, base_policy, base_priority);
}

void wf_policy_above_carriers(void)
{
	if (base_priority > 0)
		set_kernel_thread(0, base_policy, base_priority + 1);
}

void wf_policy_fork_child(const struct wf_thread *t)
{
	lock = WF_SPIN_INIT;
	if (t->kind == WF_THREAD_MULTIPLEXED)
		wf_policy_begin_bound(t);
}
