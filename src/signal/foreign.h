/* SPDX-License-Identifier: MIT */
/* Signals on kernel threads that are not carriers. */
#ifndef WEFT_SIGNAL_FOREIGN_H
#define WEFT_SIGNAL_FOREIGN_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "sched/thread.h"

/* t may be NULL: a thread that has never met weft. */
void wf_foreign_entry(struct wf_thread *t, int sig, siginfo_t *info,
		      ucontext_t *uc);
/* Was a signal put off that t has yet to handle? */
bool wf_foreign_is_due(const struct wf_thread *t);
/* Delivers what was put off; in_runtime set. */
void wf_foreign_at_exit(struct wf_thread *t);
void wf_foreign_fork_child(void);

#endif
