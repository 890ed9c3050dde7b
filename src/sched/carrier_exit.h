/* SPDX-License-Identifier: MIT */
/*
 * Carriers with a kernel thread that exits, or has exited.
 *
 *     wf_carrier_exit(c);           c's thread has ended
 *     c = wf_carrier_reclaim();     later, for a new carrier
 */
#ifndef WEFT_SCHED_CARRIER_EXIT_H
#define WEFT_SCHED_CARRIER_EXIT_H

#include "sched/carrier.h"

/*
 * Ends c, the caller, when the thread that has altered it has ended. Returns
 * only if c is the process's first kernel thread: that one has to stay visible
 * in /proc.
 */
void wf_carrier_exit(struct wf_carrier *c);

/*
 * Called when c's kernel thread has ended by a call of the program's. If
 * is_free, the memory may serve another carrier. It may not while a thread's
 * stack is on c's signal stack.
 */
void wf_carrier_note_exited(struct wf_carrier *c, bool is_free);

/*
 * Waits until the altered carriers of ended threads are gone, for at most 1000
 * yields of the CPU.
 */
void wf_carrier_await_exited(void);

/*
 * Returns the memory of a carrier with an exited kernel thread; NULL if there
 * is none.
 */
struct wf_carrier *wf_carrier_reclaim(void);

/*
 * Moves t, the caller, to another carrier and ends t's old kernel thread. When
 * this returns, the kernel has removed the old kernel thread. t is bound, and
 * in_runtime is set. Returns false, and changes nothing, if there is no spare.
 */
bool wf_carrier_exchange(struct wf_thread *t);

void wf_carrier_exit_fork_child(void);

#endif
