/* SPDX-License-Identifier: MIT */
/*
 * Reads a signalfd. The kernel has the signals to the process, and a queue of
 * weft's has those to the calling thread.
 *
 *     wf_signalfd_begin(set);
 *     if (!wf_signalfd_take(set, &info)) {
 *             wf_signalfd_before_wait();
 *             n = read(...);
 *     }
 *     if (wf_signalfd_end(set) && n == -EINTR)
 *             begin again
 *
 * in_runtime is 0 unless a comment says otherwise; the caller has a carrier.
 */
#ifndef WEFT_SIGNAL_SIGNALFD_H
#define WEFT_SIGNAL_SIGNALFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * Returns the signals of `mask` that the descriptor shows. These are the ones
 * that the caller blocks, since handlers take the rest.
 */
uint64_t wf_signalfd_set(uint64_t mask);

/* Takes a signal of set that weft has queued for the caller or the process. */
bool wf_signalfd_take(uint64_t set, siginfo_t *ret_info);

/* From this call on a signal of set ends the caller's wait with -EINTR. */
void wf_signalfd_begin(uint64_t set);
/*
 * Called when no signal was there, just before the system call that may wait.
 */
void wf_signalfd_before_wait(void);
/*
 * True if t, the caller, reads a signalfd and a signal for it is queued. The
 * caller has in_runtime set.
 */
bool wf_signalfd_is_due(struct wf_thread *t);
/*
 * Ends what wf_signalfd_begin began. Returns true if weft has queued a signal
 * of set.
 */
bool wf_signalfd_end(uint64_t set);

/*
 * Called when t, the caller, enters a handler. Returns the set of the signalfd
 * read that the handler interrupts, or 0. The caller has in_runtime set.
 */
uint64_t wf_signalfd_suspend(struct wf_thread *t);
/*
 * Called when the handler returns to the read. Returns true if a signal of set
 * is queued. The caller has in_runtime set.
 */
bool wf_signalfd_resume(struct wf_thread *t, uint64_t set);

#endif
