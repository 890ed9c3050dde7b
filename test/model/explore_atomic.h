/* SPDX-License-Identifier: MIT */
/*
 * base/atomic.h with a stop before each access, for code that the explorer
 * runs. Force it in front of the file under test:
 *
 *     cc -include explore_atomic.h ... src/sched/runq.c
 *
 * All accesses are sequentially consistent, which is what the explorer can
 * show; orders weaker than that are argued in the code's comments.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Another thread may run here. */
void explore_stop(void);
/*
 * Notes a value that the running thread has read: its further steps depend on
 * it.
 */
void explore_learn(uint64_t value);

#define explore_load(p)                            \
	({                                         \
		explore_stop();                    \
		__auto_type v_ = atomic_load((p)); \
		explore_learn((uint64_t)v_);       \
		v_;                                \
	})
#define explore_store(p, v)             \
	do {                            \
		explore_stop();         \
		atomic_store((p), (v)); \
	} while (0)
#define explore_cas(p, expected, desired)                             \
	({                                                            \
		explore_stop();                                       \
		bool done_ = EXPLORE_CAS((p), (expected), (desired)); \
		explore_learn(done_ ? 1 : (uint64_t) * (expected));   \
		explore_learn(done_);                                 \
		done_;                                                \
	})

/*
 * Shows that the explorer finds errors: this CAS compares only the low half of
 * a 64-bit word, as if the code had no versions.
 */
#ifdef EXPLORE_BUG_LOW_HALF_CAS
#define EXPLORE_CAS(p, expected, desired)                       \
	(((atomic_load((p)) ^ *(expected)) & UINT32_MAX) == 0 ? \
		 (atomic_store((p), (desired)), true) :         \
		 (*(expected) = atomic_load((p)), false))
#else
#define EXPLORE_CAS atomic_compare_exchange_strong
#endif

#define wf_load_relaxed explore_load
#define wf_load_acquire explore_load
#define wf_store_relaxed explore_store
#define wf_store_release explore_store
#define wf_cas_acq_rel explore_cas
#define wf_fence_seq_cst() ((void)0)

#endif
