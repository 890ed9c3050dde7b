/* SPDX-License-Identifier: MIT */
/*
 * Process-shared and robust mutexes, in libc's layout, of threads that the
 * kernel does not know: whose they are, beyond what libc notes in them.
 *
 *     rc = wf_shared_is_ours(m) ? wf_shared_trylock(m) :
 *                                 wf_real.pthread_mutex_trylock(m);
 *
 * It also ends the robust mutexes of a thread that ends. All may be called by
 * every thread with in_runtime 0; they do not block.
 */
#ifndef WEFT_SYNC_SHARED_H
#define WEFT_SYNC_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_thread;

/*
 * Do these take the place of libc's functions for the caller? Results are
 * theirs, not negated.
 */
bool wf_shared_is_ours(const pthread_mutex_t *m);
int wf_shared_trylock(pthread_mutex_t *m);
int wf_shared_unlock(pthread_mutex_t *m);

/*
 * Before and after libc's wait with m, which the caller holds both times: it is
 * what libc expects meanwhile. The second also after libc's lock.
 */
void wf_shared_begin(pthread_mutex_t *m);
void wf_shared_end(pthread_mutex_t *m);

/* The caller is about to unmap this range. */
void wf_shared_unmap(uintptr_t begin, size_t bytes);

/* The caller ends: its robust mutexes get another owner or none. */
void wf_shared_thread_end(struct wf_thread *t);

/* The calling kernel thread, which lives as long as the process, answers for
 * the robust mutexes of all. */
void wf_shared_answer(void);
/* Does a thread hold one that the answering kernel thread stands for? */
bool wf_shared_is_any_given(void);
void wf_shared_fork_child(void);

#endif
