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

/* Longer than any case takes; after it SIGALRM kills the child. */
#define CHILD_LIMIT_S 15

/* Forks a child that runs `body` and, if it returns, exits with status 0. */
pid_t child_start(void (*body)(void));

/* Returns the wait status of the child after its end. */
int child_wait(pid_t child);

/* Starts the child, waits for its exit, and returns its exit status. */
int child_exit_status(void (*body)(void));

/*
 * Starts the child, which a signal must kill, and returns the signal. The
 * child's stderr is dropped, and it leaves no core file.
 */
int child_signal(void (*body)(void));

/*
 * Like child_exit_status. The child's output is stored as a string of at most
 * size - 1 bytes.
 */
int child_output(void (*body)(void), char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
