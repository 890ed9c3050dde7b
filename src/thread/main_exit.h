/* SPDX-License-Identifier: MIT */
/*
 * The ends of threads with a last frame in libc: the process's first thread,
 * and foreign threads.
 *
 *     wf_main_exit_prepare(t);
 *     wf_real.pthread_exit(result);
 */
#ifndef WEFT_THREAD_MAIN_EXIT_H
#define WEFT_THREAD_MAIN_EXIT_H

#include "sched/thread.h"

/*
 * Call it before libc's pthread_exit on the first thread of a started runtime.
 * libc unwinds, runs cleanup handlers and destructors, and then a destructor of
 * weft ends t.
 */
void wf_main_exit_prepare(struct wf_thread *t);

/* t, a foreign thread, has been attached: detach it when libc ends it. */
void wf_foreign_met(struct wf_thread *t);

/* In a fork child: frees the lock, which a lost thread may have held. */
void wf_main_exit_fork_child(void);

#endif
