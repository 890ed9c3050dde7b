/* SPDX-License-Identifier: MIT */
/*
 * Scheduling policies, priorities and affinities of threads, by libc's names
 * and by the system calls. weft keeps them for its threads, since a kernel
 * thread runs many of them. Ids that are no thread of weft go to the kernel.
 * Two changes bind the thread, since only the kernel can carry them out. The
 * first is an affinity for some of the process's CPUs. The second are the
 * attributes of sched_setattr() that weft does not have: a nice value, a slice,
 * SCHED_DEADLINE.
 */
#include "api/sched.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include "api/api.h"
#include "api/state/kernel_state.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/yield.h"
#include "signal/memory.h"
#include "sync/boost.h"
#include "thread/affinity.h"
#include "thread/lifecycle.h"
#include "thread/policy.h"

/* Does the kernel know the thread's id, so that libc's function can serve? */
static bool is_native(const struct wf_thread *t)
{
	return t == NULL || (t->slot.class == NULL && !wf_is_started());
}

WF_API(int, pthread_setaffinity_np, pthread_t thread, size_t size,
       const cpu_set_t *set)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_setaffinity_np(thread, size, set);
	return -wf_affinity_set(t, size, set);
}

WF_API(int, pthread_getaffinity_np, pthread_t thread, size_t size,
       cpu_set_t *ret_set)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_getaffinity_np(thread, size, ret_set);
	return -wf_affinity_get(t, size, ret_set);
}

/* Returns the number of bytes in the kernel's set, as the system call. */
static long get_affinity(pid_t id, size_t size, cpu_set_t *ret_set)
{
	struct wf_thread *t = wf_thread_of_id(id);
	long bytes = wf_sys(SYS_sched_getaffinity, t != NULL ? 0 : id, size,
			    ret_set);
	int err = 0;

	if (bytes >= 0 && t != NULL)
		err = wf_affinity_get(t, size, ret_set);
	return err < 0 ? err : bytes;
}

static int set_affinity(pid_t id, size_t size, const cpu_set_t *set)
{
	struct wf_thread *t = wf_thread_of_id(id);

	return t != NULL ? wf_affinity_set(t, size, set) :
			   (int)wf_sys(SYS_sched_setaffinity, id, size, set);
}

WF_API(int, sched_setaffinity, pid_t id, size_t size, const cpu_set_t *set)
{
	return wf_api_errno(set_affinity(id, size, set));
}

WF_API(int, sched_getaffinity, pid_t id, size_t size, cpu_set_t *ret_set)
{
	long bytes = get_affinity(id, size, ret_set);

	if (bytes > 0 && (size_t)bytes < size)
		memset((char *)ret_set + bytes, 0, size - (size_t)bytes);
	return wf_api_errno(bytes < 0 ? (int)bytes : 0);
}

static int get_priority_of(const struct sched_param *param, int *ret_priority)
{
	struct sched_param copy;

	if (param == NULL)
		return -EINVAL;
	if (wf_memory_get(&copy, param, sizeof(copy)) < 0)
		return -EFAULT;
	*ret_priority = copy.sched_priority;
	return 0;
}

static int set_policy_of(struct wf_thread *t, int policy,
			 const struct sched_param *param)
{
	int priority;
	int err = get_priority_of(param, &priority);

	return err == 0 ? wf_policy_set(t, policy, priority) : err;
}

WF_API(int, pthread_setschedparam, pthread_t thread, int policy,
       const struct sched_param *param)
{
	struct wf_thread *t = wf_thread_of(thread);
	int err;

	if (is_native(t))
		return wf_real.pthread_setschedparam(thread, policy, param);
	if (!wf_thread_exists(t))
		return ESRCH;
	err = set_policy_of(t, policy, param);
	if (err == 0)
		t->libc_knows_policy = true;
	return -err;
}

WF_API(int, pthread_getschedparam, pthread_t thread, int *ret_policy,
       struct sched_param *ret_param)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_getschedparam(thread, ret_policy,
						     ret_param);
	if (!wf_thread_exists(t))
		return ESRCH;
	t->libc_knows_policy = true;
	*ret_policy = wf_policy_of(t);
	ret_param->sched_priority = t->sched_priority;
	return 0;
}

WF_API(int, pthread_setschedprio, pthread_t thread, int priority)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_setschedprio(thread, priority);
	if (!wf_thread_exists(t))
		return ESRCH;
	return -wf_policy_set(t, wf_policy_of(t), priority);
}

/* --- by thread id --------------------------------------------------------- */

