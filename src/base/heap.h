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
 * Each item has an index word that the heap keeps up to date: its place, or 0
 * when it is in no heap. So an item is removed in O(log n) without a search.
 * Items with equal keys come out in any order.
 *
 * No locks; the caller has one. Nothing blocks but the caller's grow.
 */
#ifndef WEFT_BASE_HEAP_H
#define WEFT_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/*
 * Makes an array larger and keeps its contents, moving it if need be. The
 * first call has old NULL and old_bytes 0; sizes are multiples of 4096. NULL
 * if there is no memory; the old array is then untouched.
 */
typedef void *wf_heap_grow_fn(void *old, size_t old_bytes, size_t new_bytes);

struct wf_heap_entry {
	int64_t key;
	void *item;
};

struct wf_heap {
	struct wf_heap_entry *entries; /* [0], [1] and [2] are not used */
	uint32_t len;		       /* items in the heap */
	uint32_t capacity;	       /* of entries, the unused included */
	wf_heap_grow_fn *grow;
	ptrdiff_t index_offset; /* of the index word in each item */
};

/* The place of the least key; places count up from here. */
enum { WF_HEAP_ROOT = 3 };

/* Empty, without memory; what it had is not freed. */
void wf_heap_init(struct wf_heap *h, wf_heap_grow_fn *grow);

/* Makes room for `nr` items in all: up to then no push fails. 0 or -ENOMEM. */
int wf_heap_reserve(struct wf_heap *h, uint32_t nr);

/*
 * *index is 0 and lies at the same distance from the item for all items of
 * the heap. Returns 0 or -ENOMEM.
 */
int wf_heap_push(struct wf_heap *h, int64_t key, void *item, uint32_t *index);

/* Takes out the item whose index word is `index`, not 0. */
void wf_heap_remove(struct wf_heap *h, uint32_t index);

/* Takes out an item of the least key; NULL if the heap is empty. */
void *wf_heap_pop(struct wf_heap *h);

/* Gives each item the key that rekey(its key, arg) returns. O(n). */
typedef int64_t wf_heap_rekey_fn(int64_t key, int64_t arg);
void wf_heap_rekey(struct wf_heap *h, wf_heap_rekey_fn *rekey, int64_t arg);

/* The least key, INT64_MAX if the heap is empty. */
static inline int64_t wf_heap_min_key(const struct wf_heap *h)
{
	return h->len != 0 ? h->entries[WF_HEAP_ROOT].key : INT64_MAX;
}

#endif
