/* A program that confines itself, with weft in it. */
#ifndef WEFT_API_SANDBOX_H
#define WEFT_API_SANDBOX_H

#include <linux/filter.h>

/*
 * The program has set this seccomp filter for all its threads, or for the only
 * one. If it kills, or sends SIGSYS, for a system call that weft goes on
 * making, that is said, once, as soon as weft runs.
 */
void wf_sandbox_see(const struct sock_fprog *filter);

#endif
