/* SPDX-License-Identifier: MIT */
/*
 * A lock of one word, and a queue of threads that such a lock protects.
 *
 *     lt_lock(&sem->lock, self);
 *     if (sem->value == 0) {
 *             lt_queue_append(&sem->waiters, self);
 *             lt_unlock(&sem->lock);
 *             lt_suspend(self);
 *     }
 *
 * Zeroed memory is a free lock and an empty queue.
 */
#ifndef LT_LOCK_H
#define LT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lt_thread;

/* Bit 0: held. The other bits: the address of the newest waiter. */
struct lt_lock {
	_Atomic uintptr_t status;
};

#define LT_LOCK_HELD ((uintptr_t)1)

/* Out of line: the lock is held, or has waiters. `self` may be NULL. */
void lt_lock_slow(struct lt_lock *lock, struct lt_thread *self);
void lt_unlock_slow(struct lt_lock *lock);

static inline bool lt_lock_try(struct lt_lock *lock)
{
	uintptr_t status =
		atomic_load_explicit(&lock->status, memory_order_relaxed);

	/* acquire: pairs with the release of the holder before. */
	return !(status & LT_LOCK_HELD) &&
	       atomic_compare_exchange_strong_explicit(&lock->status, &status,
						       status | LT_LOCK_HELD,
						       memory_order_acquire,
						       memory_order_relaxed);
}

/* May block. `self` is the caller, or NULL: then it is looked up if the lock is
 * held. */
static inline void lt_lock(struct lt_lock *lock, struct lt_thread *self)
{
	if (!lt_lock_try(lock))
		lt_lock_slow(lock, self);
}

/* Does not touch the lock after another thread can have it. */
static inline void lt_unlock(struct lt_lock *lock)
{
	uintptr_t held = LT_LOCK_HELD;

	/* release: pairs with the acquire of the next holder. */
	if (!atomic_compare_exchange_strong_explicit(&lock->status, &held, 0,
						     memory_order_release,
						     memory_order_relaxed))
		lt_unlock_slow(lock);
}

struct lt_queue {
	struct lt_thread *first, *last;
};

void lt_queue_append(struct lt_queue *queue, struct lt_thread *thread);
/* Takes the thread that has waited longest, or returns NULL. */
struct lt_thread *lt_queue_take(struct lt_queue *queue);

#endif
