/* SPDX-License-Identifier: MIT */
/*
 * The preemption signal. weft sends it to preempt threads, to kick carriers,
 * and to change credentials on all kernel threads. libc refuses this signal to
 * programs and strips it from their masks. Debuggers pass it silently.
 */
#ifndef WEFT_SCHED_PREEMPT_H
#define WEFT_SCHED_PREEMPT_H

#define WF_PREEMPT_SIGNAL 33
#define WF_PREEMPT_BIT (1ULL << (WF_PREEMPT_SIGNAL - 1))

#endif
