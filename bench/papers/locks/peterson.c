/* SPDX-License-Identifier: MIT */
/*
 * Peterson's lock, for two threads, by loads and stores. A thread says that it
 * wants the lock, and lets the other thread go first. Then it waits until the
 * other does not want the lock, or has let this one go first since.
 *
 * PETERSON-1. The wish is visible before the turn: lock_store_fence.
 * PETERSON-2. Wish and turn are visible before the thread looks at the other's:
 *             lock_fence. Without it both look before either's wish is visible,
 *             and both go in.
 *
 * test/model/peterson.pml shows that each of them is needed.
 */
#include "fence.h"
#include "kinds.h"

struct peterson {
	_Atomic int wants[2];
	_Atomic int first; /* which thread goes first if both want the lock */
};

static size_t size(int nr_threads)
{
	return sizeof(struct peterson);
}

static void lock_it(struct lock *lock, int me)
{
	struct peterson *p = (struct peterson *)lock;
	int other = 1 - me;
	unsigned int nr_looks = 0;

	atomic_store_explicit(&p->wants[me], 1, memory_order_relaxed);
	lock_store_fence(); /* PETERSON-1 */
	/* release: pairs with the read of it below, in the other thread. */
	atomic_store_explicit(&p->first, other, memory_order_release);
	lock_fence(); /* PETERSON-2 */
	/* acquire: sees the other's last critical section; pairs with unlock,
	 * or with the store above, in the other thread. */
	while (atomic_load_explicit(&p->wants[other], memory_order_acquire) &&
	       atomic_load_explicit(&p->first, memory_order_acquire) == other)
		lock_wait(&nr_looks);
}

static void unlock_it(struct lock *lock, int me)
{
	struct peterson *p = (struct peterson *)lock;

	atomic_store_explicit(&p->wants[me], 0, memory_order_release);
}

const struct lock_kind lock_peterson = {
	.name = "peterson",
	.max_threads = 2,
	.lock_fences = 1,
	.lock_store_fences = 1,
	.size = size,
	.init = lock_no_init,
	.fini = lock_no_fini,
	.lock = lock_it,
	.unlock = unlock_it,
};
