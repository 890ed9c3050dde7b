/* SPDX-License-Identifier: MIT */
/*
 * Min-heap with four children per node, of {key, item} pairs in one array.
 *
 *     struct timer { int64_t deadline; uint32_t index; ... } *t;
 *     struct wf_heap h;
 *
 *     wf_heap_init(&h, wf_os_regrow);
 *     err = wf_heap_push(&h, t->deadline, t, &t->index);
 *     wf_heap_remove(&h, t->index);
 *     while (wf_heap_min_key(&h) <= now)
 *             fire(wf_heap_pop(&h));
 *
 * Each item has an index word. The heap keeps it equal to the item's place, or
 * 0 if the item is in no heap. So removing an item takes O(log n) and no
 * search. Items with equal keys come out in any order.
 *
 * The heap has no lock: the caller holds one. Only the caller's grow may block.
 */
#ifndef WEFT_BASE_HEAP_H
#define WEFT_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/*
 * Enlarges an array and keeps its contents; may move it. The first call has old
 * NULL and old_bytes 0. Sizes are multiples of 4096 bytes. Returns NULL if
 * there is no memory; then the old array is unchanged.
 */
typedef void *wf_heap_grow_fn(void *old, size_t old_bytes, size_t new_bytes);

struct wf_heap_entry {
	int64_t key;
	void *item;
};

struct wf_heap {
	struct wf_heap_entry *entries; /* [0], [1] and [2] are unused */
	uint32_t len;		       /* items in the heap */
	uint32_t capacity;	       /* entries, with the unused ones */
	wf_heap_grow_fn *grow;
	ptrdiff_t index_offset; /* of the index word in each item */
};

/* The place of the least key; all places are from here up. */
enum { WF_HEAP_ROOT = 3 };

/* Makes h empty, without memory. Does not free its old memory. */
void wf_heap_init(struct wf_heap *h, wf_heap_grow_fn *grow);

/*
 * Makes room for `nr` items in all: pushes up to `nr` cannot fail. 0 or
 * -ENOMEM.
 */
int wf_heap_reserve(struct wf_heap *h, uint32_t nr);

/*
 * Adds an item. *index is 0, and at the same offset from the item for all items
 * of the heap. Returns 0 or -ENOMEM.
 */
int wf_heap_push(struct wf_heap *h, int64_t key, void *item, uint32_t *index);

/* Removes the item with the index word `index`, which is not 0. */
void wf_heap_remove(struct wf_heap *h, uint32_t index);

/* Removes and returns an item with the least key; NULL if the heap is empty. */
void *wf_heap_pop(struct wf_heap *h);

/* Gives each item the key rekey(key, arg). O(n). */
typedef int64_t wf_heap_rekey_fn(int64_t key, int64_t arg);
void wf_heap_rekey(struct wf_heap *h, wf_heap_rekey_fn *rekey, int64_t arg);

/* The least key; INT64_MAX if the heap is empty. */
static inline int64_t wf_heap_min_key(const struct wf_heap *h)
{
	return h->len != 0 ? h->entries[WF_HEAP_ROOT].key : INT64_MAX;
}

#endif
