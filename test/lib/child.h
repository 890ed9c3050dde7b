/* SPDX-License-Identifier: MIT */
/*
 * Cases that end their process run in a forked child.
 *
 *     static void body(void) { exit(3); }
 *
 *     CHECK_EQ(child_exit_status(body), 3);
 *     CHECK_EQ(child_signal(overflow), SIGSEGV);
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longer than any case takes; the child is killed with SIGALRM then. */
#define CHILD_LIMIT_S 15

/* Forks a child that runs `body` and, if it returns, exits with status 0. */
pid_t child_start(void (*body)(void));

/* The wait status of the child when it has ended. */
int child_wait(pid_t child);

/* Both; the child must exit, its status is returned. */
int child_exit_status(void (*body)(void));

/*
 * Both; the child must be killed by a signal, which is returned. Its output to
 * stderr is dropped and it leaves no core.
 */
int child_signal(void (*body)(void));

/* As child_exit_status, and what the child wrote to stdout is stored as a
 * string of at most size - 1 bytes. */
int child_output(void (*body)(void), char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
