/* SPDX-License-Identifier: MIT */
/*
 * The policy of a thread that shares carriers is applied by weft's scheduler
 * (sched/realtime.h). A bound thread's kernel thread has the policy in the
 * kernel.
 *
 * Limits, capabilities and control groups decide whether a program may have a
 * policy. So weft asks the kernel: it gives the signal receiver thread the
 * policy for a moment. A thread may always keep or lower its priority, which
 * needs no question.
 */
#include "thread/policy.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/spin.h"
#include "libc/tcb.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/signal_receiver.h"
#include "sync/boost.h"
#include "thread/kernel_state.h"

/* held while the receiver has a policy on trial */
static struct wf_spin lock = WF_SPIN_INIT;
static int base_policy, base_priority; /* those of all shared carriers */

/*
 * The receiver's own policy. Only try_policy_locked changes it, for a moment.
 */
static struct {
	int tid; /* the receiver's kernel thread id; 0: not read yet */
	long policy;
	struct sched_param param;
} own;

static void learn_own_locked(int tid)
{
	if (own.tid == tid)
		return;
	own.tid = tid;
	own.policy = wf_sys(SYS_sched_getscheduler, tid);
	wf_sys(SYS_sched_getparam, tid, &own.param);
}

static int set_kernel_thread(int tid, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return (int)wf_sys(SYS_sched_setscheduler, tid, policy, &param);
}

/*
 * Gives the receiver the policy, reads its round-robin interval unless
 * ret_interval is NULL, and sets the receiver's own policy again. Returns 0 or
 * -Exxx.
 */
static int try_policy_locked(int policy, int priority,
			     struct timespec *ret_interval)
{
	int tid = wf_signal_receiver_tid();
	int err;

	learn_own_locked(tid);
	err = set_kernel_thread(tid, policy, priority);
	if (err < 0)
		return err;
	if (ret_interval != NULL)
		wf_sys(SYS_sched_rr_get_interval, tid, ret_interval);
	wf_sys(SYS_sched_setscheduler, tid, own.policy, &own.param);
	return 0;
}

