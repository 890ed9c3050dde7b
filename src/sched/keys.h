/* SPDX-License-Identifier: MIT */
/*
 * Memory protection keys: a switch of threads saves and loads each thread's
 * rights.
 *
 *     wf_keys_begin();          before the program's first pkey_alloc
 *
 * A CPU register says for each key what the running thread may do with memory
 * of that key. The kernel keeps the register per kernel thread, and programs
 * write it without a call. When the program asks for its first key, weft begins
 * to exchange the register at each switch (sched/registers.h). Before, all
 * threads have the same value.
 */
#ifndef WEFT_SCHED_KEYS_H
#define WEFT_SCHED_KEYS_H

#include "sched/registers.h"
#include "sched/thread.h"

/*
 * Called before the program gets its first key. Does nothing if the CPU has no
 * keys. The caller has in_runtime 0.
 */
void wf_keys_begin(void);

void wf_keys_fork_child(void);

/*
 * Save and load the rights of t, once wf_keys_begin has made the array.
 * wf_registers_save and wf_registers_load call these.
 */
void wf_keys_save(const struct wf_thread *t);
void wf_keys_load(const struct wf_thread *t);

/* The part of wf_keys_are_held that runs once the program uses keys. */
bool wf_keys_are_held_slow(void);

/*
 * True if the caller's rights differ from those that every thread starts with.
 * A system call may then use memory that other kernel threads cannot access, so
 * none of them can make the call for the caller.
 */
static inline bool wf_keys_are_held(void)
{
	return WF_UNLIKELY(wf_load_relaxed(&wf_registers) != 0) &&
	       wf_keys_are_held_slow();
}

#endif
