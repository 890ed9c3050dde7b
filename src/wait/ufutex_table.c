/* SPDX-License-Identifier: MIT */
/*
 * The memory of the buckets, and the order of the waiters in a bucket. The
 * process starts with a small static table. The first wait replaces it by a
 * large one, unless the process has a memory limit. No thread waits before
 * that, so there is no waiter to move.
 */
#include "os/mem.h"
#include "wait/ufutex_bucket.h"
#include "wait/ufutex_internal.h"

static struct wf_bucket few[1 << WF_FEW_BUCKET_BITS];
static struct wf_spin choice_lock = WF_SPIN_INIT;
struct wf_bucket_table wf_bucket_table WF_ALIGNED(WF_CACHE_LINE) = {
	.buckets = few,
	.shift = 64 - WF_FEW_BUCKET_BITS,
};

static bool goes_before(const struct wf_thread *t, const struct wf_thread *at)
{
	if (t->rt_priority != at->rt_priority)
		return t->rt_priority > at->rt_priority;
	return t->is_starving &&
	       (!at->is_starving ||
		(int32_t)((t->wait_bits - at->wait_bits) << 1) < 0);
}

struct wf_thread *wf_bucket_below_locked(const struct wf_bucket *b,
					 const struct wf_thread *t)
{
	struct wf_thread *at = b->first;

	while (at != NULL &&
	       (at->wait_addr != t->wait_addr || !goes_before(t, at)))
		at = wf_bucket_after_locked(b, at);
	return at;
}

static void choose_locked(void)
{
	size_t bytes = sizeof(struct wf_bucket) << WF_BUCKET_BITS;
	struct wf_bucket *many = NULL;

	if (!wf_os_memory_is_limited())
		many = wf_os_reserve(bytes);
	if (many != NULL) {
		wf_os_no_huge(many, bytes);
		wf_bucket_table.buckets = many;
		/*
		 * release: the buckets; pairs with the acquire in wf_bucket_of.
		 */
		wf_store_release(&wf_bucket_table.shift, 64 - WF_BUCKET_BITS);
	}
	/* release: the table; pairs with the acquire below. */
	wf_store_release(&wf_bucket_table.is_chosen, true);
}

void wf_bucket_table_choose(void)
{
	if (WF_LIKELY(wf_load_acquire(&wf_bucket_table.is_chosen)))
		return;
	wf_spin_lock(&choice_lock, WF_RANK_BUCKET_CHOICE);
	if (!wf_load_relaxed(&wf_bucket_table.is_chosen))
		choose_locked();
	wf_spin_unlock(&choice_lock);
}

void wf_ufutex_fork_child(void)
{
	struct wf_bucket_table *table = &wf_bucket_table;
	size_t nr = (size_t)1 << (64 - wf_load_relaxed(&table->shift));

	choice_lock = WF_SPIN_INIT;
	wf_biased_fork_child();
	if (table->buckets != few &&
	    wf_os_zero(table->buckets, nr * sizeof(struct wf_bucket)) == 0)
		return;
	for (size_t i = 0; i < nr; i++)
		table->buckets[i] = (struct wf_bucket){ 0 };
}
