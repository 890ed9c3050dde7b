/* SPDX-License-Identifier: MIT */
/*
 * The preemption signal. libc refuses it to programs and strips it from their
 * masks; debuggers pass it silently. weft uses it for preemption, for kicks and
 * for changes of credentials on all kernel threads.
 */
#ifndef WEFT_SCHED_PREEMPT_H
#define WEFT_SCHED_PREEMPT_H

#define WF_PREEMPT_SIGNAL 33
#define WF_PREEMPT_BIT (1ULL << (WF_PREEMPT_SIGNAL - 1))

#endif
