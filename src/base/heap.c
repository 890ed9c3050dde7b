/* SPDX-License-Identifier: MIT */
/*
 * A heap in an array, laid out for the cache. The root is entry 3, and the
 * children of i are entries 4 * (i - 2) to 4 * (i - 2) + 3. The four lie in one
 * cache line, so a step down the heap reads one line.
 *
 * HEAP-1. The key of an entry is not less than its parent's.
 * HEAP-2. The item of entry i has i in its index word. The heap has the word's
 *     offset once, so that an entry needs only 16 bytes.
 *
 * Rejected: a binary heap, with twice the depth and also a line per step.
 * Rejected: a pairing heap or a timer wheel. Both need links in each thread.
 * One has no cheap minimum, the other needs a tick.
 */
#include "base/heap.h"

#include <errno.h>

#include "base/log.h"

enum { ROOT = WF_HEAP_ROOT, FIRST_BYTES = 4096, CHILDREN = 4 };

static uint32_t parent_of(uint32_t i)
{
	return i / CHILDREN + 2;
}

static uint32_t first_child_of(uint32_t i)
{
	return CHILDREN * (i - 2);
}

/* The first unused entry. */
static uint32_t end(const struct wf_heap *h)
{
	return ROOT + h->len;
}

static uint32_t *index_word(const struct wf_heap *h, void *item)
{
	return (uint32_t *)((char *)item + h->index_offset);
}

static void put(struct wf_heap *h, uint32_t i, struct wf_heap_entry e)
{
	h->entries[i] = e;
	*index_word(h, e.item) = i; /* HEAP-2 */
}

/* Puts e at i or above, and moves larger parents down. */
static void sift_up(struct wf_heap *h, uint32_t i, struct wf_heap_entry e)
{
	while (i != ROOT && h->entries[parent_of(i)].key > e.key) {
		put(h, i, h->entries[parent_of(i)]);
		i = parent_of(i);
	}
	put(h, i, e);
}

static uint32_t least_child(const struct wf_heap *h, uint32_t first)
{
	uint32_t stop = first + CHILDREN;
	uint32_t least = first;

	if (stop > end(h))
		stop = end(h);
	for (uint32_t i = first + 1; i < stop; i++) {
		if (h->entries[i].key < h->entries[least].key)
			least = i;
	}
	return least;
}

/* Puts e at i or below, and moves smaller children up. */
static void sift_down(struct wf_heap *h, uint32_t i, struct wf_heap_entry e)
{
	uint32_t child;

	while ((child = first_child_of(i)) < end(h)) {
		child = least_child(h, child);
		if (h->entries[child].key >= e.key)
			break;
		put(h, i, h->entries[child]);
		i = child;
	}
	put(h, i, e);
}

static int grow(struct wf_heap *h)
{
	size_t old_bytes = h->capacity * sizeof(*h->entries);
	size_t new_bytes = old_bytes != 0 ? 2 * old_bytes : FIRST_BYTES;
	void *p = h->grow(h->entries, old_bytes, new_bytes);

	if (p == NULL)
		return -ENOMEM;
	h->entries = p;
	h->capacity = (uint32_t)(new_bytes / sizeof(*h->entries));
	return 0;
}

void wf_heap_init(struct wf_heap *h, wf_heap_grow_fn *grow_fn)
{
	*h = (struct wf_heap){ .grow = grow_fn };
}

int wf_heap_reserve(struct wf_heap *h, uint32_t nr)
{
	while (h->capacity < ROOT + nr) {
		if (grow(h) < 0)
			return -ENOMEM;
	}
	return 0;
}

int wf_heap_push(struct wf_heap *h, int64_t key, void *item, uint32_t *index)
{
	ptrdiff_t offset = (char *)index - (char *)item;

	if (end(h) >= h->capacity && grow(h) < 0)
		return -ENOMEM;
	WF_ASSERT(h->len == 0 || offset == h->index_offset);
	h->index_offset = offset;
	h->len++;
	sift_up(h, end(h) - 1, (struct wf_heap_entry){ key, item });
	return 0;
}

void wf_heap_remove(struct wf_heap *h, uint32_t index)
{
	struct wf_heap_entry last;

	*index_word(h, h->entries[index].item) = 0;
	h->len--;
	last = h->entries[end(h)];
	if (index == end(h))
		return;
	if (index != ROOT && h->entries[parent_of(index)].key > last.key)
		sift_up(h, index, last);
	else
		sift_down(h, index, last);
}

void wf_heap_rekey(struct wf_heap *h, wf_heap_rekey_fn *rekey, int64_t arg)
{
	for (uint32_t i = ROOT; i < end(h); i++)
		h->entries[i].key = rekey(h->entries[i].key, arg);
	/*
	 * HEAP-1: from the last entry up, so that an entry's children are in
	 * order.
	 */
	for (uint32_t i = end(h); i-- > ROOT;)
		sift_down(h, i, h->entries[i]);
}

void *wf_heap_pop(struct wf_heap *h)
{
	void *item;

	if (h->len == 0)
		return NULL;
	item = h->entries[ROOT].item;
	wf_heap_remove(h, ROOT);
	return item;
}
