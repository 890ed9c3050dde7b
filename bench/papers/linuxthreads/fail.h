/* SPDX-License-Identifier: MIT */
#ifndef LT_FAIL_H
#define LT_FAIL_H

/* Prints a line and aborts: the manager ends the program if a thread calls it,
 * and the kernel if the manager does. */
void lt_fail(const char *what) __attribute__((noreturn));

#endif
