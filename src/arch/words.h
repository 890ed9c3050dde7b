/* SPDX-License-Identifier: MIT */
/*
 * Finds wait words that have changed: many at a time if they lie in arrays, one
 * by one at addresses that may fault.
 *
 *     bits = find(words, old, states, &group, nr_groups);
 */
#ifndef WEFT_ARCH_WORDS_H
#define WEFT_ARCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The words of an array are checked in groups of this number. */
enum { WF_ARCH_GROUP = 64 };

/*
 * Checks the groups from *group to before `end` for words that differ from
 * their old values and have a state other than 0. Returns these words as bits
 * of the first group that has any, and stores that group in *group. Returns 0
 * if there are none. All three arrays are aligned to cache lines.
 */
typedef uint64_t wf_arch_find_fn(const uint32_t *words, const uint32_t *old,
				 const uint8_t *states, uint32_t *group,
				 uint32_t end);

/* Returns the fastest function that this CPU supports. */
wf_arch_find_fn *wf_arch_find_choose(void);

/*
 * Returns the functions that this CPU supports, one for each n from 0, the
 * slowest first; NULL behind the last one. For tests.
 */
wf_arch_find_fn *wf_arch_find_nth(size_t n);

/*
 * A word at any address: the aligned 8 bytes that have it, and a mask of its
 * bits.
 */
struct wf_arch_slot {
	const volatile uint64_t *at;
	uint64_t mask, old;
	void *owner;
};

/*
 * Returns the first slot from `from` to before `end` with (*at & mask) != old;
 * `end` if there is none. If the access to that slot faulted, bit 0 of the
 * returned address is set. SIGSEGV and SIGBUS must be unblocked, and their
 * handler must call wf_arch_slots_fixup. That returns true if the fault was in
 * a scan.
 */
const struct wf_arch_slot *wf_arch_slots_scan(const struct wf_arch_slot *from,
					      const struct wf_arch_slot *end);
bool wf_arch_slots_fixup(ucontext_t *uc);

#endif
