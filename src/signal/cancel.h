/* SPDX-License-Identifier: MIT */
/*
 * Cancellation. libc's word in the TCB is the only state; libc's own points
 * look at it themselves. Weft wakes the thread, and makes its own waits points.
 */
#ifndef WEFT_SIGNAL_CANCEL_H
#define WEFT_SIGNAL_CANCEL_H

#include <stdbool.h>
#include <ucontext.h>

#include "sched/thread.h"

/* Asks t to end. in_runtime 0. */
void wf_cancel_request(struct wf_thread *t);

/* A thread that weft did not make: libc has requested it, its wait is ended. */
void wf_cancel_wake(struct wf_thread *t);
/* A thread of libc's is attached: it may have been cancelled before. */
void wf_cancel_met(struct wf_thread *t);

/* libc's word says what was requested before the thread had its TCB. */
void wf_cancel_apply(struct wf_thread *t);

/* A thread that was cancelled: shall the wait that it is in end by it? */
bool wf_cancel_is_due(const struct wf_thread *t);

/* May it be ended at pc, as in libc's blocking calls? */
bool wf_cancel_is_here(const struct wf_thread *t, uintptr_t pc);

/*
 * In the kick's handler, in_runtime set: ends the thread if it may be ended
 * where it is, and does not return then.
 */
void wf_cancel_kick(struct wf_thread *t, ucontext_t *uc);

/* How a thread ends itself: pthread_exit(PTHREAD_CANCELED); set by api/. */
extern void (*wf_cancel_exit)(void);

#endif
