/* SPDX-License-Identifier: MIT */
/*
 * Held while kernel threads are made, and while none may be: a change of
 * credentials reaches those that there are, and new ones inherit it. Signals
 * stay open while a thread waits for the lock, since its holder may be waiting
 * for just this kernel thread to follow.
 */
#ifndef WEFT_SCHED_CLONE_LOCK_H
#define WEFT_SCHED_CLONE_LOCK_H

#include <stdbool.h>

/* By a thread that makes a kernel thread. */
void wf_clone_lock(void);
/* The same; meanwhile() is called between two attempts. */
void wf_clone_lock_beside(void (*meanwhile)(void));
bool wf_clone_trylock(void);
void wf_clone_unlock(void);

/* Returns when each thread that held the lock has released it. */
void wf_clone_pass(void);

/*
 * By a thread that changes credentials: after those that wait for the lock now,
 * but for about a second at most.
 */
void wf_clone_lock_last(void);

void wf_clone_lock_fork_child(void);

#endif
