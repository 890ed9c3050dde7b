/* SPDX-License-Identifier: MIT */
/*
 * The number of the preemption signal. weft sends the signal to preempt
 * threads, to kick carriers, and to change credentials on all kernel threads.
 * glibc keeps this signal for itself: it refuses it to programs and strips it
 * from their masks. Debuggers pass it silently.
 */
#ifndef WEFT_SCHED_PREEMPT_H
#define WEFT_SCHED_PREEMPT_H

#define WF_PREEMPT_SIGNAL 33
#define WF_PREEMPT_BIT (1ULL << (WF_PREEMPT_SIGNAL - 1))

#endif
