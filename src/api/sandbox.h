/* SPDX-License-Identifier: MIT */
/* A program that confines itself, with weft in it. */
#ifndef WEFT_API_SANDBOX_H
#define WEFT_API_SANDBOX_H

#include <linux/filter.h>
#include <stdbool.h>

/*
 * It is about to set this filter for all its threads: if that refuses what
 * rings need, nothing waits in a ring any more when this returns, and none does
 * from now on. True if so; then wf_sandbox_is_refused is called where the
 * kernel does not take the filter. May yield.
 */
bool wf_sandbox_comes(const struct sock_fprog *filter);
void wf_sandbox_is_refused(void);

/*
 * The program has set this seccomp filter for all its threads, or for the only
 * one. If it kills, or sends SIGSYS, for a system call that weft goes on
 * making, that is said, once, as soon as weft runs.
 */
void wf_sandbox_check(const struct sock_fprog *filter);

#endif
