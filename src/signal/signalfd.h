/* SPDX-License-Identifier: MIT */
/*
 * Reading a signalfd: signals to the process are the kernel's to give, those
 * to the calling thread wait in a queue of weft's.
 *
 *     wf_signalfd_begin(set);
 *     if (!wf_signalfd_take(set, &info)) {
 *             wf_signalfd_before_wait();
 *             n = read(...);
 *     }
 *     if (wf_signalfd_end(set) && n == -EINTR)
 *             begin again
 *
 * in_runtime 0 unless said otherwise; the caller has a carrier.
 */
#ifndef WEFT_SIGNAL_SIGNALFD_H
#define WEFT_SIGNAL_SIGNALFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/* What of `mask` is the descriptor's: not what goes to handlers. */
uint64_t wf_signalfd_set(uint64_t mask);

/* Takes a signal of set that weft holds for the caller or the process. */
bool wf_signalfd_take(uint64_t set, siginfo_t *ret_info);

/* From here on one that arrives ends the caller's wait with -EINTR. */
void wf_signalfd_begin(uint64_t set);
/* Nothing was there: the last thing before the call that may wait. */
void wf_signalfd_before_wait(void);
/* t, the caller, is such a reader, and one is there. in_runtime set. */
bool wf_signalfd_is_due(struct wf_thread *t);
/* No more. True if weft holds one. */
bool wf_signalfd_end(uint64_t set);

/* t, the caller, enters a handler: what the read in its middle is for, or 0. */
uint64_t wf_signalfd_suspend(struct wf_thread *t);
/* It returns from there. True if one has come. Both with in_runtime set. */
bool wf_signalfd_resume(struct wf_thread *t, uint64_t set);

#endif
