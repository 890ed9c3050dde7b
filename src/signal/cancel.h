/* SPDX-License-Identifier: MIT */
/*
 * Cancellation. The only state is libc's cancel word in the TCB. libc's
 * cancellation points check it. weft wakes the cancelled thread, and makes its
 * own waits cancellation points.
 *
 *     wf_cancel_request(t);	pthread_cancel
 */
#ifndef WEFT_SIGNAL_CANCEL_H
#define WEFT_SIGNAL_CANCEL_H

#include <stdbool.h>
#include <ucontext.h>

#include "sched/thread.h"

/* Requests the end of t. The caller has in_runtime 0. */
void wf_cancel_request(struct wf_thread *t);

/*
 * Called for a foreign thread when libc has requested its end: ends its wait.
 */
void wf_cancel_wake(struct wf_thread *t);
/*
 * Called when a foreign thread has been attached. It may have been cancelled
 * before.
 */
void wf_cancel_met(struct wf_thread *t);

/*
 * Sets the request in libc's word, if it was made before the thread had its
 * TCB.
 */
void wf_cancel_apply(struct wf_thread *t);

/* True if the wait of t, a cancelled thread, has to end by the cancellation. */
bool wf_cancel_is_due(const struct wf_thread *t);

/* True if t may be ended at the address pc, as in libc's blocking calls. */
bool wf_cancel_is_here(const struct wf_thread *t, uintptr_t pc);

/*
 * Called by the kick's handler, with in_runtime set. Ends the thread if it may
 * be ended at this point, and then does not return.
 */
void wf_cancel_kick(struct wf_thread *t, ucontext_t *uc);

#endif
