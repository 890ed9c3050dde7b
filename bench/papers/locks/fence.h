/* SPDX-License-Identifier: MIT */
/*
 * Fences, and a way to wait: the locks of loads and stores need both.
 * A processor keeps its latest stores in a buffer and lets later loads overtake
 * them; a fence waits until the buffer is empty. Where LOCK_COUNT is defined,
 * the fences are counted.
 *
 *     atomic_store_explicit(&l->wants[me], 1, memory_order_relaxed);
 *     lock_fence();
 *     while (atomic_load_explicit(&l->wants[1 - me], memory_order_acquire))
 *             lock_wait(&nr_looks);
 */
#ifndef LOCKS_FENCE_H
#define LOCKS_FENCE_H

#include <sched.h>
#include <stdatomic.h>

#ifdef LOCK_COUNT
extern _Thread_local int lock_nr_fences, lock_nr_store_fences;
#define LOCK_COUNT_ONE(counter) ((counter)++)
#else
#define LOCK_COUNT_ONE(counter) ((void)0)
#endif

/* Other threads see earlier stores before this thread makes later loads. */
static inline void lock_fence(void)
{
	LOCK_COUNT_ONE(lock_nr_fences);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Other threads see earlier stores before later ones. The store buffer of an
 * x86 processor is first in first out, so only the compiler has to be told.
 * Elsewhere a release fence is not enough: the thread that overwrites the later
 * store has not read it, so nothing synchronises the two.
 */
static inline void lock_store_fence(void)
{
	LOCK_COUNT_ONE(lock_nr_store_fences);
#if defined(__x86_64__) || defined(__i386__)
	atomic_signal_fence(memory_order_seq_cst);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/*
 * Called between two checks of a variable that another thread will change. That
 * thread may need this CPU, so each sixteenth call yields; the others pause. 16
 * checks take about as long as a short critical section (0.5 us).
 */
static inline void lock_wait(unsigned int *nr_looks)
{
	if (++*nr_looks % 16 == 0) {
		sched_yield();
		return;
	}
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif
