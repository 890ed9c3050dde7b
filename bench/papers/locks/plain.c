/* SPDX-License-Identifier: MIT */
/*
 * A variable, without atomic instructions, fences or the kernel: enough for a
 * thread library that has one processor, such as the paper's PTL.
 *
 * A preemption must not come between the read of the variable and its change.
 * On x86 one instruction does both, without the prefix that would lock the bus:
 * an interrupt comes before or after it, another processor in its middle.
 * Elsewhere the lock is right only where threads are not preempted.
 */
#include <sched.h>

#include "kinds.h"

struct plain {
	int is_locked;
};

static size_t size(int nr_threads)
{
	return sizeof(struct plain);
}

/* Sets the variable and returns whether it was set. */
static inline bool test_and_set(int *is_locked)
{
#if defined(__x86_64__) || defined(__i386__)
	bool was_locked;

	__asm__ volatile("btsl $0, %0"
			 : "+m"(*is_locked), "=@ccc"(was_locked)
			 :
			 : "memory");
	return was_locked;
#else
	bool was_locked = *(volatile int *)is_locked != 0;

	*(volatile int *)is_locked = 1;
	return was_locked;
#endif
}

static void lock_it(struct lock *lock, int me)
{
	while (test_and_set(&((struct plain *)lock)->is_locked))
		sched_yield();
}

static void unlock_it(struct lock *lock, int me)
{
	/* Keeps the critical section before the store. */
	__asm__ volatile("" ::: "memory");
	*(volatile int *)&((struct plain *)lock)->is_locked = 0;
}

const struct lock_kind lock_plain = {
	.name = "plain",
	.max_threads = LOCK_MAX_THREADS,
	.needs_one_cpu = true,
	.size = size,
	.init = lock_no_init,
	.fini = lock_no_fini,
	.lock = lock_it,
	.unlock = unlock_it,
};
