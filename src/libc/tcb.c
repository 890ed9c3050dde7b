/* SPDX-License-Identifier: MIT */
/*
 * Makes the TCB of each thread from the template. A new slot gets a copy with
 * its addresses relocated, a place in ld.so's list, and TLS blocks from ld.so.
 * A slot that is used again gets only the words that its last thread may have
 * changed.
 *
 * TCB-1. Only the template thread writes the template. It is constant after
 *     that thread was joined.
 * TCB-2. A TCB enters ld.so's list before ld.so allocates its TLS. So a library
 *     that is loaded at the same time initialises its TLS in the TCB, through
 *     the list or through the allocation.
 * TCB-3. Slots are inserted between the two anchors and never removed. ld.so
 *     walks the list under a lock that weft cannot take, and finds it complete
 *     at any time: an insertion publishes the element by one release store.
 * TCB-4. A prepared slot's DTV word never changes, not even for a moment: a
 *     fork could copy that moment, and the child uses the slot again.
 * TCB-5. Changes that a thread makes in its TCB, unnoticed by wf_tcb_is_dirty
 *     and its caller, lie between tid and cancelhandling. libc also uses the
 *     TCBs of ended threads again, and resets little more. To write all 2 KiB
 *     costs a short thread most of its time, in cache misses.
 * TCB-6. The template has the creator's policy, and a thread with another
 *     policy gets that written. libc's aio_write and similar calls read the
 *     policy from the TCB. If it is not there, libc asks the kernel, by a
 *     thread id that the kernel does not know. The request then had an
 *     uninitialised value for its policy.
 *
 * Rejected: to build a TCB field by field. The fields that matter differ
 * between releases, and a copy has them all.
 */
#include "libc/tcb.h"

#include <errno.h>
#include <pthread.h>
#include <resolv.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/self.h"
#include "base/spin.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "libc/template.h"

static struct wf_spin list_lock = WF_SPIN_INIT;
static uintptr_t anchor;

typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t any_word __attribute__((may_alias));

static inline void relocate(const struct wf_image *im, void *block,
			    uintptr_t tcb)
{
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct wf_relocation *r = &im->relocations[i];
		uintptr_t word = tcb + (uintptr_t)r->distance;

		memcpy((char *)block + r->offset, &word, 8);
	}
}

/*
 * True for words that stay with the slot: the list words (TCB-3) and the DTV
 * (TCB-4).
 */
static bool is_kept(size_t offset)
{
	size_t list = wf_libc.list_offset;

	return offset == wf_libc.dtv_offset || offset == list ||
	       offset == list + sizeof(void *);
}

void wf_tcb_set_stack(uintptr_t tcb, void *stack_low, size_t stack_bytes)
{
	uint64_t w[2] = { (uintptr_t)stack_low, stack_bytes };

	if (wf_template.stack_offset != 0)
		memcpy((char *)tcb + wf_template.stack_offset, w, sizeof(w));
}

/* Copies the whole TCB but the words that stay with the slot. */
static void copy_tcb(uintptr_t tcb, int tid, void *stack_low,
		     size_t stack_bytes)
{
	const struct wf_image *im = &wf_template.tcb;
	size_t list = wf_libc.list_offset;
	size_t behind_list = list + 2 * sizeof(void *);
	size_t dtv = wf_libc.dtv_offset;
	size_t behind_dtv = dtv + sizeof(void *);
	char *p = (char *)tcb;

	WF_CHECK(behind_dtv <= list, "libc's TCB header is not in front");
	memcpy(p, im->bytes, dtv);
	memcpy(p + behind_dtv, im->bytes + behind_dtv, list - behind_dtv);
	memcpy(p + behind_list, im->bytes + behind_list,
	       im->size - behind_list);
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct wf_relocation *r = &im->relocations[i];
		uintptr_t word = tcb + (uintptr_t)r->distance;

		if (!is_kept(r->offset))
			memcpy(p + r->offset, &word, 8);
	}
	wf_libc_set_tid(tcb, tid);
	wf_tcb_set_stack(tcb, stack_low, stack_bytes);
}

/*
 * The n-th pair of a block. With a constant n a copy is a load and a store:
 * a loop over the pairs would take three times the instructions.
 */
#define FOR_4(DO, n) DO((n) + 3) DO((n) + 2) DO((n) + 1) DO(n)
#define FOR_PAIRS_FROM_LAST(DO) \
	FOR_4(DO, 12) FOR_4(DO, 8) FOR_4(DO, 4) FOR_4(DO, 0)
_Static_assert(16 * sizeof(pair) == WF_TEMPLATE_USUAL_BYTES, "a case for each");
_Static_assert(2 * 16 == WF_TEMPLATE_WINDOW_WORDS, "a case for each");

