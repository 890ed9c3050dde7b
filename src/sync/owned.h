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

/* Does the kernel not know t's id? t may be NULL: no. */
bool wf_owned_has_number(const struct wf_thread *t);

/* Is m of this kind? */
bool wf_owned_has(const pthread_mutex_t *m);
int wf_owned_trylock(pthread_mutex_t *m);
int wf_owned_unlock(pthread_mutex_t *m);

/* m checks its owner: is that the caller? */
bool wf_owned_is_mine(const pthread_mutex_t *m);

/*
 * Parts of trylock and unlock: the caller has just set the word, or will clear
 * it.
 */
void wf_owned_begin(pthread_mutex_t *m);
void wf_owned_end(pthread_mutex_t *m);

/* From now on the caller is the owner for weft, too; or only for libc. */
void wf_owned_show(pthread_mutex_t *m);
void wf_owned_hide(pthread_mutex_t *m);

#endif
