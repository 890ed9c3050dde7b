/* SPDX-License-Identifier: MIT */
/*
 * The system calls about the kernel state of a thread, in a table with one row
 * for each call. Most of them change a thread with any arguments, and the
 * caller then needs a kernel thread of its own. For the other calls a function
 * checks the arguments. So a thread that only reads state, or sets the value
 * that it has, is not bound.
 */
#include "api/state/kernel_calls.h"

#include <asm/prctl.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "api/state/keyring.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "thread/kernel_state.h"

/* Numbers and names that older headers do not have. */
enum {
	NR_LSM_SET_SELF_ATTR = 460,
	RING_REGISTERED_FD_ONLY = 1 << 15,
	RING_IOWQ_AFF = 17,
	RING_UNREGISTER_IOWQ_AFF = 18,
	RING_USE_REGISTERED = 1 << 31, /* a flag of the operation */
	SCHED_CORE = 62,
	SCHED_CORE_CREATE = 1,
	SCHED_CORE_SHARE_TO = 2,
	SCHED_CORE_SHARE_FROM = 3,
	SCHED_CORE_SCOPE_THREAD = 0,
	USER_DISPATCH = 59,
	PIDFD_OF_THREAD = 0200, /* PIDFD_THREAD, that is O_EXCL */
};

static enum wf_effect never(const long *a)
{
	(void)a;
	return WF_EFFECT_NONE;
}

static enum wf_effect always(const long *a)
{
	(void)a;
	return WF_EFFECT_INHERITED;
}

/* The effect of calls that only return the present value if they get -1. */
static enum wf_effect unless_asking(const long *a)
{
	return (int)a[0] != -1 ? WF_EFFECT_INHERITED : WF_EFFECT_NONE;
}

static enum wf_effect core_effect(const long *a)
{
	if (a[1] == SCHED_CORE_SHARE_FROM)
		return WF_EFFECT_INHERITED;
	return (a[1] == SCHED_CORE_CREATE || a[1] == SCHED_CORE_SHARE_TO) &&
			       a[3] == SCHED_CORE_SCOPE_THREAD ?
		       WF_EFFECT_INHERITED :
		       WF_EFFECT_NONE;
}

/* All other options are about the process, or only read a value. */
static enum wf_effect prctl_effect(const long *a)
{
	switch (a[0]) {
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
		return WF_EFFECT_INHERITED;
	case PR_SET_PDEATHSIG:
		/* Before the start wf_kernel_state_syscall notes the signal. */
		return wf_is_started() ? WF_EFFECT_OWN : WF_EFFECT_NONE;
	case USER_DISPATCH:
		return WF_EFFECT_OWN;
	case SCHED_CORE:
		return core_effect(a);
	default:
		return WF_EFFECT_NONE;
	}
}

static enum wf_effect seccomp_effect(const long *a)
{
	return a[0] <= SECCOMP_SET_MODE_FILTER &&
			       (a[1] & SECCOMP_FILTER_FLAG_TSYNC) == 0 ?
		       WF_EFFECT_INHERITED :
		       WF_EFFECT_NONE;
}

/* The caller is traced by its parent, or becomes a tracer. */
static enum wf_effect ptrace_effect(const long *a)
{
	return a[0] == PTRACE_TRACEME ? WF_EFFECT_INHERITED : WF_EFFECT_OWN;
}

/* Does the call make a ring that only one kernel thread may use? */
static enum wf_effect setup_effect(const long *a)
{
	const uint32_t own = IORING_SETUP_SINGLE_ISSUER |
			     RING_REGISTERED_FD_ONLY;
	struct io_uring_params p;
	bool is_own = wf_memory_get(&p, (const void *)a[1], sizeof(p)) == 0 &&
		      (p.flags & own) != 0;

	return is_own ? WF_EFFECT_OWN : WF_EFFECT_NONE;
}

static enum wf_effect register_effect(const long *a)
{
	switch (a[1] & ~(long)(uint32_t)RING_USE_REGISTERED) {
	case IORING_REGISTER_RING_FDS:
	case IORING_REGISTER_ENABLE_RINGS:
	case RING_IOWQ_AFF:
	case RING_UNREGISTER_IOWQ_AFF:
		return WF_EFFECT_OWN;
	default:
		return WF_EFFECT_NONE;
	}
}

/* call_kernel() in api/state/kernel_state.c refuses shadow stacks. */
static enum wf_effect arch_effect(const long *a)
{
	return a[0] == ARCH_SET_GS || a[0] == ARCH_SET_CPUID ?
		       WF_EFFECT_INHERITED :
		       WF_EFFECT_NONE;
}

/* Does it count a thread's events, not a control group's or a CPU's? */
static bool counts_thread(const long *a)
{
	return (a[4] & PERF_FLAG_PID_CGROUP) == 0 && (int)a[1] >= 0;
}

static enum wf_effect perf_effect(const long *a)
{
	return counts_thread(a) ? WF_EFFECT_OWN : WF_EFFECT_NONE;
}

static bool names_process(const long *a)
{
	return a[0] == PRIO_PROCESS;
}

/*
 * NONE if the thread already has this nice value: NSPR sets that of each thread
 * that it makes to the value it has.
 */
static enum wf_effect nice_effect(const long *a)
{
	const long least = -20, most = 19;
	long nice = (int)a[2];

	if (!names_process(a))
		return WF_EFFECT_NONE;
	nice = nice < least ? least : nice > most ? most : nice;
	/* The system call returns 20 minus the nice value: 1 to 40. */
	return wf_sys(SYS_getpriority, PRIO_PROCESS,
		      wf_kernel_state_tid((int)a[1])) != most + 1 - nice ?
		       WF_EFFECT_INHERITED :
		       WF_EFFECT_NONE;
}

