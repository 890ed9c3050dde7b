/* SPDX-License-Identifier: MIT */
/*
 * Lamport's bakery, for any number of threads, by loads and stores. A thread
 * draws a number higher than all that it sees, and goes in when no other thread
 * has a lower one; the thread's own number decides between equals. Lock looks
 * at every thread, so its cost grows with their number.
 *
 * BAKERY-1. That a thread draws is visible before it looks at the numbers.
 *           Else another thread may take it for one that wants nothing, while
 *           it draws a number as low as the other's.
 * BAKERY-2. A thread's number is visible before it looks at the others'.
 * BAKERY-3. A thread that draws is waited for, and its number read after that.
 *
 * Numbers grow as long as the lock is never free; 64 bits are enough for that.
 * test/model/bakery.pml shows that both fences are needed.
 */
#include <stdint.h>

#include "fence.h"
#include "kinds.h"

struct customer {
	_Atomic uint64_t number; /* 0: does not want the lock */
	_Atomic int draws;
};

struct bakery {
	int nr_threads;
	struct customer customers[];
};

static size_t size(int nr_threads)
{
	return sizeof(struct bakery) +
	       (size_t)nr_threads * sizeof(struct customer);
}

static int init(struct lock *lock, int nr_threads)
{
	((struct bakery *)lock)->nr_threads = nr_threads;
	return 0;
}

static uint64_t draw(struct bakery *b, struct customer *mine)
{
	uint64_t highest = 0;

	atomic_store_explicit(&mine->draws, 1, memory_order_relaxed);
	lock_fence(); /* BAKERY-1 */
	for (int i = 0; i < b->nr_threads; i++) {
		uint64_t number = atomic_load_explicit(&b->customers[i].number,
						       memory_order_relaxed);

		highest = number > highest ? number : highest;
	}
	atomic_store_explicit(&mine->number, highest + 1, memory_order_relaxed);
	/* release: publishes the number; pairs with wait_for(). */
	atomic_store_explicit(&mine->draws, 0, memory_order_release);
	lock_fence(); /* BAKERY-2 */
	return highest + 1;
}

/*
 * Waits until thread `i` no longer precedes thread `me`, which has this number.
 */
static void wait_for(struct bakery *b, int i, uint64_t number, int me)
{
	struct customer *other = &b->customers[i];
	unsigned int nr_looks = 0;
	uint64_t seen;

	/* acquire: BAKERY-3; pairs with draw(). */
	while (atomic_load_explicit(&other->draws, memory_order_acquire))
		lock_wait(&nr_looks);
	for (;;) {
		/* acquire: sees the critical section; pairs with unlock. */
		seen = atomic_load_explicit(&other->number,
					    memory_order_acquire);
		if (seen == 0 || seen > number || (seen == number && i >= me))
			return;
		lock_wait(&nr_looks);
	}
}

static void lock_it(struct lock *lock, int me)
{
	struct bakery *b = (struct bakery *)lock;
	uint64_t number = draw(b, &b->customers[me]);

	for (int i = 0; i < b->nr_threads; i++)
		wait_for(b, i, number, me);
}

static void unlock_it(struct lock *lock, int me)
{
	struct bakery *b = (struct bakery *)lock;

	atomic_store_explicit(&b->customers[me].number, 0,
			      memory_order_release);
}

const struct lock_kind lock_bakery = {
	.name = "bakery",
	.max_threads = LOCK_MAX_THREADS,
	.lock_fences = 2,
	.size = size,
	.init = init,
	.fini = lock_no_fini,
	.lock = lock_it,
	.unlock = unlock_it,
};
