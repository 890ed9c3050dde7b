/* SPDX-License-Identifier: MIT */
/*
 * Stacks with thread descriptors at their tops, and the thread registers that
 * libc needs.
 *
 *     if (lt_memory_start() != 0)
 *             return EAGAIN;
 *     thread = lt_memory_new(index);
 *     clone(..., thread, ..., thread->tcb, lt_memory_tid(thread));
 *     lt_memory_free(index);
 */
#ifndef LT_MEMORY_H
#define LT_MEMORY_H

#include <sys/types.h>

struct lt_thread;

/* Finds libc's functions and reserves addresses. Once, in the main thread.
 * Returns 0, or an error number. */
int lt_memory_start(void);

/* A zeroed descriptor at the top of the stack with that index, with `tcb` set;
 * the stack ends below the descriptor. NULL if there is no memory. */
struct lt_thread *lt_memory_new(unsigned int index);

/* Frees the stack. The thread's process must have ended. */
void lt_memory_free(unsigned int index);

/* Where libc expects the thread's number. */
pid_t *lt_memory_tid(struct lt_thread *thread);

/* Sets up libc's per-thread state; a new thread calls it first. */
void lt_memory_begin_thread(void);

#endif