static bool names_io_process(const long *a)
{
	return a[0] == IOPRIO_WHO_PROCESS;
}

static enum wf_effect io_priority_effect(const long *a)
{
	return names_io_process(a) ? WF_EFFECT_INHERITED : WF_EFFECT_NONE;
}

static bool names_own_thread(const long *a)
{
	return (a[1] & PIDFD_OF_THREAD) != 0 && (int)a[0] > 0;
}

static enum wf_effect pidfd_effect(const long *a)
{
	return names_own_thread(a) ? WF_EFFECT_OWN : WF_EFFECT_NONE;
}

/* Does the call change the thread of the id? SHARE_FROM only reads from it. */
static bool names_core(const long *a)
{
	return a[0] == SCHED_CORE && a[2] > 0 && a[1] != SCHED_CORE_SHARE_FROM;
}

enum { ID_0 = 1 << 0, ID_1 = 1 << 1, ID_2 = 1 << 2 };

static const struct wf_kernel_call calls[] = {
	/* --- changes of the caller */
	[SYS_unshare] = { .effect = always },
	[SYS_setns] = { .effect = always },
	[SYS_capset] = { .effect = always },
	[SYS_capget] = { .effect = never },
	[SYS_personality] = { .effect = unless_asking },
	[SYS_setfsuid] = { .effect = unless_asking },
	[SYS_setfsgid] = { .effect = unless_asking },
	[SYS_setuid] = { .effect = always },
	[SYS_setgid] = { .effect = always },
	[SYS_setreuid] = { .effect = always },
	[SYS_setregid] = { .effect = always },
	[SYS_setresuid] = { .effect = always },
	[SYS_setresgid] = { .effect = always },
	[SYS_setgroups] = { .effect = always },
	[SYS_prctl] = { .effect = prctl_effect,
			.names_thread = names_core,
			.ids = ID_2 },
	[SYS_seccomp] = { .effect = seccomp_effect },
	[SYS_ptrace] = { .effect = ptrace_effect },
	[SYS_io_uring_setup] = { .effect = setup_effect },
	[SYS_io_uring_register] = { .effect = register_effect },
	[SYS_ioperm] = { .effect = always },
	[SYS_iopl] = { .effect = always },
	[SYS_arch_prctl] = { .effect = arch_effect },
	[SYS_set_mempolicy] = { .effect = always },
	[SYS_landlock_restrict_self] = { .effect = always },
	[NR_LSM_SET_SELF_ATTR] = { .effect = always },
	/* The kernel may make a keyring and then fail to add the key. */
	[SYS_add_key] = { .effect = wf_keyring_add_effect,
			  .changes_on_failure = true },
	[SYS_request_key] = { .effect = wf_keyring_request_effect,
			      .changes_on_failure = true },
	[SYS_keyctl] = { .effect = wf_keyring_control_effect,
			 .changes_on_failure = true },
	/* --- changes of the thread that an argument names */
	[SYS_setpriority] = { .effect = nice_effect,
			      .names_thread = names_process,
			      .ids = ID_1 },
	[SYS_ioprio_set] = { .effect = io_priority_effect,
			     .names_thread = names_io_process,
			     .ids = ID_1 },
	[SYS_sched_setattr] = { .effect = always, .ids = ID_0 },
	[SYS_perf_event_open] = { .effect = perf_effect,
				  .names_thread = counts_thread,
				  .ids = ID_1 },
	[SYS_pidfd_open] = { .effect = pidfd_effect,
			     .names_thread = names_own_thread,
			     .ids = ID_0 },
	/* --- calls that only read, about a thread or its process */
	[SYS_getpriority] = { .effect = never,
			      .names_thread = names_process,
			      .ids = ID_1 },
	[SYS_ioprio_get] = { .effect = never,
			     .names_thread = names_io_process,
			     .ids = ID_1 },
	[SYS_sched_getattr] = { .effect = never, .ids = ID_0 },
	[SYS_prlimit64] = { .effect = never,
			    .ids = ID_0,
			    .is_of_process = true },
	[SYS_getpgid] = { .effect = never, .ids = ID_0, .is_of_process = true },
	[SYS_getsid] = { .effect = never, .ids = ID_0, .is_of_process = true },
	[SYS_process_vm_readv] = { .effect = never,
				   .ids = ID_0,
				   .is_of_process = true },
	[SYS_process_vm_writev] = { .effect = never,
				    .ids = ID_0,
				    .is_of_process = true },
	[SYS_kcmp] = { .effect = never,
		       .ids = ID_0 | ID_1,
		       .is_of_process = true },
	[SYS_move_pages] = { .effect = never,
			     .ids = ID_0,
			     .is_of_process = true },
	[SYS_migrate_pages] = { .effect = never,
				.ids = ID_0,
				.is_of_process = true },
};

const struct wf_kernel_call *wf_kernel_call_find(long nr)
{
	const unsigned long nr_calls = sizeof(calls) / sizeof(calls[0]);

	if ((unsigned long)nr >= nr_calls || calls[nr].effect == NULL)
		return NULL;
	return &calls[nr];
}

int wf_kernel_call_target(const struct wf_kernel_call *call, const long *args)
{
	if (call->ids == 0 ||
	    (call->names_thread != NULL && !call->names_thread(args)))
		return -1;
	return __builtin_ctz(call->ids);
}
