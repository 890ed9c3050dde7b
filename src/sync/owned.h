/* SPDX-License-Identifier: MIT */
/*
 * Process-shared mutexes that ask who their owner is and are not robust, in
 * libc's layout, of threads that the kernel does not know.
 *
 *     if (wf_owned_has(m))
 *             rc = wf_owned_trylock(m);       as libc's, not negated
 *
 * All may be called by every thread with in_runtime 0; they do not block.
 */
#ifndef WEFT_SYNC_OWNED_H
#define WEFT_SYNC_OWNED_H

#include <pthread.h>
#include <stdbool.h>

struct wf_thread;

/* Has t a number that the kernel does not know? NULL: no. */
bool wf_owned_has_number(const struct wf_thread *t);

bool wf_owned_has(const pthread_mutex_t *m);
int wf_owned_trylock(pthread_mutex_t *m);
int wf_owned_unlock(pthread_mutex_t *m);

/* m asks for its owner, and that is the caller. */
bool wf_owned_is_mine(const pthread_mutex_t *m);

/* Parts of the above: the caller has just got the word, or gives it up. */
void wf_owned_begin(pthread_mutex_t *m);
void wf_owned_end(pthread_mutex_t *m);

/* The caller is the owner for weft too, or for libc alone. */
void wf_owned_show(pthread_mutex_t *m);
void wf_owned_hide(pthread_mutex_t *m);

#endif
