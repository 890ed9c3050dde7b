/* SPDX-License-Identifier: MIT */
/*
 * System calls for signals that a program makes by syscall(). weft keeps the
 * actions, masks and queues of signals. So these calls use weft's functions and
 * not the kernel's. Pointers of the program are checked as the kernel does.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "api/api.h"
#include "api/signal.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/action.h"
#include "signal/mask.h"
#include "signal/memory.h"
#include "signal/sigwait.h"

static long action(long sig, const struct wf_action *new,
		   struct wf_action *ret_old)
{
	struct wf_action copy, old;
	struct wf_thread *t;
	long err;

	/* The kernel returns the errors. 32 and 33 are weft's and libc's. */
	if (sig < 1 || sig > 64 || sig == SIGKILL || sig == SIGSTOP)
		return wf_sys(SYS_rt_sigaction, sig, new, ret_old, 8);
	if (sig == 32 || sig == 33)
		return -EINVAL;
	if (new != NULL && wf_memory_get(&copy, new, sizeof(copy)) < 0)
		return -EFAULT;
	t = wf_runtime_enter();
	err = wf_action_change((int)sig, new != NULL ? &copy : NULL, &old);
	wf_runtime_leave(t);
	if (err == 0 && ret_old != NULL)
		err = wf_memory_put(ret_old, &old, sizeof(old));
	return err;
}

long wf_signal_timedwait(const uint64_t *set, siginfo_t *ret_info,
			 const struct timespec *timeout)
{
	uint64_t bits;
	int64_t deadline_ns;
	int rc = wf_memory_get(&bits, set, sizeof(bits));

	if (rc == 0)
		rc = wf_memory_get_deadline(timeout, &deadline_ns);
	return rc == 0 ? wf_signal_wait(bits, ret_info, deadline_ns) : rc;
}

static long wait_for(const uint64_t *set, siginfo_t *ret_info,
		     const struct timespec *timeout)
{
	siginfo_t info;
	long rc = wf_signal_timedwait(set, &info, timeout);

	if (rc > 0 && ret_info != NULL &&
	    wf_memory_put(ret_info, &info, sizeof(info)) < 0)
		return -EFAULT;
	return rc;
}

static long suspend(const uint64_t *mask)
{
	uint64_t bits;

	if (wf_memory_get(&bits, mask, sizeof(bits)) < 0)
		return -EFAULT;
	return wf_signal_suspend(bits);
}

static long pending(uint64_t *ret_set, size_t bytes)
{
	uint64_t set = wf_mask_pending();

	if (bytes > sizeof(set))
		return -EINVAL;
	return wf_memory_put(ret_set, &set, bytes);
}

long wf_signal_syscall(long nr, const long *a)
{
	size_t set_bytes = (size_t)(nr == SYS_rt_sigsuspend ? a[1] : a[3]);

	switch (nr) {
	case SYS_sigaltstack:
		return wf_altstack_change((const stack_t *)a[0],
					  (stack_t *)a[1]);
	case SYS_rt_sigqueueinfo:
		return wf_signal_queueinfo(a[0], a[1], (const siginfo_t *)a[2]);
	case SYS_rt_tgsigqueueinfo:
		return wf_signal_tgqueueinfo(a[0], a[1], a[2],
					     (const siginfo_t *)a[3]);
	case SYS_rt_sigpending:
		return pending((uint64_t *)a[0], (size_t)a[1]);
	case SYS_kill:
		return wf_signal_kill(a[0], a[1]);
	case SYS_pause:
		return wf_signal_pause();
	default:
		break;
	}
	if (set_bytes != 8)
		return -EINVAL;
	switch (nr) {
	case SYS_rt_sigprocmask:
		return wf_mask_syscall((int)a[0], (const uint64_t *)a[1],
				       (uint64_t *)a[2], 8);
	case SYS_rt_sigaction:
		return action(a[0], (const struct wf_action *)a[1],
			      (struct wf_action *)a[2]);
	case SYS_rt_sigtimedwait:
		return wait_for((const uint64_t *)a[0], (siginfo_t *)a[1],
				(const struct timespec *)a[2]);
	default: /* SYS_rt_sigsuspend */
		return suspend((const uint64_t *)a[0]);
	}
}
