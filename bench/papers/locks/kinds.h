/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of this folder share: the kinds that kinds.c
 * lists, one in each file, and functions for kinds without an initialisation.
 */
#ifndef LOCKS_KINDS_H
#define LOCKS_KINDS_H

#include "locks.h"

extern const struct lock_kind lock_none, lock_mutex, lock_semaphore, lock_plain,
	lock_peterson, lock_bakery, lock_fast;

int lock_no_init(struct lock *lock, int nr_threads);
void lock_no_fini(struct lock *lock);

#endif
