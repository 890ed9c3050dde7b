/* SPDX-License-Identifier: MIT */
/*
 * Changes the calling thread's signal mask and alternate stack.
 *
 *     wf_mask_change(SIG_BLOCK, &all, &old);
 *     ...
 *     wf_mask_change(SIG_SETMASK, &old, NULL);
 */
#ifndef WEFT_SIGNAL_MASK_H
#define WEFT_SIGNAL_MASK_H

#include <signal.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * As rt_sigprocmask. If set is NULL, it only reads the mask. ret_old may be
 * NULL or any pointer of the program's. When it returns, signals that it has
 * opened have been delivered. The caller has in_runtime 0. Returns 0, -EINVAL
 * with nothing changed, or -EFAULT with the mask changed and ret_old not
 * written.
 */
int wf_mask_change(int how, const uint64_t *set, uint64_t *ret_old);

/*
 * Returns the mask of t, the caller, before the runtime starts. While a
 * sanitizer creates a thread it blocks all signals by direct system calls. Then
 * the result is the mask that the first thread has set itself, or began with.
 */
uint64_t wf_mask_of_first(const struct wf_thread *t);

/*
 * Makes `mask` the mask of t, the caller, and handles signals that waited for
 * this. Does not change the kernel's mask. The caller has in_runtime set.
 */
void wf_mask_set_locked(struct wf_thread *t, uint64_t mask);

/*
 * As wf_mask_set_locked, for a mask that opens no signal. All signals are
 * blocked in the kernel.
 */
void wf_mask_close(struct wf_thread *t, uint64_t mask);

/*
 * Called when t begins. It may have another mask than its creator: takes
 * signals that waited for a thread that does not block them. The caller has
 * in_runtime set.
 */
void wf_mask_begin(struct wf_thread *t);

/*
 * As sigaltstack, on the virtual alternate stack, with the program's pointers.
 * Returns 0, -EFAULT, -EINVAL, -ENOMEM or -EPERM.
 */
int wf_altstack_change(const stack_t *ss, stack_t *ret_old);

/*
 * Leaves to the kernel the signals that all threads, the caller too, block. The
 * kernel counts the expirations of a timer while its signal is pending.
 */
void wf_mask_leave_blocked(void);

/*
 * Called when a call of the caller's has just failed with EPIPE or EFBIG and
 * raised sig. If the caller blocks sig, makes sig pending for the caller alone.
 * in_runtime is 0, and the caller has not been in the runtime since the call.
 */
void wf_mask_keep_raised(int sig);

/* As sigpending. The caller has in_runtime 0. */
uint64_t wf_mask_pending(void);

#endif