/* Copies nr pairs, at most 16, without a loop. */
static inline void copy_pairs(void *to, const void *from, size_t nr)
{
	pair *p = to;
	const pair *q = from;

	switch (nr) {
#define COPY(n)              \
	case (n) + 1:        \
		p[n] = q[n]; \
		__attribute__((fallthrough));
		FOR_PAIRS_FROM_LAST(COPY)
#undef COPY
	default:
		break;
	}
}

static WF_NOINLINE void copy_libc_tls(uintptr_t tcb, bool keep_malloc_words)
{
	const struct wf_image *im = &wf_template.libc_tls;
	char *block = (char *)(tcb - wf_template.libc_tls_below);
	uint64_t kept[WF_TEMPLATE_MALLOC_WORDS];
	size_t nr = keep_malloc_words ? wf_template.nr_malloc_words : 0;

	for (size_t i = 0; i < nr; i++)
		memcpy(&kept[i], block + wf_template.malloc_words[i], 8);
	memcpy(block, im->bytes, im->size);
	relocate(im, block, tcb);
	for (size_t i = 0; i < nr; i++)
		memcpy(block + wf_template.malloc_words[i], &kept[i], 8);
}

/*
 * copy_libc_tls with malloc's words kept, for the usual libc: a short block
 * with one relocation, and two words of malloc's.
 */
static inline void renew_libc_tls(uintptr_t tcb)
{
	const struct wf_image *im = &wf_template.libc_tls;
	const struct wf_relocation *r = &im->relocations[0];
	char *block = (char *)(tcb - wf_template.libc_tls_below);
	any_word *cache, *arena, old_cache, old_arena;

	if (WF_UNLIKELY(!wf_template.is_usual)) {
		copy_libc_tls(tcb, true);
		return;
	}
	cache = (any_word *)(block + wf_template.malloc_words[0]);
	arena = (any_word *)(block + wf_template.malloc_words[1]);
	old_cache = *cache;
	old_arena = *arena;
	copy_pairs(block, im->bytes, im->size / sizeof(pair));
	*(any_word *)(block + r->offset) = tcb + (uintptr_t)r->distance;
	*cache = old_cache;
	*arena = old_arena;
}

void wf_tcb_link(uintptr_t tcb)
{
	_Atomic(void *) *first =
		(_Atomic(void *) *)(anchor + wf_libc.list_offset);
	void **links = (void **)(tcb + wf_libc.list_offset);
	void **next;

	wf_spin_lock(&list_lock, WF_RANK_TCB_LIST);
	next = wf_load_relaxed(first);
	links[0] = next;
	links[1] = (void *)first;
	next[1] = links;
	/* release: ld.so walks by the next words (TCB-3) */
	wf_store_release(first, (void *)links);
	wf_spin_unlock(&list_lock);
}

int wf_tcb_prepare(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes,
		   struct wf_thread *self)
{
	*wf_libc_dtv_slot(tcb) = NULL;
	copy_tcb(tcb, tid, stack_low, stack_bytes);
	if (wf_libc.allocate_tls((void *)tcb) == NULL)
		return -ENOMEM;
	copy_libc_tls(tcb, false);
	if (wf_template.rseq_cpu_id != 0)
		*(uint32_t *)(tcb + (uintptr_t)wf_template.rseq_cpu_id) =
			WF_RSEQ_NO_CPU;
	*(struct wf_thread **)(tcb + wf_libc.self_offset) = self;
	return 0;
}

void wf_tcb_renew(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes)
{
	copy_tcb(tcb, tid, stack_low, stack_bytes);
	copy_libc_tls(tcb, true);
}

/*
 * TCB-5. Copies and relocates the window of the template (libc/template.h), a
 * pair of words at a time. Words behind the window's end are no part of it.
 */
static inline void renew_window(uintptr_t tcb)
{
	const pair *words = (const pair *)wf_template.window_words;
	const pair *masks = (const pair *)wf_template.window_masks;
	const pair both = { tcb, tcb };
	size_t nr = wf_template.window_bytes / sizeof(uint64_t);
	any_word *to = (any_word *)(tcb + wf_template.window);
	pair *p = (pair *)to;

	switch (nr / 2) {
#define RENEW(n)                                     \
	case (n) + 1:                                \
		p[n] = words[n] + (masks[n] & both); \
		__attribute__((fallthrough));
		FOR_PAIRS_FROM_LAST(RENEW)
#undef RENEW
	default:
		break;
	}
	if (WF_UNLIKELY(nr % 2 != 0))
		to[nr - 1] = wf_template.window_words[nr - 1] +
			     (wf_template.window_masks[nr - 1] & tcb);
}

void wf_tcb_renew_clean(uintptr_t tcb, int tid)
{
	renew_window(tcb);
	wf_libc_set_tid(tcb, tid);
	renew_libc_tls(tcb);
}

