/* Signals on kernel threads that are not carriers. */
#ifndef WEFT_SIGNAL_FOREIGN_H
#define WEFT_SIGNAL_FOREIGN_H

#include <signal.h>
#include <ucontext.h>

#include "sched/thread.h"

/* t may be NULL: a thread that has never met weft. */
void wf_foreign_arrived(struct wf_thread *t, int sig, siginfo_t *info,
			ucontext_t *uc);
/* Delivers what was put off; in_runtime set. */
void wf_foreign_at_exit(struct wf_thread *t);

#endif
