/* SPDX-License-Identifier: MIT */
/*
 * Calls that change the kernel state of a thread, not of the process:
 * credentials, namespaces, priorities, filters. A thread that changes its
 * kernel state is bound first, and keeps its kernel thread from then on
 * (thread/kernel_state.h). A call that only reads state, or changes nothing,
 * does not bind the thread. Thread ids in the arguments become those of kernel
 * threads.
 */
#include "api/state/kernel_state.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "api/api.h"
#include "api/state/kernel_calls.h"
#include "api/state/sandbox.h"
#include "boot/wind_down.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier_exit.h"
#include "sched/keys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "thread/kernel_state.h"
#include "thread/lifecycle.h"
#include "thread/name.h"

/* Numbers that older headers do not have. */
enum { SHADOW_STACK_FIRST = 0x5001, SHADOW_STACK_LAST = 0x5005 };

/*
 * Does the call set a filter for all kernel threads, also weft's? Before the
 * start it does: weft's kernel threads will inherit the first thread's. A vfork
 * child sets a filter only for itself.
 */
static bool confines_process(long nr, const long *a)
{
	if (wf_is_vfork_child())
		return false;
	if (nr == SYS_prctl)
		return a[0] == PR_SET_SECCOMP && a[1] == SECCOMP_MODE_FILTER &&
		       !wf_is_started();
	return nr == SYS_seccomp && a[0] == SECCOMP_SET_MODE_FILTER &&
	       ((a[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0 || !wf_is_started());
}

/*
 * Does it set a filter for all existing kernel threads? The kernel refuses that
 * if one of them has a filter that the caller has not.
 */
static bool confines_others(long nr, const long *a)
{
	return nr == SYS_seccomp && (a[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0;
}

/*
 * The result for the program. If a thread cannot take the filter, the kernel
 * returns its kernel thread's id. Such a thread is bound, so weft can translate
 * the id into the thread's.
 */
static long result_of(long nr, const long *a, long rc)
{
	return rc > 0 && confines_others(nr, a) ?
		       wf_kernel_state_id_of((int)rc) :
		       rc;
}

/*
 * Replaces thread ids in the arguments by kernel thread ids. In calls about
 * a process 0 stays 0: some take it for the caller, some for no process.
 */
static void translate_ids(const struct wf_kernel_call *call, long *a)
{
	if (wf_kernel_call_target(call, a) < 0)
		return;
	for (int i = 0; i < 6; i++) {
		if ((call->ids >> i & 1) != 0 &&
		    (!call->is_of_process || (int)a[i] > 0))
			a[i] = wf_kernel_state_tid((int)a[i]);
	}
}

/*
 * Ends the runtime before a change if the program has one thread. First, the
 * kernel refuses some calls to a process with several kernel threads. Second,
 * later threads inherit a change of the only thread, but weft's existing kernel
 * threads do not. If the thread has changed its kernel state since the start,
 * the runtime ends only for unshare and setns.
 */
static void wind_down_for(enum wf_effect effect, long nr, const long *a, int id)
{
	const long for_one = CLONE_THREAD | CLONE_SIGHAND | CLONE_VM |
			     CLONE_NEWUSER;
	bool is_entry = nr == SYS_unshare || nr == SYS_setns;
	bool is_needed = nr == SYS_setns ||
			 (nr == SYS_unshare && (a[0] & for_one) != 0);

	if (effect != WF_EFFECT_INHERITED || !wf_is_started() ||
	    (id != 0 && wf_thread_of_id(id) != wf_self))
		return;
	if (is_entry || !wf_carrier_is_altered(wf_thread_self()))
		wf_wind_down(is_needed);
}

/*
 * Binds the thread that the call changes. *ret_changed is that thread, or NULL
 * if the call changes no thread of weft. Returns 0 or -EAGAIN.
 */
static int begin(enum wf_effect effect, int id, struct wf_thread **ret_changed)
{
	*ret_changed = NULL;
	if (effect == WF_EFFECT_NONE)
		return 0;
	*ret_changed = wf_thread_of_id(id);
	return *ret_changed != NULL ?
		       wf_kernel_state_begin_for(*ret_changed,
						 WF_BOUND_KERNEL_STATE) :
		       0;
}

/* id: the program's id for the changed thread, 0 for the caller. */
static void end(enum wf_effect effect, const struct wf_thread *changed, int id)
{
	bool is_own = effect == WF_EFFECT_OWN || effect == WF_EFFECT_RENEWED;

	if (!wf_is_started() && is_own && (id == 0 || id == wf_os_getpid()))
		wf_kernel_state_note_own();
	if (effect == WF_EFFECT_NONE || changed == NULL)
		return;
	if (effect == WF_EFFECT_OWN)
		wf_kernel_state_end_own_for(changed);
	else
		wf_kernel_state_end_for(changed, 0);
}

/* capget and capset have the thread id in memory, in their header. */
static long call_with_header(long nr, const long *a)
{
	struct __user_cap_header_struct h;
	long rc;

	if (wf_memory_get(&h, (const void *)a[0], sizeof(h)) < 0 || h.pid <= 0)
		return wf_sys(nr, a[0], a[1]);
	h.pid = wf_kernel_state_tid(h.pid);
	rc = wf_sys(nr, &h, a[1]);
	/* The kernel stores the version that it prefers. */
	wf_memory_put((void *)a[0], &h.version, sizeof(h.version));
	return rc;
}

static long call_kernel(long nr, const long *a)
{
	if (nr == SYS_prctl && a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV)
		wf_os_clock_ask_kernel();
	/* weft's switch does not switch shadow stacks. */
	if (nr == SYS_arch_prctl && a[0] >= SHADOW_STACK_FIRST &&
	    a[0] <= SHADOW_STACK_LAST)
		return -EOPNOTSUPP; /* as a kernel without them */
	if (nr == SYS_capset || nr == SYS_capget)
		return call_with_header(nr, a);
	return wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Makes the call, and adapts weft if it sets a filter for the process. */
static long call_and_confine(long nr, const long *a)
{
	const struct sock_fprog *filter =
		confines_process(nr, a) ? (const struct sock_fprog *)a[2] :
					  NULL;
	bool has_left_rings;
	long rc;

	if (confines_others(nr, a))
		wf_carrier_await_exited();
	has_left_rings = filter != NULL && wf_sandbox_comes(filter);
	rc = call_kernel(nr, a);
	if (filter != NULL && rc == 0)
		wf_sandbox_check(filter);
	else if (has_left_rings)
		wf_sandbox_is_refused();
	return rc;
}

static bool is_death_signal(long nr, const long *a, long option)
{
	return nr == SYS_prctl && a[0] == option && wf_self != NULL;
}

long wf_kernel_state_syscall(long nr, const long *args)
{
	const struct wf_kernel_call *call = wf_kernel_call_find(nr);
	long a[] = { args[0], args[1], args[2], args[3], args[4], args[5] };
	enum wf_effect effect = call->effect(a);
	int at = wf_kernel_call_target(call, a), sig;
	int id = at >= 0 ? (int)a[at] : 0;
	struct wf_thread *changed;
	long rc;

	if (is_death_signal(nr, a, PR_GET_PDEATHSIG) &&
	    wf_kernel_state_death_signal(&sig))
		return wf_memory_put((void *)a[1], &sig, sizeof(sig));
	wind_down_for(effect, nr, a, id);
	rc = begin(effect, id, &changed);
	if (rc < 0)
		return rc;
	translate_ids(call, a);
	rc = call_and_confine(nr, a);
	if (is_death_signal(nr, a, PR_SET_PDEATHSIG) && rc == 0)
		wf_kernel_state_note_death_signal((int)a[1]);
	if (nr == SYS_unshare && (a[0] & CLONE_FILES) != 0)
		wf_kernel_state_files_end(rc);
	else if (rc >= 0 || call->changes_on_failure)
		end(effect, changed, id);
	return result_of(nr, a, rc);
}

/* Is it an option for a name, and does weft keep the caller's name? */
static bool is_name(long option)
{
	if (option != PR_SET_NAME && option != PR_GET_NAME)
		return false;
	wf_name_meet_caller();
	return wf_name_is_kept(wf_self);
}

static int prctl_name(long option, char *name)
{
	struct wf_thread *t = wf_self;
	const size_t most = sizeof(t->name) - 1;

	if (option == PR_GET_NAME)
		return wf_memory_put(name, t->name, sizeof(t->name));
	if (!wf_memory_is_string(name, most))
		return -EFAULT;
	wf_name_set(t, name);
	return 0;
}

#define CALL(nr, ...) \
	wf_kernel_state_syscall(nr, (const long[6]){ __VA_ARGS__ })

WF_API(int, unshare, int flags)
{
	return (int)wf_api_result(CALL(SYS_unshare, flags));
}

WF_API(int, setns, int fd, int type)
{
	return (int)wf_api_result(CALL(SYS_setns, fd, type));
}

WF_API(int, capset, void *header, const void *data)
{
	return (int)wf_api_result(CALL(SYS_capset, (long)header, (long)data));
}

WF_API(int, capget, void *header, void *data)
{
	return (int)wf_api_result(CALL(SYS_capget, (long)header, (long)data));
}

/* The call changes the caller's rights. Each switch saves and loads them. */
WF_API(int, pkey_alloc, unsigned int flags, unsigned int rights)
{
	wf_keys_begin();
	return wf_api_errno((int)wf_sys(SYS_pkey_alloc, flags, rights));
}

WF_API(int, personality, unsigned long persona)
{
	return (int)wf_api_result(CALL(SYS_personality, (long)persona));
}

WF_API(int, setfsuid, uid_t uid)
{
	return (int)wf_api_result(CALL(SYS_setfsuid, uid));
}

WF_API(int, setfsgid, gid_t gid)
{
	return (int)wf_api_result(CALL(SYS_setfsgid, gid));
}

/* The call sets the base of gs, at which some programs have data per thread. */
WF_API(int, arch_prctl, int code, unsigned long value)
{
	return (int)wf_api_result(CALL(SYS_arch_prctl, code, (long)value));
}
WF_API_ALIAS(arch_prctl, __arch_prctl);

WF_API(int, ioperm, unsigned long from, unsigned long nr, int turn_on)
{
	return (int)wf_api_result(
		CALL(SYS_ioperm, (long)from, (long)nr, turn_on));
}

WF_API(int, iopl, int level)
{
	return (int)wf_api_result(CALL(SYS_iopl, level));
}

/* Passes four arguments: the kernel reads only those of the option. */
WF_API(int, prctl, int option, ...)
{
	va_list ap;
	long a[4];

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (is_name(option))
		return wf_api_errno(prctl_name(option, (char *)a[0]));
	return (int)wf_api_result(
		CALL(SYS_prctl, option, a[0], a[1], a[2], a[3]));
}

/* The kernel thread that calls is the tracer, or is traced: weft binds it. */
WF_API(long, ptrace, enum __ptrace_request request, ...)
{
	va_list ap;
	pid_t pid;
	void *addr, *data;
	long rc;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (wf_kernel_state_begin(WF_BOUND_TRACER) < 0)
		return wf_api_errno(-EAGAIN);
	rc = wf_real.ptrace(request, pid, addr, data);
	wf_kernel_state_end(rc);
	return rc;
}

WF_API(int, setpriority, __priority_which_t which, id_t who, int priority)
{
	return (int)wf_api_result(CALL(SYS_setpriority, which, who, priority));
}

/* The system call returns 20 minus the nice value: 1 to 40. */
WF_API(int, getpriority, __priority_which_t which, id_t who)
{
	long rc = CALL(SYS_getpriority, which, who);

	return rc < 0 ? (int)wf_api_result(rc) : (int)(20 - rc);
}

WF_API(int, nice, int more)
{
	long now = CALL(SYS_getpriority, PRIO_PROCESS, 0), rc;
	long wanted = 20 - now + more;

	wanted = wanted > 19 ? 19 : wanted < -20 ? -20 : wanted;
	rc = CALL(SYS_setpriority, PRIO_PROCESS, 0, wanted);
	if (rc < 0)
		return (int)wf_api_result(rc == -EACCES ? -EPERM : rc);
	return (int)wanted;
}
