/* SPDX-License-Identifier: MIT */
/*
 * Waits for signals: the calling thread parks. The caller has in_runtime 0.
 *
 *     sig = wf_signal_wait(set, &info, deadline_ns);
 */
#ifndef WEFT_SIGNAL_SIGWAIT_H
#define WEFT_SIGNAL_SIGWAIT_H

#include <signal.h>
#include <stdint.h>

struct wf_thread;

/*
 * Takes a signal of set; waits until one comes or the deadline. Returns its
 * number, -EAGAIN (deadline), -EINTR (a handler ran) or -ECANCELED.
 */
int wf_signal_wait(uint64_t set, siginfo_t *ret_info, int64_t deadline_ns);

/*
 * Ends t's sigwait, since a handler is about to run on t. t is in the runtime.
 */
void wf_signal_wait_ended(struct wf_thread *t);

/*
 * Waits with this mask until a handler has run; returns -EINTR or -ECANCELED.
 */
int wf_signal_suspend(uint64_t mask);
/* As wf_signal_suspend, with the present mask. */
int wf_signal_pause(void);

/*
 * Called when a message from another process, or from the kernel, has woken the
 * caller. The sender may have sent the process a signal before, which the
 * kernel or the receiver still has. The caller takes that signal first.
 */
void wf_signal_take_preceding(void);

/*
 * open: called before a wait with a mask of its own, as in ppoll; NULL is no
 * mask. Signals that the mask opens are delivered. close: called after it. A
 * handler restores the mask from before the wait. The caller has a carrier.
 */
void wf_signal_open_for_wait(const uint64_t *mask);
void wf_signal_close_after_wait(const uint64_t *mask);

#endif
