/* SPDX-License-Identifier: MIT */
/*
 * Mutual exclusion in several ways, each behind the same calls, so that a
 * program can be measured with one after the other.
 *
 *     const struct lock_kind *kind = lock_kind_named("bakery");
 *     struct lock *lock = lock_new(kind, 2);
 *
 *     kind->lock(lock, me);
 *     ...
 *     kind->unlock(lock, me);
 *     lock_free(kind, lock);
 *
 * `me` is the calling thread's number, from 0. No two threads use the same
 * number of a lock at once. A lock is not recursive.
 *
 * The kinds and what they are made of:
 *
 *     none       nothing: the cost of the two calls
 *     mutex      pthread_mutex_t, of libc or of the runtime below the program
 *     semaphore  a System V semaphore: two system calls
 *     plain      a variable and yields; right only where one CPU runs all
 *     peterson   loads, stores and fences, for two threads
 *     bakery     the same for any number; its cost grows with the number
 *     fast       the same for any number; its cost does not, without contention
 */
#ifndef LOCKS_H
#define LOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { LOCK_MAX_THREADS = 64 };

struct lock; /* a lock of any kind */

struct lock_kind {
	const char *name;
	int max_threads;
	bool needs_one_cpu;
	/*
	 * How many fences a lock and an unlock execute when no other thread
	 * wants the lock. Only a processor that lets stores overtake stores
	 * executes the store fences.
	 */
	int lock_fences, lock_store_fences, unlock_fences;

	size_t (*size)(int nr_threads);
	/* The memory is zero. Returns 0, or a number of errno.h. */
	int (*init)(struct lock *lock, int nr_threads);
	void (*fini)(struct lock *lock);
	void (*lock)(struct lock *lock, int me);
	void (*unlock)(struct lock *lock, int me);
};

/* All kinds, in the order above; NULL ends the list. */
extern const struct lock_kind *const lock_kinds[];

/* NULL if no kind has this name. */
const struct lock_kind *lock_kind_named(const char *name);

/*
 * Returns why this process cannot use such a lock with so many threads, or
 * NULL.
 */
const char *lock_kind_unfit(const struct lock_kind *kind, int nr_threads);

/* A lock in cache lines of its own. Returns NULL and sets errno on failure. */
struct lock *lock_new(const struct lock_kind *kind, int nr_threads);

void lock_free(const struct lock_kind *kind, struct lock *lock);

#endif