static int set_policy(pid_t id, int policy, const struct sched_param *param)
{
	struct wf_thread *t = wf_thread_of_id(id);

	return t != NULL ?
		       set_policy_of(t, policy, param) :
		       (int)wf_sys(SYS_sched_setscheduler, id, policy, param);
}

static int get_policy(pid_t id)
{
	const struct wf_thread *t = wf_thread_of_id(id);

	return t != NULL ? wf_policy_of(t) :
			   (int)wf_sys(SYS_sched_getscheduler, id);
}

static int set_priority(pid_t id, const struct sched_param *param)
{
	struct wf_thread *t = wf_thread_of_id(id);

	return t != NULL ? set_policy_of(t, wf_policy_of(t), param) :
			   (int)wf_sys(SYS_sched_setparam, id, param);
}

static int get_priority(pid_t id, struct sched_param *ret_param)
{
	const struct wf_thread *t = wf_thread_of_id(id);
	struct sched_param param;
	int ceiling;

	if (t == NULL || ret_param == NULL)
		return (int)wf_sys(SYS_sched_getparam, id, ret_param);
	/* As natively: libc raises the kernel's priority to the ceiling. */
	ceiling = (int)wf_boost_protected(t);
	param.sched_priority = ceiling > t->sched_priority ? ceiling :
							     t->sched_priority;
	return wf_memory_put(ret_param, &param, sizeof(param));
}

static int get_interval(pid_t id, struct timespec *ret_interval)
{
	const struct wf_thread *t = wf_thread_of_id(id);
	struct timespec ts;
	int err;

	if (t == NULL)
		return (int)wf_sys(SYS_sched_rr_get_interval, id, ret_interval);
	err = wf_policy_interval(t, &ts);
	return err < 0 ? err : wf_memory_put(ret_interval, &ts, sizeof(ts));
}

WF_API(int, sched_rr_get_interval, pid_t id, struct timespec *ret_interval)
{
	return wf_api_errno(get_interval(id, ret_interval));
}

WF_API(int, sched_setscheduler, pid_t id, int policy,
       const struct sched_param *param)
{
	return wf_api_errno(set_policy(id, policy, param));
}
WF_API_ALIAS(sched_setscheduler, __sched_setscheduler);

WF_API(int, sched_getscheduler, pid_t id)
{
	return wf_api_errno(get_policy(id));
}
WF_API_ALIAS(sched_getscheduler, __sched_getscheduler);

WF_API(int, sched_setparam, pid_t id, const struct sched_param *param)
{
	return wf_api_errno(set_priority(id, param));
}

WF_API(int, sched_getparam, pid_t id, struct sched_param *ret_param)
{
	return wf_api_errno(get_priority(id, ret_param));
}
WF_API_ALIAS(sched_getparam, __sched_getparam);

/* --- by system call ------------------------------------------------------- */

/*
 * The layout of struct sched_attr of linux/sched/types.h, which conflicts with
 * sched.h.
 */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

enum { FIRST_BYTES = offsetof(struct attributes, runtime_ns) };

/*
 * Reads the program's attributes. Their first version ends at runtime_ns. Later
 * versions may be larger than struct attributes; the rest is not read.
 */
static int get_wanted(const void *attributes, struct attributes *ret)
{
	struct attributes wanted = { 0 };
	size_t bytes;

	if (wf_memory_get(&wanted, attributes, FIRST_BYTES) < 0)
		return -EFAULT;
	/* Size 0 means the size of the first version. */
	bytes = wanted.size != 0 && wanted.size < sizeof(wanted) ?
			wanted.size :
			sizeof(wanted);
	if (bytes > FIRST_BYTES &&
	    wf_memory_get(&wanted, attributes, bytes) < 0)
		return -EFAULT;
	*ret = wanted;
	return 0;
}

/*
 * Do the attributes set a slice other than the thread's? 0 means the default.
 */
static bool has_own_slice(long id, const struct attributes *wanted)
{
	struct attributes now = { 0 };
	const long get[6] = { id, (long)&now, sizeof(now) };

	if (wanted->policy != SCHED_OTHER && wanted->policy != SCHED_BATCH)
		return false;
	return wanted->runtime_ns != 0 &&
	       (wf_kernel_state_syscall(SYS_sched_getattr, get) < 0 ||
		now.runtime_ns != wanted->runtime_ns);
}

static bool is_plain(long id, const struct attributes *wanted)
{
	return wanted->flags == 0 && !has_own_slice(id, wanted) &&
	       (wanted->policy == SCHED_OTHER ||
		wanted->policy == SCHED_BATCH || wanted->policy == SCHED_IDLE ||
		wanted->policy == SCHED_FIFO || wanted->policy == SCHED_RR);
}

