/* SPDX-License-Identifier: MIT */
/*
 * The ends of threads whose last frame is libc's: the process's first thread,
 * and those that weft did not make.
 */
#ifndef WEFT_THREAD_MAIN_EXIT_H
#define WEFT_THREAD_MAIN_EXIT_H

#include "sched/thread.h"

/*
 * Before libc's pthread_exit on the first thread of a started runtime: it
 * unwinds, runs cleanup handlers and destructors, and then comes to weft.
 */
void wf_main_exit_prepare(struct wf_thread *t);

/* A foreign thread has been attached: detach it when libc ends it. */
void wf_foreign_met(struct wf_thread *t);

/* In a fork child: nobody is making the key. */
void wf_main_exit_fork_child(void);

#endif
