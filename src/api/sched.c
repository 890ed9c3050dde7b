/*
 * Scheduling attributes, affinity and CPU clocks of threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "api/api.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "thread/affinity.h"
#include "thread/lifecycle.h"
#include "thread/policy.h"

/* libc's own functions would ask the kernel about a tid it does not know. */
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

/* The thread that a kernel call's id means, NULL if it is not weft's. */
static struct wf_thread *thread_of_id(pid_t id)
{
	if (!wf_is_started())
		return NULL;
	return id == 0 ? wf_thread_self() : wf_table_by_tid(id);
}

WF_API(int, sched_setaffinity, pid_t id, size_t size, const cpu_set_t *set)
{
	struct wf_thread *t = thread_of_id(id);

	return wf_api_errno(
		t != NULL && t->kind != WF_THREAD_FOREIGN ?
			wf_affinity_set(t, size, set) :
			(int)wf_sys(SYS_sched_setaffinity, id, size, set));
}

WF_API(int, sched_getaffinity, pid_t id, size_t size, cpu_set_t *ret_set)
{
	struct wf_thread *t = thread_of_id(id);
	long bytes;

	if (t != NULL && t->kind != WF_THREAD_FOREIGN)
		return wf_api_errno(wf_affinity_get(t, size, ret_set));
	bytes = wf_sys(SYS_sched_getaffinity, id, size, ret_set);
	if (bytes > 0 && (size_t)bytes < size)
		memset((char *)ret_set + bytes, 0, size - (size_t)bytes);
	return wf_api_errno(bytes < 0 ? (int)bytes : 0);
}

WF_API(int, pthread_setschedparam, pthread_t thread, int policy,
       const struct sched_param *param)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_setschedparam(thread, policy, param);
	return -wf_policy_set(t, policy, param->sched_priority);
}

WF_API(int, pthread_getschedparam, pthread_t thread, int *ret_policy,
       struct sched_param *ret_param)
{
	const struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_getschedparam(thread, ret_policy,
						     ret_param);
	*ret_policy = t->sched_policy;
	ret_param->sched_priority = t->sched_priority;
	return 0;
}

WF_API(int, pthread_setschedprio, pthread_t thread, int priority)
{
	struct wf_thread *t = wf_thread_of(thread);

	if (is_native(t))
		return wf_real.pthread_setschedprio(thread, priority);
	return -wf_policy_set(t, t->sched_policy, priority);
}

/* The same by the ids that the kernel's calls take. */
static bool is_ours(const struct wf_thread *t)
{
	return t != NULL && t->kind != WF_THREAD_FOREIGN;
}

WF_API(int, sched_setscheduler, pid_t id, int policy,
       const struct sched_param *param)
{
	struct wf_thread *t = thread_of_id(id);

	return wf_api_errno(
		is_ours(t) ?
			wf_policy_set(t, policy, param->sched_priority) :
			(int)wf_sys(SYS_sched_setscheduler, id, policy, param));
}

WF_API(int, sched_getscheduler, pid_t id)
{
	const struct wf_thread *t = thread_of_id(id);

	return wf_api_errno(is_ours(t) ?
				    t->sched_policy :
				    (int)wf_sys(SYS_sched_getscheduler, id));
}

WF_API(int, sched_setparam, pid_t id, const struct sched_param *param)
{
	struct wf_thread *t = thread_of_id(id);

	return wf_api_errno(is_ours(t) ?
				    wf_policy_set(t, t->sched_policy,
						  param->sched_priority) :
				    (int)wf_sys(SYS_sched_setparam, id, param));
}

WF_API(int, sched_getparam, pid_t id, struct sched_param *ret_param)
{
	const struct wf_thread *t = thread_of_id(id);

	if (!is_ours(t))
		return wf_api_errno(
			(int)wf_sys(SYS_sched_getparam, id, ret_param));
	ret_param->sched_priority = t->sched_priority;
	return 0;
}
