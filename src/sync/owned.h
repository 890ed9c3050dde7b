/* SPDX-License-Identifier: MIT */
/*
 * Process-shared recursive and errorcheck mutexes that are not robust, in
 * libc's layout, for threads with ids that the kernel does not know. They check
 * their owner, so a field has the owner's process and id.
 *
 *     if (wf_owned_has(m))
 *             rc = wf_owned_trylock(m);       0 or Exxx, as libc's
 *
 * Every thread may call all functions, with in_runtime 0. They do not block.
 */
#ifndef WEFT_SYNC_OWNED_H
#define WEFT_SYNC_OWNED_H

#include <pthread.h>
#include <stdbool.h>

struct wf_thread;

/* True if t has an id that the kernel does not know. False if t is NULL. */
bool wf_owned_has_number(const struct wf_thread *t);

/*
 * True if m is process-shared, recursive or errorcheck, and not robust. trylock
 * and unlock are for such mutexes.
 */
bool wf_owned_has(const pthread_mutex_t *m);
int wf_owned_trylock(pthread_mutex_t *m);
int wf_owned_unlock(pthread_mutex_t *m);

/* True if the caller is the owner of m, a mutex that checks its owner. */
bool wf_owned_is_mine(const pthread_mutex_t *m);

/*
 * Steps of trylock and unlock. begin: the caller has just set the word. end:
 * the caller is about to clear the word.
 */
void wf_owned_begin(pthread_mutex_t *m);
void wf_owned_end(pthread_mutex_t *m);

/*
 * show: makes the caller the owner for weft, too. hide: leaves it the owner
 * only for libc, for the time of libc's wait.
 */
void wf_owned_show(pthread_mutex_t *m);
void wf_owned_hide(pthread_mutex_t *m);

#endif
