/* SPDX-License-Identifier: MIT */
/* Carriers whose kernel threads exit, or have. */
#ifndef WEFT_SCHED_CARRIER_EXIT_H
#define WEFT_SCHED_CARRIER_EXIT_H

#include "sched/carrier.h"

/*
 * The caller's thread has altered it and has ended: it exits. It returns if it
 * is the process's first, which others have to find in /proc.
 */
void wf_carrier_exit(struct wf_carrier *c);

/*
 * Its kernel thread has ended in the program and is none any more. Its memory
 * is for another one, unless something stands on its signal stack.
 */
void wf_carrier_note_exited(struct wf_carrier *c, bool is_free);

/* Waits, for a while, until those of which the threads have ended are gone. */
void wf_carrier_await_exited(void);

/* The memory of one whose kernel thread has exited; NULL if there is none. */
struct wf_carrier *wf_carrier_reclaim(void);

/*
 * The caller, t, goes on on another carrier, and the kernel thread of its own
 * exits: the kernel is through with that when this returns. t is bound; false:
 * nothing has been done. in_runtime set.
 */
bool wf_carrier_exchange(struct wf_thread *t);

void wf_carrier_exit_fork_child(void);

#endif
