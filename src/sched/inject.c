/* SPDX-License-Identifier: MIT */
/*
 * The injection queue and the remote queues. Each is a circular array under a
 * lock, and doubles when it is full. It holds entries and does not link
 * threads, since a joiner may claim a not-yet-started thread while its entry
 * waits here.
 */
#include "sched/inject.h"

#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "os/mem.h"

static void grow_locked(struct wf_inject *q)
{
	uint32_t len = wf_load_relaxed(&q->len);
	uint32_t capacity = q->capacity != 0 ? q->capacity * 2 :
					       WF_INJECT_FIRST;
	uint64_t *p = wf_os_reserve(capacity * sizeof(*p));

	WF_CHECK(p != NULL, "no memory for the run queue");
	for (uint32_t i = 0; i < len; i++)
		p[i] = q->entries[(q->head + i) & (q->capacity - 1)];
	if (q->entries != q->first)
		wf_os_release(q->entries, q->capacity * sizeof(*p));
	q->entries = p;
	q->capacity = capacity;
	q->head = 0;
}

void wf_inject_fini(struct wf_inject *q)
{
	if (q->entries != q->first)
		wf_os_release(q->entries, q->capacity * sizeof(*q->entries));
	q->entries = q->first;
	q->capacity = q->first != NULL ? WF_INJECT_FIRST : 0;
}

void wf_inject_push(struct wf_inject *q, const uint64_t *entries, uint32_t nr)
{
	uint32_t len;

	wf_spin_lock(&q->lock, WF_RANK_INJECT);
	len = wf_load_relaxed(&q->len);
	while (len + nr > q->capacity)
		grow_locked(q);
	for (uint32_t i = 0; i < nr; i++)
		q->entries[(q->head + len + i) & (q->capacity - 1)] =
			entries[i];
	wf_store_relaxed(&q->len, len + nr);
	wf_spin_unlock(&q->lock);
}

uint32_t wf_inject_pop(struct wf_inject *q, uint64_t *ret_entries, uint32_t max)
{
	uint32_t len, nr;

	if (wf_inject_len(q) == 0)
		return 0;
	wf_spin_lock(&q->lock, WF_RANK_INJECT);
	len = wf_load_relaxed(&q->len);
	nr = len < max ? len : max;
	for (uint32_t i = 0; i < nr; i++)
		ret_entries[i] = q->entries[(q->head + i) & (q->capacity - 1)];
	q->head += nr;
	wf_store_relaxed(&q->nr_popped, wf_load_relaxed(&q->nr_popped) + nr);
	wf_store_relaxed(&q->len, len - nr);
	wf_spin_unlock(&q->lock);
	return nr;
}

static bool find_locked(const struct wf_inject *q, bool (*is)(uint64_t entry),
			uint32_t *ret_i)
{
	uint32_t len = wf_load_relaxed(&q->len);

	for (uint32_t i = 0; i < len; i++) {
		if (is(q->entries[(q->head + i) & (q->capacity - 1)])) {
			*ret_i = i;
			return true;
		}
	}
	return false;
}

/*
 * Takes entry i. Moves the entries before it up by one place, so that the head
 * advances as after a pop of the oldest entry.
 */
static uint64_t take_locked(struct wf_inject *q, uint32_t i)
{
	uint32_t mask = q->capacity - 1;
	uint64_t entry = q->entries[(q->head + i) & mask];

	for (; i > 0; i--)
		q->entries[(q->head + i) & mask] =
			q->entries[(q->head + i - 1) & mask];
	q->head++;
	wf_store_relaxed(&q->nr_popped, wf_load_relaxed(&q->nr_popped) + 1);
	wf_store_relaxed(&q->len, wf_load_relaxed(&q->len) - 1);
	return entry;
}

bool wf_inject_take(struct wf_inject *q, bool (*is)(uint64_t entry),
		    uint64_t *ret_entry)
{
	uint32_t i;
	bool found;

	if (wf_inject_len(q) == 0)
		return false;
	wf_spin_lock(&q->lock, WF_RANK_INJECT);
	found = find_locked(q, is, &i);
	if (found)
		*ret_entry = take_locked(q, i);
	wf_spin_unlock(&q->lock);
	return found;
}

void wf_inject_reset(struct wf_inject *q, uint64_t *first)
{
	q->lock = WF_SPIN_INIT;
	q->head = 0;
	/* Keeps the first array only. At the fork the parent may have been
	 * replacing the larger one, so the child leaves that alone. */
	q->capacity = first != NULL ? WF_INJECT_FIRST : 0;
	q->entries = first;
	q->first = first;
	wf_store_relaxed(&q->len, 0);
	wf_store_relaxed(&q->nr_popped, 0);
}