void wf_tcb_prefetch(uintptr_t tcb)
{
	const char *p = (const char *)tcb;
	const char *libc_tls = p - wf_template.libc_tls_below;

	__builtin_prefetch(p, 1);
	__builtin_prefetch(p + wf_libc.self_offset);
	__builtin_prefetch(p + wf_template.window, 1);
	__builtin_prefetch(p + wf_libc.cancel_offset, 1);
	__builtin_prefetch(p + wf_libc.specific_used_offset);
	__builtin_prefetch(p + wf_template.resolver_offset);
	for (size_t i = 0; i < wf_template.libc_tls.size; i += WF_CACHE_LINE)
		__builtin_prefetch(libc_tls + i, 1);
}

void wf_tcb_ask_policy(int *ret_policy, int *ret_priority)
{
	struct sched_param param = { 0 };

	*ret_policy = SCHED_OTHER; /* in case the kernel refuses to tell */
	wf_real.pthread_getschedparam(pthread_self(), ret_policy, &param);
	*ret_priority = param.sched_priority;
}

void wf_tcb_set_policy(uintptr_t tcb, int policy, int priority)
{
	if (wf_libc.policy_offset == 0)
		return;
	*(int *)(tcb + wf_libc.policy_offset) = policy;
	*(int *)(tcb + wf_libc.priority_offset) = priority;
}

WF_LINK_INLINE bool wf_tcb_is_dirty(uintptr_t tcb)
{
	const struct __res_state *res =
		(struct __res_state *)(tcb + wf_template.resolver_offset);

	return wf_template.window_bytes == 0 || res->options != 0 ||
	       res->retrans != 0 || res->retry != 0;
}

/* The n-th malloc word in libc's TLS block of this TCB. */
static uint64_t *malloc_word(uintptr_t tcb, size_t n)
{
	return (uint64_t *)(tcb - wf_template.libc_tls_below +
			    wf_template.malloc_words[n]);
}

static uint64_t unset_malloc_word(size_t n)
{
	uint64_t word;

	memcpy(&word, wf_template.libc_tls.bytes + wf_template.malloc_words[n],
	       8);
	return word;
}

bool wf_tcb_has_cache(uintptr_t tcb)
{
	for (size_t i = 0; i < wf_template.nr_malloc_words; i++) {
		if (*malloc_word(tcb, i) != unset_malloc_word(i))
			return true;
	}
	return false;
}

void wf_tcb_take_cache(uintptr_t tcb)
{
	uintptr_t own = wf_cpu_thread_register();

	/*
	 * A library that has replaced malloc has called libc's malloc in this
	 * thread: then libc's cache is not used.
	 */
	if (wf_tcb_has_cache(own))
		return;
	for (size_t i = 0; i < wf_template.nr_malloc_words; i++) {
		uint64_t word = *malloc_word(tcb, i);

		/*
		 * In this order, so that a fork between leaves the cache unused
		 * and not used twice.
		 */
		*malloc_word(tcb, i) = unset_malloc_word(i);
		*malloc_word(own, i) = word;
	}
}

void wf_tcb_anchor(uintptr_t tcb0, uintptr_t tcb1)
{
	void **head = wf_libc.stack_user_list;
	void **a = (void **)(tcb0 + wf_libc.list_offset);
	void **b = (void **)(tcb1 + wf_libc.list_offset);
	void **old_first = head[0];

	*wf_libc_dtv_slot(tcb0) = NULL;
	*wf_libc_dtv_slot(tcb1) = NULL;
	copy_tcb(tcb0, 0, NULL, 0);
	copy_tcb(tcb1, 0, NULL, 0);
	a[0] = b;
	a[1] = head;
	b[0] = old_first;
	b[1] = a;
	old_first[1] = b;
	head[0] = a;
	anchor = tcb0;
	list_lock = WF_SPIN_INIT;
}

uintptr_t wf_tcb_robust_list(uintptr_t tcb)
{
	return wf_template.robust_offset != 0 ?
		       tcb + wf_template.robust_offset :
		       0;
}

size_t wf_tcb_minimal_bytes(void)
{
	return wf_libc.static_tls_bytes + wf_libc.pthread_bytes + 64;
}

uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *self)
{
	uintptr_t own = wf_cpu_thread_register();
	uintptr_t tcb = ((uintptr_t)block + wf_libc.static_tls_bytes + 63) &
			~63UL;
	const struct wf_image *im = &wf_template.tcb;

	/* Only the header: self pointers, canary, pointer guard. */
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct wf_relocation *r = &im->relocations[i];

		if (r->offset < WF_ARCH_TCB_HEADER_BYTES)
			*(uintptr_t *)(tcb + r->offset) =
				tcb + (uintptr_t)r->distance;
	}
	memcpy((void *)(tcb + WF_ARCH_TCB_GUARDS_OFFSET),
	       (void *)(own + WF_ARCH_TCB_GUARDS_OFFSET),
	       WF_ARCH_TCB_GUARDS_BYTES);
	*(struct wf_thread **)(tcb + wf_libc.self_offset) = self;
	return tcb;
}
