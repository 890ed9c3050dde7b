/* SPDX-License-Identifier: MIT */
/*
 * Signals on kernel threads that are not carriers, and on threads with native
 * signals.
 *
 *     if (t == NULL || t->carrier == NULL)
 *             wf_foreign_entry(t, sig, info, ucontext);
 */
#ifndef WEFT_SIGNAL_FOREIGN_H
#define WEFT_SIGNAL_FOREIGN_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "sched/thread.h"

/*
 * Handles a signal on the calling kernel thread. t may be NULL: the thread has
 * never used weft.
 */
void wf_foreign_entry(struct wf_thread *t, int sig, siginfo_t *info,
		      ucontext_t *uc);
/* True if t has a signal to handle that was put off in the runtime. */
bool wf_foreign_is_due(const struct wf_thread *t);
/* Delivers the signals that were put off; the caller has in_runtime set. */
void wf_foreign_at_exit(struct wf_thread *t);
void wf_foreign_fork_child(void);

#endif
