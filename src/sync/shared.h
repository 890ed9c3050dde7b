/* SPDX-License-Identifier: MIT */
/*
 * Robust and process-shared mutexes in libc's layout, for threads that the
 * kernel does not know.
 *
 *     rc = wf_shared_is_ours(m) ? wf_shared_trylock(m) :
 *                                 wf_real.pthread_mutex_trylock(m);
 *
 * The robust mutexes of an exiting thread are marked here, too. Every thread
 * may call all functions, with in_runtime 0. They do not block.
 */
#ifndef WEFT_SYNC_SHARED_H
#define WEFT_SYNC_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_thread;

/*
 * True if the caller must lock m with the two functions below instead of
 * libc's. They return 0 or Exxx, as libc's do.
 */
bool wf_shared_is_ours(const pthread_mutex_t *m);
int wf_shared_trylock(pthread_mutex_t *m);
int wf_shared_unlock(pthread_mutex_t *m);

/*
 * Called before and after libc's wait with m, which the caller holds both
 * times. In between m is as libc expects. wf_shared_end is also called after
 * libc's lock.
 */
void wf_shared_begin(pthread_mutex_t *m);
void wf_shared_end(pthread_mutex_t *m);

/* Called when the caller is about to unmap this range. */
void wf_shared_unmap(uintptr_t begin, size_t bytes);

/* Called when the caller exits: marks its robust mutexes as the kernel does. */
void wf_shared_thread_end(struct wf_thread *t);

/*
 * Registers the calling kernel thread for the robust mutexes of all threads. It
 * must run until the process exits.
 */
void wf_shared_answer(void);
/* True if a thread holds a mutex that is in the list of that kernel thread. */
bool wf_shared_is_any_given(void);
void wf_shared_fork_child(void);

#endif
