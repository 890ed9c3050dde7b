/*
 * Calls that change the kernel thread and not the process. A thread that makes
 * one has a kernel thread of its own from then on (thread/kernel_state.h); one
 * that only asks, or changes nothing, has not.
 */
#include "api/kernel_state.h"

#include <asm/prctl.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "api/api.h"
#include "api/sandbox.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/keys.h"
#include "sched/retired.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "thread/kernel_state.h"
#include "thread/lifecycle.h"
#include "thread/name.h"

/* Options of prctl that concern the process, or only ask. */
static bool is_threads_option(long option)
{
	switch (option) {
	case PR_SET_TIMERSLACK:
	case PR_SET_SECCOMP:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_SECUREBITS:
	case PR_SET_KEEPCAPS:
	case PR_CAPBSET_DROP:
	case PR_CAP_AMBIENT:
	case PR_SET_TSC:
	case PR_SET_FPEMU:
	case PR_SET_FPEXC:
	case PR_SET_UNALIGN:
	case PR_MCE_KILL:
	case PR_SET_IO_FLUSHER:
	case PR_SET_SPECULATION_CTRL:
		return true;
	default:
		return false;
	}
}

/* A ring that takes no call from any kernel thread but this one. */
static bool is_own_ring(const struct io_uring_params *params)
{
	struct io_uring_params p;

	return wf_memory_get(&p, params, sizeof(p)) == 0 &&
	       (p.flags & IORING_SETUP_SINGLE_ISSUER) != 0;
}

/* Of a thread's events; else of a control group's, or of all on a CPU. */
static bool counts_thread(const long *a)
{
	return (a[4] & PERF_FLAG_PID_CGROUP) == 0 && (int)a[1] >= 0;
}

/*
 * Does the process's nice value, or the one that the thread was given, become
 * another? NSPR sets that of each thread it makes to what it is.
 */
static bool changes_nice(const long *a)
{
	const long least = -20, most = 19;
	long nice = (int)a[2];

	nice = nice < least ? least : nice > most ? most : nice;
	/* The kernel's answers are 1 to 40, so as not to be errors. */
	return wf_sys(SYS_getpriority, PRIO_PROCESS,
		      wf_kernel_state_tid((int)a[1])) != most + 1 - nice;
}

/* Does it change the calling thread, or the one that it names, alone? */
static bool changes_thread(long nr, const long *a)
{
	switch (nr) {
	case SYS_setfsuid:
	case SYS_setfsgid:
		return (int)a[0] != -1; /* which asks */
	case SYS_personality:
		return (uint32_t)a[0] != UINT32_MAX;
	case SYS_prctl:
		return is_threads_option(a[0]);
	case SYS_seccomp:
		return a[0] <= SECCOMP_SET_MODE_FILTER &&
		       (a[1] & SECCOMP_FILTER_FLAG_TSYNC) == 0;
	case SYS_setpriority:
		return a[0] == PRIO_PROCESS && changes_nice(a);
	case SYS_ioprio_set:
		return a[0] == IOPRIO_WHO_PROCESS;
	case SYS_sched_setattr:
		return true;
	case SYS_perf_event_open:
		return counts_thread(a);
	case SYS_io_uring_setup:
		return is_own_ring((const struct io_uring_params *)a[1]);
	case SYS_io_uring_register:
		return a[1] == IORING_REGISTER_RING_FDS ||
		       a[1] == IORING_REGISTER_ENABLE_RINGS;
	case SYS_arch_prctl:
		return a[0] == ARCH_SET_GS || a[0] == ARCH_SET_CPUID;
	case SYS_keyctl:
		return a[0] == KEYCTL_JOIN_SESSION_KEYRING ||
		       a[0] == KEYCTL_SET_REQKEY_KEYRING ||
		       a[0] == KEYCTL_ASSUME_AUTHORITY;
	case SYS_sched_getattr:
	case SYS_getpriority:
	case SYS_ioprio_get:
		return false;
	default:
		return true;
	}
}

/*
 * Does it set a filter for all threads, weft's among them? Weft's inherit the
 * first thread's, if they are not made yet. A borrower's is its own.
 */
