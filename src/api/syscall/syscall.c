/* SPDX-License-Identifier: MIT */
/*
 * syscall(). A call about threads, or one that may wait, goes to weft's
 * function for it: the kernel would apply it to the carrier. All other calls go
 * to the kernel with the same arguments. The stub is api/x86_64/syscall.S.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>

#include "api/api.h"
#include "api/clock.h"
#include "api/close.h"
#include "api/exec.h"
#include "api/syscall/clone.h"
#include "api/ids.h"
#include "api/proc/proc.h"
#include "api/state/kernel_calls.h"
#include "api/state/kernel_state.h"
#include "api/syscall/futex.h"
#include "api/sysv.h"
#include "api/poll.h"
#include "api/robust.h"
#include "api/sched.h"
#include "api/signal.h"
#include "arch/arch.h"
#include "arch/ended_call.h"
#include "boot/boot.h"
#include "os/sys.h"
#include "sched/keys.h"
#include "sched/runtime.h"

long wf_api_syscall(long nr, long a, long b, long c, long d, long e, long f);

enum { MEMBARRIER_GET_REGISTRATIONS = 1 << 9 }; /* Linux 6.3 */

/*
 * weft has registered the process for its own fences. The program must find
 * that only after it has registered itself. Fork children inherit that.
 */
static long membarrier(const long *a)
{
	static _Atomic bool is_registered;
	const long bit = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	long rc;

	if (a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED && a[1] == 0 &&
	    wf_is_started() && !wf_load_relaxed(&is_registered))
		return -EPERM;
	rc = wf_syscall6(SYS_membarrier, a[0], a[1], a[2], 0, 0, 0);
	if (a[0] == bit && rc == 0)
		wf_store_relaxed(&is_registered, true);
	if (a[0] == MEMBARRIER_GET_REGISTRATIONS && rc > 0 &&
	    !wf_load_relaxed(&is_registered))
		rc &= ~bit;
	return rc;
}

/*
 * Makes the system call. If only weft's handler has interrupted it, and the
 * kernel does not restart that call, makes it again.
 */
static long call_kernel(long nr, const long *a)
{
	const struct wf_thread *t = wf_self;
	uint32_t nr_handlers;
	long rc;

	if (t == NULL || !wf_arch_call_may_be_made_again(nr, a))
		return wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	nr_handlers = t->nr_handlers;
	do
		rc = wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	while (rc == -EINTR && t->nr_handlers == nr_handlers &&
	       t->carrier != NULL);
	return rc;
}

/* A timer's call, without a change of errno. */
static long call_timer(long nr, const long *a)
{
	int saved_errno = errno;
	long rc = wf_timer_syscall(nr, a);

	errno = saved_errno;
	return rc;
}

static long dispatch_other(long nr, const long *a)
{
	long rc;

	switch (nr) {
	case SYS_timer_create:
	case SYS_timer_settime:
	case SYS_timer_gettime:
	case SYS_timer_getoverrun:
	case SYS_timer_delete:
	case SYS_clock_getres:
		return call_timer(nr, a);
	case SYS_clock_nanosleep:
		/* A sleep on another clock must be no cancellation point. */
		if ((clockid_t)a[0] < 0)
			return call_timer(nr, a);
		break;
	case SYS_poll:
	case SYS_epoll_wait:
		return wf_poll_syscall(nr, a);
	case SYS_semop:
	case SYS_semtimedop:
		return wf_sysv_syscall(nr, a);
	case SYS_exit:
		wf_ids_exit((int)a[0]);
		break;
	case SYS_exit_group:
		wf_boot_end();
		break;
	case SYS_pkey_alloc:
		wf_keys_begin();
		break;
	case SYS_newfstatat:
	case SYS_statx:
		wf_proc_ask((const char *)a[1]);
		break;
	case SYS_stat:
	case SYS_lstat:
		wf_proc_ask((const char *)a[0]);
		break;
	default:
		if (wf_kernel_call_find(nr) != NULL)
			return wf_kernel_state_syscall(nr, a);
		if (wf_futex2_syscall(nr, a, &rc))
			return rc;
	}
	return call_kernel(nr, a);
}

/* Calls about the scheduler, about clocks, and about per-CPU state. */
static long dispatch_of_cpu(long nr, const long *a)
{
	switch (nr) {
	case SYS_sched_yield:
	case SYS_sched_setaffinity:
	case SYS_sched_getaffinity:
	case SYS_sched_setscheduler:
	case SYS_sched_getscheduler:
	case SYS_sched_setparam:
	case SYS_sched_getparam:
	case SYS_sched_rr_get_interval:
	case SYS_sched_setattr:
	case SYS_sched_getattr:
		return wf_sched_syscall(nr, a);
	case SYS_clock_gettime:
		return wf_clock_get((clockid_t)a[0], (struct timespec *)a[1]);
	case SYS_getrusage:
		return wf_clock_usage((int)a[0], (struct rusage *)a[1]);
	case SYS_membarrier:
		return membarrier(a);
	case SYS_rseq:
		return -ENOSYS; /* it registers memory per kernel thread */
	default:
		return dispatch_other(nr, a);
	}
}

static long dispatch(long nr, const long *a)
{
	switch (nr) {
	case SYS_futex:
		return wf_futex_syscall((uint32_t *)a[0], (int)a[1],
					(uint32_t)a[2],
					(const struct timespec *)a[3],
					(uint32_t *)a[4], (uint32_t)a[5]);
	case SYS_futex_waitv:
		return wf_futex_waitv(a);
	case SYS_gettid:
		return wf_ids_gettid_by(a);
	case SYS_set_tid_address:
		return wf_ids_set_tid_address(a[0]);
	case SYS_get_robust_list:
		return wf_robust_get(a[0], (uintptr_t *)a[1], (size_t *)a[2]);
	case SYS_set_robust_list:
		return wf_robust_set((uintptr_t)a[0], (size_t)a[1]);
	case SYS_tgkill:
		return wf_signal_tgkill(a[0], a[1], a[2]);
	case SYS_pidfd_send_signal:
		return wf_signal_pidfd(a);
	case SYS_tkill:
		return wf_signal_tkill(a[0], a[1]);
	case SYS_close:
	case SYS_close_range:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_setsockopt:
		return wf_close_syscall(nr, a);
	case SYS_execve:
	case SYS_execveat:
		return wf_exec_syscall(nr, a);
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		return wf_clone_syscall(nr, a);
	case SYS_rt_sigprocmask:
		return wf_mask_syscall((int)a[0], (const uint64_t *)a[1],
				       (uint64_t *)a[2], (size_t)a[3]);
	case SYS_rt_sigaction:
	case SYS_rt_sigpending:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigqueueinfo:
	case SYS_rt_tgsigqueueinfo:
	case SYS_sigaltstack:
	case SYS_kill:
	case SYS_pause:
		if (!wf_is_started())
			break;
		return wf_signal_syscall(nr, a);
	default:
		return dispatch_of_cpu(nr, a);
	}
	return wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The stub calls it, with the arguments in the stub's frame. */
long wf_api_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	const long args[] = { a, b, c, d, e, f };
	long r = dispatch(nr, args);

	return r < 0 && r > -4096 ? wf_api_result(r) : r;
}
