/* SPDX-License-Identifier: MIT */
/*
 * A lock with a chain of waiters, the newest first, that begins in the
 * lock's word. The holder takes the oldest one out as it unlocks and restarts
 * it; that thread then tries again, beside any others.
 *
 * LOCK-1. A waiter enters the chain only while a thread holds the lock. That
 * holder takes one waiter out when it unlocks, and this waiter unlocks later
 * and takes out the next. So no waiter is left.
 * LOCK-2. A thread enters the chain at its beginning, by compare-and-swap. Only
 * the holder takes threads out, so links behind the first do not change
 * meanwhile.
 */
#include "lock.h"

#include "linuxthreads.h"

static struct lt_thread *newest(uintptr_t status)
{
	return (struct lt_thread *)(status & ~LT_LOCK_HELD);
}

void lt_lock_slow(struct lt_lock *lock, struct lt_thread *self)
{
	uintptr_t status;

	if (self == NULL)
		self = lt_self();
	while (!lt_lock_try(lock)) {
		status = atomic_load_explicit(&lock->status,
					      memory_order_relaxed);
		if (!(status & LT_LOCK_HELD))
			continue;
		self->next_locker = newest(status);
		/* release: publishes next_locker; pairs with the acquire in
		 * lt_unlock_slow(). */
		if (atomic_compare_exchange_strong_explicit(
			    &lock->status, &status,
			    (uintptr_t)self | LT_LOCK_HELD,
			    memory_order_release, memory_order_relaxed))
			lt_suspend(self);
	}
}

/* Unlocks and takes the oldest waiter out of the chain. Returns false if
 * another thread has changed the word meanwhile. */
static bool unlock_with_waiters(struct lt_lock *lock, uintptr_t status,
				struct lt_thread **ret_oldest)
{
	struct lt_thread *before = NULL;
	struct lt_thread *oldest = newest(status);

	while (oldest != NULL && oldest->next_locker != NULL) { /* LOCK-2 */
		before = oldest;
		oldest = oldest->next_locker;
	}
	/* release, both: the chain and what the lock protects; pair with the
	 * acquire of the next holder. */
	if (before != NULL) {
		before->next_locker = NULL;
		atomic_fetch_and_explicit(&lock->status, ~LT_LOCK_HELD,
					  memory_order_release);
	} else if (!atomic_compare_exchange_strong_explicit(
			   &lock->status, &status, 0, memory_order_release,
			   memory_order_relaxed)) {
		return false;
	}
	*ret_oldest = oldest;
	return true;
}

void lt_unlock_slow(struct lt_lock *lock)
{
	struct lt_thread *oldest = NULL;
	uintptr_t status;

	do {
		/* acquire: pairs with the release in lt_lock_slow(). */
		status = atomic_load_explicit(&lock->status,
					      memory_order_acquire);
	} while (!unlock_with_waiters(lock, status, &oldest));
	if (oldest != NULL)
		lt_restart(oldest);
}

void lt_queue_append(struct lt_queue *queue, struct lt_thread *thread)
{
	thread->next_waiter = NULL;
	if (queue->first == NULL)
		queue->first = thread;
	else
		queue->last->next_waiter = thread;
	queue->last = thread;
}

struct lt_thread *lt_queue_take(struct lt_queue *queue)
{
	struct lt_thread *thread = queue->first;

	if (thread != NULL)
		queue->first = thread->next_waiter;
	return thread;
}