static bool is_realtime(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/*
 * Asks whether the kernel would give the policy to a thread that is not
 * real-time. Returns 0 or -Exxx.
 */
static int ask(int policy, int priority, struct timespec *ret_interval)
{
	struct wf_thread *me = wf_runtime_enter();
	int err;

	wf_spin_lock(&lock, WF_RANK_RECEIVER_POLICY);
	err = try_policy_locked(policy, priority, ret_interval);
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	return err;
}

/* True if the kernel would let a thread lower its nice value. */
static bool may_be_nicer(void)
{
	struct wf_thread *me = wf_runtime_enter();
	int tid = wf_signal_receiver_tid();
	long nice;
	bool may;

	wf_spin_lock(&lock, WF_RANK_RECEIVER_POLICY);
	nice = 20 - wf_sys(SYS_getpriority, PRIO_PROCESS, tid);
	may = wf_sys(SYS_setpriority, PRIO_PROCESS, tid, nice - 1) == 0;
	if (may)
		wf_sys(SYS_setpriority, PRIO_PROCESS, tid, nice);
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	return may;
}

/*
 * Returns 0, or -EPERM if the kernel would refuse the program this change of
 * t's policy.
 */
static int check_rights(const struct wf_thread *t, int policy, int priority,
			bool keeps_reset)
{
	bool is_lowered = priority <= t->sched_priority;

	if (is_realtime(policy) && !(is_lowered && policy == t->sched_policy)) {
		int err = ask(policy, priority, NULL);

		/*
		 * At a priority that t has already, the kernel permits a change
		 * between the real-time policies if RLIMIT_RTPRIO is above 0.
		 * To ask for priority 1 finds that out.
		 */
		if (err == -EPERM && is_lowered && ask(policy, 1, NULL) == 0)
			err = 0;
		if (err < 0)
			return err;
	}
	/* For the kernel SCHED_IDLE is a nice value of 20, and to leave it is
	 * to lower the nice value. */
	if (t->sched_policy == SCHED_IDLE && policy != SCHED_IDLE &&
	    !may_be_nicer())
		return -EPERM;
	return t->resets_on_fork && !keeps_reset && !may_be_nicer() ? -EPERM :
								      0;
}

int wf_policy_of(const struct wf_thread *t)
{
	return t->sched_policy | (t->resets_on_fork ? SCHED_RESET_ON_FORK : 0);
}

/*
 * True if the priority fits the policy. A policy unknown here may be newer than
 * weft: the kernel knows its range.
 */
static bool is_in_range(int policy, int priority)
{
	long low, high;

	switch (policy) {
	case SCHED_FIFO:
	case SCHED_RR:
		return priority >= 1 && priority <= 99;
	case SCHED_OTHER:
	case SCHED_BATCH:
	case SCHED_IDLE:
		return priority == 0;
	default:
		low = wf_sys(SYS_sched_get_priority_min, policy);
		high = wf_sys(SYS_sched_get_priority_max, policy);
		return low >= 0 && priority >= low && priority <= high;
	}
}

static int check(const struct wf_thread *t, int policy, int priority)
{
	bool resets = (policy & SCHED_RESET_ON_FORK) != 0;
	int plain = policy & ~SCHED_RESET_ON_FORK;

	if (policy < 0 || plain == SCHED_DEADLINE)
		return -EINVAL; /* SCHED_DEADLINE needs more than a priority */
	if (!is_in_range(plain, priority))
		return -EINVAL;
	return check_rights(t, plain, priority, resets);
}

void wf_policy_learn(void)
{
	struct sched_param param = { .sched_priority = 0 };
	long policy = wf_sys(SYS_sched_getscheduler, 0);

	wf_sys(SYS_sched_getparam, 0, &param);
	if (policy < 0)
		policy = SCHED_OTHER; /* a seccomp filter may refuse the call */
	base_policy = (int)policy & ~SCHED_RESET_ON_FORK;
	base_priority = param.sched_priority;
	if (base_priority == 0)
		return;
	/*
	 * If the caller has no right to SCHED_RR, it keeps its policy, and the
	 * carriers get that.
	 */
	policy &= SCHED_RESET_ON_FORK;
	if (set_kernel_thread(0, SCHED_RR | (int)policy, base_priority) == 0) {
		set_kernel_thread(0, base_policy | (int)policy, base_priority);
		base_policy = SCHED_RR;
	}
	if (base_priority > 1)
		base_priority--;
}

void wf_policy_adopt(struct wf_thread *t)
{
	struct sched_param param = { .sched_priority = 0 };
	long policy = wf_sys(SYS_sched_getscheduler, 0);
	int libcs_policy, libcs_priority;

	wf_sys(SYS_sched_getparam, 0, &param);
	if (policy < 0)
		policy = SCHED_OTHER; /* a seccomp filter may refuse the call */
	t->sched_policy = (uint8_t)policy & 15;
	t->resets_on_fork = (policy & SCHED_RESET_ON_FORK) != 0;
	t->sched_priority = (int8_t)param.sched_priority;
	t->rt_priority = (uint8_t)param.sched_priority;
	wf_tcb_ask_policy(&libcs_policy, &libcs_priority);
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
	int plain = policy & ~SCHED_RESET_ON_FORK;
	int err = check(t, policy, priority);

	if (err == 0 && t->kind != WF_THREAD_MULTIPLEXED)
		err = set_kernel_thread(kernel_tid(t),
					t->kind == WF_THREAD_FOREIGN ? policy :
								       plain,
					priority);
	if (err < 0)
		return err;
	t->sched_policy = (uint8_t)plain & 15;
	t->sched_priority = (int8_t)priority;
	t->resets_on_fork = plain != policy;
	if (t->kind != WF_THREAD_FOREIGN)
		wf_tcb_set_policy(t->slot.tcb, t->sched_policy,
				  t->sched_priority);
	wf_boost_changed(t);
	return 0;
}

void wf_policy_inherit(struct wf_thread *made, const struct wf_thread *t)
{
	made->policy = t->policy;
	made->resets_on_fork = false;
	made->made_with_policy = false;
	if (WF_UNLIKELY(t->resets_on_fork) && is_realtime(t->sched_policy)) {
		made->sched_policy = SCHED_OTHER;
		made->sched_priority = 0;
	}
}

int wf_policy_check_made(const struct wf_thread *t, int policy, int priority)
{
	struct wf_thread made = { 0 };

	wf_policy_inherit(&made, t);
	return check(&made, policy, priority);
}

/*
 * The interval of SCHED_RR; 100 ms, the kernel's default, if the program may
 * not have that policy.
 */
static struct timespec round_robin_interval(void)
{
	struct timespec ts = { 0, 100 * WF_NS_PER_MS };

	ask(SCHED_RR, 1, &ts);
	return ts;
}

int wf_policy_interval(const struct wf_thread *t, struct timespec *ret_ts)
{
	if (t->kind != WF_THREAD_MULTIPLEXED || !is_realtime(t->sched_policy))
		return (int)wf_sys(SYS_sched_rr_get_interval,
				   wf_kernel_state_tid_of(t), ret_ts);
	*ret_ts = t->sched_policy == SCHED_RR ? round_robin_interval() :
						(struct timespec){ 0, 0 };
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

void wf_policy_begin_carrier(const struct wf_carrier *c)
{
	if (base_priority > 0 || c->is_altered)
		set_kernel_thread(0, base_policy, base_priority);
}

void wf_policy_above_carriers(int tid)
{
	if (base_priority > 0)
		set_kernel_thread(tid, base_policy, base_priority + 1);
}

void wf_policy_exec_begin(const struct wf_thread *t)
{
	if (t->kind == WF_THREAD_MULTIPLEXED)
		wf_policy_begin_bound(t);
}

void wf_policy_exec_end(const struct wf_thread *t)
{
	if (t->kind == WF_THREAD_MULTIPLEXED)
		wf_policy_end_bound(t);
}

bool wf_policy_of_child(const struct wf_thread *t, int *ret_policy,
			int *ret_priority)
{
	struct wf_thread made = { 0 };

	if (t->kind == WF_THREAD_FOREIGN)
		return false;
	wf_policy_inherit(&made, t);
	*ret_policy = made.sched_policy;
	*ret_priority = made.sched_priority;
	return t->resets_on_fork ||
	       (t->kind == WF_THREAD_MULTIPLEXED && !is_as_carriers(&made));
}

void wf_policy_vfork_child(const struct wf_thread *parent)
{
	int policy, priority;

	if (wf_policy_of_child(parent, &policy, &priority))
		set_kernel_thread(0, policy, priority);
}

void wf_policy_stop(const struct wf_thread *t)
{
	own.tid = 0;
	wf_policy_begin_bound(t);
}

void wf_policy_fork_child(struct wf_thread *t)
{
	bool resets = t->resets_on_fork;

	lock = WF_SPIN_INIT;
	own.tid = 0;
	wf_policy_inherit(t, t);
	if (t->kind == WF_THREAD_MULTIPLEXED)
		wf_policy_begin_bound(t);
	else if (resets && t->kind == WF_THREAD_BOUND)
		set_kernel_thread(0, t->sched_policy, t->sched_priority);
}
