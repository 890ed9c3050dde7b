/* SPDX-License-Identifier: MIT */
/*
 * The processes that threads are: how one begins and is bound to its parent.
 */
#ifndef LT_PROCESS_H
#define LT_PROCESS_H

#include <sys/types.h>

struct lt_thread;

/* Starts a process that shares everything with the caller and calls
 * run(thread) on the thread's stack, with the caller's signal mask: no handler
 * may run before run() has set lt_current. When the process ends it sends
 * LT_END to the caller's. Returns its number or -1. */
pid_t lt_process_clone(int (*run)(void *thread), struct lt_thread *thread);

/* From now on the kernel kills the calling process when its parent ends. If
 * that is no longer `parent`, the process ends at once. */
void lt_process_bind(pid_t parent);

/* Waits for the end of a child. */
void lt_process_wait(pid_t pid);

/* Ends the calling process only, without handlers. */
void lt_process_exit(int status) __attribute__((noreturn));

#endif