static bool confines_process(long nr, const long *a)
{
	if (wf_is_borrower())
		return false;
	if (nr == SYS_prctl)
		return a[0] == PR_SET_SECCOMP && a[1] == SECCOMP_MODE_FILTER &&
		       !wf_is_started();
	return nr == SYS_seccomp && a[0] == SECCOMP_SET_MODE_FILTER &&
	       ((a[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0 || !wf_is_started());
}

/* All that there are, unless one of them has another filter. */
static bool confines_others(long nr, const long *a)
{
	return nr == SYS_seccomp && (a[1] & SECCOMP_FILTER_FLAG_TSYNC) != 0;
}

/*
 * What the call returns to the program. Of a thread that cannot take the filter
 * the kernel names its own; that thread has one that is no other's.
 */
static long result_of(long nr, const long *a, long rc)
{
	return rc > 0 && confines_others(nr, a) ?
		       wf_kernel_state_id_of((int)rc) :
		       rc;
}

/* The argument that is a thread's id, or -1. */
static int tid_argument(long nr, const long *a)
{
	switch (nr) {
	case SYS_getpriority:
	case SYS_setpriority:
		return a[0] == PRIO_PROCESS ? 1 : -1;
	case SYS_ioprio_get:
	case SYS_ioprio_set:
		return a[0] == IOPRIO_WHO_PROCESS ? 1 : -1;
	case SYS_sched_setattr:
	case SYS_sched_getattr:
		return 0;
	case SYS_perf_event_open:
		return counts_thread(a) ? 1 : -1;
	default:
		return -1;
	}
}

bool wf_kernel_state_concerns(long nr)
{
	switch (nr) {
	case SYS_unshare:
	case SYS_setns:
	case SYS_capset:
	case SYS_personality:
	case SYS_setfsuid:
	case SYS_setfsgid:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_prctl:
	case SYS_seccomp:
	case SYS_ptrace:
	case SYS_perf_event_open:
	case SYS_io_uring_setup:
	case SYS_io_uring_register:
	case SYS_getpriority:
	case SYS_setpriority:
	case SYS_ioprio_get:
	case SYS_ioprio_set:
	case SYS_ioperm:
	case SYS_iopl:
	case SYS_arch_prctl:
	case SYS_set_mempolicy:
	case SYS_landlock_restrict_self:
	case SYS_keyctl:
		return true;
	default:
		return false;
	}
}

long wf_kernel_state_syscall(long nr, const long *args)
{
	long a[] = { args[0], args[1], args[2], args[3], args[4], args[5] };
	int at = tid_argument(nr, a);
	struct wf_thread *changed = NULL;
	const struct sock_fprog *filter;
	bool has_left_rings;
	long rc = 0;

	if (changes_thread(nr, a))
		changed = wf_thread_of_id(at >= 0 ? (int32_t)a[at] : 0);
	if (changed != NULL)
		rc = wf_kernel_state_begin_for(changed);
	if (rc < 0)
		return rc;
	if (at >= 0)
		a[at] = wf_kernel_state_tid((int)a[at]);
	filter = confines_process(nr, a) ? (const struct sock_fprog *)a[2] :
					   NULL;
	if (confines_others(nr, a))
		wf_carrier_await_retired();
	has_left_rings = filter != NULL && wf_sandbox_comes(filter);
	rc = wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (filter != NULL && rc == 0)
		wf_sandbox_see(filter);
	else if (has_left_rings)
		wf_sandbox_is_refused();
	if (nr == SYS_unshare && (a[0] & CLONE_FILES) != 0)
		wf_kernel_state_files_end(rc);
	else if (changed != NULL)
		wf_kernel_state_end_for(changed, rc);
	return result_of(nr, a, rc);
}

/* A thread's name is weft's to keep. */
static bool is_name(long option)
{
	return (option == PR_SET_NAME || option == PR_GET_NAME) &&
	       wf_name_is_kept(wf_self);
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

/* It changes the caller's rights, which go where the thread goes. */
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

/* The base of gs, in which some programs have thread-local data of theirs. */
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

/* The kernel reads as many arguments as the option has. */
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

/* Of what libc's takes, the calling thread is the tracer, or is traced. */
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
	if (wf_kernel_state_begin() < 0)
		return wf_api_errno(-EAGAIN);
	rc = wf_real.ptrace(request, pid, addr, data);
	wf_kernel_state_end(rc);
	return rc;
}

WF_API(int, setpriority, __priority_which_t which, id_t who, int priority)
{
	return (int)wf_api_result(CALL(SYS_setpriority, which, who, priority));
}

/* The kernel's answers are 1 to 40, so as not to be errors. */
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
