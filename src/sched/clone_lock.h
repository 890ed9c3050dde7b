/* SPDX-License-Identifier: MIT */
/*
 * The clone lock: a thread holds it while it makes a kernel thread, or while no
 * other thread may make one.
 *
 *     wf_clone_lock();
 *     tid = wf_os_kthread_start(...);
 *     wf_clone_unlock();
 *
 * A change of credentials takes the lock and reaches all kernel threads that
 * exist; later ones inherit the change. Signals stay open while a thread waits
 * for the lock: its holder may be waiting until just this kernel thread has
 * made the change.
 */
#ifndef WEFT_SCHED_CLONE_LOCK_H
#define WEFT_SCHED_CLONE_LOCK_H

#include <stdbool.h>

/* Takes the lock in order to make a kernel thread. */
void wf_clone_lock(void);
/* As wf_clone_lock, but calls meanwhile() after each failed attempt. */
void wf_clone_lock_beside(void (*meanwhile)(void));
bool wf_clone_trylock(void);
void wf_clone_unlock(void);

/* Waits until the threads that hold the lock at the call have released it. */
void wf_clone_pass(void);

/*
 * Takes the lock in order to change credentials. Lets the threads that wait for
 * it go first, but waits for at most about a second.
 */
void wf_clone_lock_last(void);

void wf_clone_lock_fork_child(void);

#endif