/*
 * Sets the nice value, if the policy has one and the thread another. That binds
 * the thread, since the kernel keeps nice values per kernel thread.
 */
static long set_nice(long id, const struct attributes *wanted)
{
	const long get[6] = { PRIO_PROCESS, id };
	const long set[6] = { PRIO_PROCESS, id, wanted->nice };

	if (wanted->policy == SCHED_FIFO || wanted->policy == SCHED_RR ||
	    20 - wf_kernel_state_syscall(SYS_getpriority, get) == wanted->nice)
		return 0;
	return wf_kernel_state_syscall(SYS_setpriority, set);
}

/*
 * For an id of no thread, makes the kernel read the attributes and then fail.
 */
static long check_attributes(const void *attributes)
{
	long rc = wf_sys(SYS_sched_setattr, INT_MAX, attributes, 0);

	return rc == -ESRCH ? 0 : rc;
}

/* Binds t and makes the call for its kernel thread. weft notes the policy. */
static long set_in_kernel(struct wf_thread *t, const long *a,
			  const struct attributes *wanted)
{
	enum { RESET_ON_FORK = 1, KEEP_POLICY = 8 };
	long rc = wf_kernel_state_syscall(SYS_sched_setattr, a);

	if (rc < 0 || (wanted->flags & KEEP_POLICY) != 0)
		return rc;
	t->sched_policy = (uint8_t)wanted->policy & 15;
	t->sched_priority = (int8_t)wanted->priority;
	t->resets_on_fork = (wanted->flags & RESET_ON_FORK) != 0;
	return rc;
}

static long set_attributes(const long *a)
{
	struct wf_thread *t = wf_thread_of_id((pid_t)a[0]);
	struct attributes wanted;
	long err;

	if (t == NULL || a[1] == 0 || a[2] != 0)
		return wf_kernel_state_syscall(SYS_sched_setattr, a);
	err = check_attributes((const void *)a[1]);
	if (err < 0)
		return err;
	err = get_wanted((const void *)a[1], &wanted);
	if (err < 0)
		return err;
	if (!is_plain(a[0], &wanted))
		return set_in_kernel(t, a, &wanted);
	err = wf_policy_set(t, (int)wanted.policy, (int)wanted.priority);
	return err < 0 ? err : set_nice(a[0], &wanted);
}

static long get_attributes(const long *a)
{
	const struct wf_thread *t = wf_thread_of_id((pid_t)a[0]);
	struct attributes *ret = (struct attributes *)a[1];
	long err = wf_kernel_state_syscall(SYS_sched_getattr, a);

	if (err < 0 || t == NULL)
		return err;
	ret->policy = (uint32_t)t->sched_policy;
	ret->priority = (uint32_t)t->sched_priority;
	return 0;
}

long wf_sched_syscall(long nr, const long *a)
{
	pid_t id = (pid_t)a[0];

	switch (nr) {
	case SYS_sched_yield:
		wf_sched_yield();
		return 0;
	case SYS_sched_setaffinity:
		return set_affinity(id, (size_t)a[1], (const cpu_set_t *)a[2]);
	case SYS_sched_getaffinity:
		return get_affinity(id, (size_t)a[1], (cpu_set_t *)a[2]);
	case SYS_sched_setscheduler:
		return set_policy(id, (int)a[1],
				  (const struct sched_param *)a[2]);
	case SYS_sched_getscheduler:
		return get_policy(id);
	case SYS_sched_setparam:
		return set_priority(id, (const struct sched_param *)a[1]);
	case SYS_sched_getparam:
		return get_priority(id, (struct sched_param *)a[1]);
	case SYS_sched_rr_get_interval:
		return get_interval(id, (struct timespec *)a[1]);
	case SYS_sched_setattr:
		return set_attributes(a);
	default:
		return get_attributes(a);
	}
}

/* libc has sched_setattr and sched_getattr from 2.41 on. */
struct sched_attr;

WF_API(int, sched_setattr, pid_t id, struct sched_attr *attributes,
       unsigned int flags)
{
	const long args[6] = { id, (long)attributes, flags };

	return wf_api_errno((int)set_attributes(args));
}

WF_API(int, sched_getattr, pid_t id, struct sched_attr *ret_attributes,
       unsigned int bytes, unsigned int flags)
{
	const long args[6] = { id, (long)ret_attributes, bytes, flags };

	return wf_api_errno((int)get_attributes(args));
}
