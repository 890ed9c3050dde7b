/* SPDX-License-Identifier: MIT */
/*
 * Finding wait words that have changed: many at a time where they lie in
 * arrays, one by one at addresses that may fault.
 */
#ifndef WEFT_ARCH_WORDS_H
#define WEFT_ARCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Words of an array are looked at in groups. */
enum { WF_ARCH_GROUP = 64 };

/*
 * Looks through the groups from *group to before `end` for words that differ
 * from their old values and whose state is not 0. Returns them as bits for the
 * first group that has any, and its number in *group; 0 if none has. All three
 * arrays are aligned to cache lines.
 */
typedef uint64_t wf_arch_find_fn(const uint32_t *words, const uint32_t *old,
				 const uint8_t *states, uint32_t *group,
				 uint32_t end);

/* The fastest that this CPU has. */
wf_arch_find_fn *wf_arch_find_choose(void);

/* All that this CPU has, the slowest first, for tests: NULL behind the last. */
wf_arch_find_fn *wf_arch_find_nth(size_t n);

/* A word at any address, in the aligned 8 bytes that it lies in. */
struct wf_arch_slot {
	const volatile uint64_t *at;
	uint64_t mask, old;
	void *owner;
};

/*
 * The first of the slots from `from` to before `end` with (*at & mask) != old,
 * `end` if there is none. If the access to it faulted, bit 0 of the address is
 * set; that needs SIGSEGV and SIGBUS open and wf_arch_slots_fixup in their
 * handler, which says whether it was such a fault.
 */
const struct wf_arch_slot *wf_arch_slots_scan(const struct wf_arch_slot *from,
					      const struct wf_arch_slot *end);
bool wf_arch_slots_fixup(ucontext_t *uc);

#endif
