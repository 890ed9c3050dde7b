/* SPDX-License-Identifier: MIT */
/*
 * System calls for signals, for syscall() and for libc's names.
 *
 *     rc = wf_signal_tgkill(pid, tid, SIGUSR1);
 */
#ifndef WEFT_API_SIGNAL_H
#define WEFT_API_SIGNAL_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Do what the system calls of these names do. Return 0 or -Exxx. */
long wf_signal_kill(long pid, long sig);
long wf_signal_pidfd(const long *args); /* pidfd_send_signal's */
long wf_signal_tgkill(long pid, long tid, long sig);
long wf_signal_tkill(long tid, long sig);
long wf_signal_queueinfo(long pid, long sig, const siginfo_t *info);
long wf_signal_tgqueueinfo(long pid, long tid, long sig, const siginfo_t *info);

/*
 * Does what rt_sigtimedwait(2) does. *set is the first word of a sigset_t, all
 * that the kernel has. *ret_info is memory of weft's. May block.
 */
long wf_signal_timedwait(const uint64_t *set, siginfo_t *ret_info,
			 const struct timespec *timeout);

/*
 * Makes rt_sigaction, rt_sigprocmask, rt_sigpending, rt_sigtimedwait,
 * rt_sigsuspend, rt_sigqueueinfo, rt_tgsigqueueinfo, sigaltstack or kill,
 * according to nr, with the arguments a. The runtime has started.
 */
long wf_signal_syscall(long nr, const long *a);

/* Does what rt_sigprocmask(2) does. Returns 0 or -Exxx. */
long wf_mask_syscall(int how, const uint64_t *set, uint64_t *ret_old,
		     size_t bytes);

#endif
