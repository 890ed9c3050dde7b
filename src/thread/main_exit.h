/* SPDX-License-Identifier: MIT */
/*
 * How threads end that have their last frame in libc: the process's first
 * thread, and foreign threads.
 *
 *     wf_main_exit_prepare(t);
 *     wf_real.pthread_exit(result);
 */
#ifndef WEFT_THREAD_MAIN_EXIT_H
#define WEFT_THREAD_MAIN_EXIT_H

#include "sched/thread.h"

/*
 * Call this before libc's pthread_exit on the first thread of a started
 * runtime. Then libc unwinds, runs cleanup handlers and destructors, and at
 * last a destructor of weft ends t.
 */
void wf_main_exit_prepare(struct wf_thread *t);

/*
 * Called when t, a foreign thread, has been attached: when libc ends t, weft
 * detaches it.
 */
void wf_foreign_met(struct wf_thread *t);

/*
 * In a fork child: frees the lock. A thread of the parent that does not exist
 * here may have held it.
 */
void wf_main_exit_fork_child(void);

#endif
