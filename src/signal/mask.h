/* SPDX-License-Identifier: MIT */
/* The calling thread's signal mask and alternate stack. */
#ifndef WEFT_SIGNAL_MASK_H
#define WEFT_SIGNAL_MASK_H

#include <signal.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * As rt_sigprocmask; set NULL only asks. ret_old may be the program's, or NULL,
 * and is not set.
 * Signals that become open have been delivered when it returns. in_runtime 0.
 * Returns 0, -EINVAL, or -EFAULT, when all but ret_old is done.
 */
int wf_mask_change(int how, const uint64_t *set, uint64_t *ret_old);

/*
 * Before the start: the mask of the caller, t. Sanitizers block everything by
 * system calls that nobody sees while they create a thread; then the mask of
 * the first thread is the one that it has set itself, or began with.
 */
uint64_t wf_mask_of_first(const struct wf_thread *t);

/*
 * Makes mask the one of t, the caller, and sees to what waits for that; the
 * kernel's mask stays. in_runtime set.
 */
void wf_mask_set_locked(struct wf_thread *t, uint64_t mask);

/* The same for a mask that opens nothing, and all signals blocked. */
void wf_mask_close(struct wf_thread *t, uint64_t mask);

/* t, which begins, may have another mask than its creator: takes what waited
 * for somebody who does not block it. in_runtime set. */
void wf_mask_begin(struct wf_thread *t);

/* As sigaltstack, on the virtual stack, with pointers of the program's. 0,
 * -EFAULT, -EINVAL, -ENOMEM, -EPERM. */
int wf_altstack_change(const stack_t *ss, stack_t *ret_old);

/*
 * What the caller blocks, and all others do, is the kernel's from now on, which
 * counts the expirations of a timer whose signal waits.
 */
void wf_mask_leave_blocked(void);

/*
 * A call of the caller's has just failed with an error that comes with this
 * signal, EPIPE or EFBIG: if the caller blocks it, it is pending for the caller
 * and nobody else. in_runtime 0, and the runtime not entered since the call.
 */
void wf_mask_keep_raised(int sig);

/* As sigpending. in_runtime 0. */
uint64_t wf_mask_pending(void);

#endif
