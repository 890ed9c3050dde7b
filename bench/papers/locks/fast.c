/* SPDX-License-Identifier: MIT */
/*
 * Lamport's fast mutex, for any number of threads, by loads and stores. Without
 * contention a lock is five accesses and an unlock two, however many threads
 * there are: only a thread that meets another one looks at all of them.
 *
 * A thread puts its number into `last`, then into `owner` if that is 0. If it
 * is still the last one, no other thread has begun meanwhile, and it goes in.
 * Else it says that it does not try any more, waits until each thread has
 * decided, and goes in if it is the owner then.
 *
 * FAST-1. `tries` and `last` are visible before the read of `owner`.
 * FAST-2. `owner` is visible before the read of `last`.
 * FAST-3. A thread that has stopped trying has stored its `owner` before.
 *
 * test/model/fast_mutex.pml shows that both fences are needed.
 */
#include "fence.h"
#include "kinds.h"

struct fast {
	int nr_threads;
	_Atomic int last;  /* a thread's number + 1 */
	_Atomic int owner; /* a thread's number + 1, or 0 */
	_Atomic int tries[];
};

static size_t size(int nr_threads)
{
	return sizeof(struct fast) + (size_t)nr_threads * sizeof(_Atomic int);
}

static int init(struct lock *lock, int nr_threads)
{
	((struct fast *)lock)->nr_threads = nr_threads;
	return 0;
}

/* acquire: sees the critical section; pairs with unlock. */
static int owner(struct fast *f)
{
	return atomic_load_explicit(&f->owner, memory_order_acquire);
}

static void wait_for_all(struct fast *f)
{
	unsigned int nr_looks = 0;

	for (int i = 0; i < f->nr_threads; i++) {
		/* acquire: FAST-3; pairs with give_up() and unlock. */
		while (atomic_load_explicit(&f->tries[i], memory_order_acquire))
			lock_wait(&nr_looks);
	}
}

static void give_up(struct fast *f, int me)
{
	/* release: FAST-3; pairs with wait_for_all(). */
	atomic_store_explicit(&f->tries[me], 0, memory_order_release);
}

static void wait_until_free(struct fast *f)
{
	unsigned int nr_looks = 0;

	while (owner(f) != 0)
		lock_wait(&nr_looks);
}

/* Returns whether thread `me` has the lock; if not, it has to try again. */
static bool try_once(struct fast *f, int me)
{
	atomic_store_explicit(&f->tries[me], 1, memory_order_relaxed);
	atomic_store_explicit(&f->last, me + 1, memory_order_relaxed);
	lock_fence(); /* FAST-1 */
	if (owner(f) != 0) {
		give_up(f, me);
		wait_until_free(f);
		return false;
	}
	atomic_store_explicit(&f->owner, me + 1, memory_order_release);
	lock_fence(); /* FAST-2 */
	if (atomic_load_explicit(&f->last, memory_order_relaxed) == me + 1)
		return true;
	give_up(f, me);
	wait_for_all(f);
	if (owner(f) == me + 1)
		return true;
	wait_until_free(f);
	return false;
}

static void lock_it(struct lock *lock, int me)
{
	while (!try_once((struct fast *)lock, me))
		;
}

static void unlock_it(struct lock *lock, int me)
{
	struct fast *f = (struct fast *)lock;

	atomic_store_explicit(&f->owner, 0, memory_order_release);
	give_up(f, me);
}

const struct lock_kind lock_fast = {
	.name = "fast",
	.max_threads = LOCK_MAX_THREADS,
	.lock_fences = 2,
	.size = size,
	.init = init,
	.fini = lock_no_fini,
	.lock = lock_it,
	.unlock = unlock_it,
};
