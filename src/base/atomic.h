/* SPDX-License-Identifier: MIT */
/*
 * Short names for C11 atomics with an explicit order.
 *
 *     wf_store_release(&ready, 1);        pairs with the acquire in await()
 *
 * A comment at each acquire and each release in weft names its partner.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define wf_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define wf_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define wf_store_relaxed(p, v) \
	atomic_store_explicit((p), (v), memory_order_relaxed)
#define wf_store_release(p, v) \
	atomic_store_explicit((p), (v), memory_order_release)
#define wf_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
#define wf_fence_acquire() atomic_thread_fence(memory_order_acquire)

/*
 * Adds n to an atomic word that only the caller writes and others may read. A
 * plain addition of an aligned word is one instruction with one store; the
 * compiler never joins a relaxed load and store to that.
 */
#define wf_add_own(p, n) ((void)(*(uint64_t *)(p) += (n)))

/* Compare and swap; on failure *expected is the current value. */
#define wf_cas_acq_rel(p, expected, desired)                                \
	atomic_compare_exchange_strong_explicit((p), (expected), (desired), \
						memory_order_acq_rel,       \
						memory_order_acquire)

#endif
