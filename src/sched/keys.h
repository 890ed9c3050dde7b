/* SPDX-License-Identifier: MIT */
/*
 * Memory protection keys. What a thread may do with memory of each key is in a
 * register that the kernel keeps for each of its threads, and the program
 * writes. From the first key on that the program asks for, a switch of threads
 * exchanges it (sched/registers.h); before, it is the same everywhere.
 */
#ifndef WEFT_SCHED_KEYS_H
#define WEFT_SCHED_KEYS_H

#include "sched/registers.h"
#include "sched/thread.h"

/* Before the program gets its first key. Does nothing if there are none to be
 * had. in_runtime 0. */
void wf_keys_begin(void);

void wf_keys_fork_child(void);

/* As wf_registers_save and wf_registers_load, once they have begun. */
void wf_keys_save(const struct wf_thread *t);
void wf_keys_load(const struct wf_thread *t);

/* Slow half of the below. */
bool wf_keys_are_held_slow(void);

/*
 * Has the caller other rights than those that all begin with? Then what it
 * passes to a system call may be memory that no other kernel thread can use.
 */
static inline bool wf_keys_are_held(void)
{
	return WF_UNLIKELY(wf_load_relaxed(&wf_registers) != 0) &&
	       wf_keys_are_held_slow();
}

#endif
