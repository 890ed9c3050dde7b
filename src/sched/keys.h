/*
 * Memory protection keys. What a thread may do with memory of each key is in a
 * register that the kernel keeps for each of its threads, and the program
 * writes. From the first key on that the program asks for, a switch of threads
 * exchanges it; before, it is the same everywhere.
 */
#ifndef WEFT_SCHED_KEYS_H
#define WEFT_SCHED_KEYS_H

#include "sched/thread.h"

/* Set once. */
extern _Atomic bool wf_keys_are_on;

/* Before the program gets its first key. Does nothing if there are none to be
 * had. in_runtime 0. */
void wf_keys_begin(void);

void wf_keys_fork_child(void);

/* Slow halves of the below. */
void wf_keys_save_slow(const struct wf_thread *t);
void wf_keys_load_slow(const struct wf_thread *t);
bool wf_keys_are_held_slow(void);

/* t, the caller, is about to stop; or it creates t, which gets the same. */
static inline void wf_keys_save(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_keys_are_on)))
		wf_keys_save_slow(t);
}

/* t goes on here. */
static inline void wf_keys_load(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_keys_are_on)))
		wf_keys_load_slow(t);
}

/*
 * Has the caller other rights than those that all begin with? Then what it
 * passes to a system call may be memory that no other kernel thread can use.
 */
static inline bool wf_keys_are_held(void)
{
	return WF_UNLIKELY(wf_load_relaxed(&wf_keys_are_on)) &&
	       wf_keys_are_held_slow();
}

#endif
