/* SPDX-License-Identifier: MIT */
/*
 * The buckets of the user futex: lists of waiters, keyed by address.
 *
 *     struct wf_bucket *b = wf_bucket_of(addr);
 *
 *     wf_bucket_lock(me, b);
 *     wf_bucket_add_locked(b, t);
 *     wf_bucket_unlock(wf_bucket_vp(me), b);
 *
 * in_runtime set, signals closed (wait/closed.h). me as in wf_ready_woken. What
 * is said of a bucket's lock is true as well of who has all without locks
 * (wait/biased.h), but that it is no fence then.
 */
#ifndef WEFT_WAIT_UFUTEX_BUCKET_H
#define WEFT_WAIT_UFUTEX_BUCKET_H

#include "base/spin.h"
#include "os/mem.h"
#include "sched/thread.h"
#include "wait/biased.h"

/*
 * With a million waiters on as many words a list has 8, and of 100,000 most are
 * alone: each other one is a miss of the caches on the way to who is meant.
 * Nobody pays for buckets that no word falls in, since they are zero pages. But
 * their 2 MiB count against a limit on memory: there are fewer then.
 */
enum { WF_BUCKET_BITS = 17, WF_FEW_BUCKET_BITS = 10 };

struct wf_bucket {
	/* Of a ring, NULL if nobody waits. Of those that wait for one word the
	 * highest priority is first, of equals those that starve, the longest
	 * first, then the oldest. */
	struct wf_thread *first;
	struct wf_spin lock;
};

/* Constant once somebody waits; see wf_bucket_table_choose. */
struct wf_bucket_table {
	struct wf_bucket *buckets;
	_Atomic uint32_t shift; /* there are at least 1 << (64 - shift) */
	_Atomic bool is_chosen;
};
extern struct wf_bucket_table wf_bucket_table;

/*
 * Makes the table unless it has been made. To be called before the first wait;
 * a waker that has yet to see the new table looks for waiters that there were
 * before it, which is none. May be called by several threads. in_runtime set.
 */
void wf_bucket_table_choose(void);

/*
 * Words that are neighbours have buckets that are: the words of one page fall
 * in a few pages of buckets. Words of one cache line, as a condition's and its
 * mutex's often are, have buckets far apart: those of the one must not be
 * searched for the other's.
 */
static inline struct wf_bucket *wf_bucket_of(const void *addr)
{
	/* Lines of a page are neighbours. */
	uint64_t near = ((uintptr_t)addr >> 6) & 63;
	/* The page, in bits 7 and up, and the half of the line, in bit 0. */
	uint64_t far = ((uintptr_t)addr >> 5) & ~UINT64_C(0x7e);
	/*
	 * A page counts 128 times as much: numbers that follow each other where
	 * words lie densely, as hashing by the golden ratio spreads them best.
	 * Bit 0 counts half of the table.
	 */
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15) >> 7 |
				UINT64_C(1) << 63;

	/* acquire: pairs with the release in choose_locked. */
	uint32_t shift = wf_load_acquire(&wf_bucket_table.shift);

	return &wf_bucket_table.buckets[((far * factor) >> shift) ^ near];
}

/* The VP that me owns, or NULL. */
static inline struct wf_vp *wf_bucket_vp(const struct wf_thread *me)
{
	return me != NULL ? wf_vp_of(me) : NULL;
}

static inline void wf_bucket_lock(const struct wf_thread *me,
				  struct wf_bucket *b)
{
	wf_biased_lock(wf_bucket_vp(me), &b->lock);
}

/* vp is that with which it was locked; it may be another's thread's by now. */
static inline void wf_bucket_unlock(struct wf_vp *vp, struct wf_bucket *b)
{
	wf_biased_unlock(vp, &b->lock);
}

/* A second one: false if that is another's. */
static inline bool wf_bucket_trylock_beside(const struct wf_thread *me,
					    struct wf_bucket *b)
{
	return wf_biased_is_alone(wf_bucket_vp(me)) ||
	       wf_spin_trylock(&b->lock);
}

static inline void wf_bucket_lock_beside(const struct wf_thread *me,
					 struct wf_bucket *b)
{
	if (!wf_biased_is_alone(wf_bucket_vp(me)))
		wf_spin_lock(&b->lock);
}

/* Before the first one; the lock of who is alone is 0 and stays so. */
static inline void wf_bucket_unlock_beside(struct wf_bucket *b)
{
	wf_spin_unlock(&b->lock);
}

/*
 * wait_bucket is published before exit_work is read: a sender of signals sets
 * exit_work, then looks for the bucket, and once more after a membarrier. A
 * caller that does not wait after all stores NULL before it unlocks.
 */
static inline void wf_bucket_lock_to_wait(struct wf_thread *t,
					  struct wf_bucket *b)
{
	wf_store_relaxed(&t->wait_bucket, b);
	wf_bucket_lock(t, b);
}

/* NULL after the last one. */
static inline struct wf_thread *
wf_bucket_after_locked(const struct wf_bucket *b, const struct wf_thread *t)
{
	return t->wait_next != b->first ? t->wait_next : NULL;
}

/* The first of those that wait for t's word and come after t, or NULL. */
struct wf_thread *wf_bucket_below_locked(const struct wf_bucket *b,
					 const struct wf_thread *t);

static inline void wf_bucket_add_locked(struct wf_bucket *b,
					struct wf_thread *t)
{
	struct wf_thread *below = NULL, *at = b->first;

	if (WF_UNLIKELY(t->rt_priority != 0 || t->is_starving))
		below = wf_bucket_below_locked(b, t);
	if (at == NULL) {
		t->wait_next = t->wait_prev = t;
	} else {
		at = below != NULL ? below : at;
		t->wait_next = at;
		t->wait_prev = at->wait_prev;
		at->wait_prev->wait_next = t;
		at->wait_prev = t;
	}
	if (below == b->first)
		b->first = t;
	wf_store_relaxed(&t->wait_bucket, b);
}

static inline void wf_bucket_remove_locked(struct wf_bucket *b,
					   struct wf_thread *t)
{
	struct wf_thread *next = t->wait_next;

	if (WF_LIKELY(next == t)) {
		b->first = NULL;
		return;
	}
	if (b->first == t)
		b->first = next;
	t->wait_prev->wait_next = next;
	next->wait_prev = t->wait_prev;
}

/* Ends t's wait. */
static inline void wf_bucket_take_locked(struct wf_bucket *b,
					 struct wf_thread *t, int result)
{
	wf_bucket_remove_locked(b, t);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->wait_bucket, NULL); /* UFUTEX-1 */
	t->wait_result = result;		 /* UFUTEX-3 */
}

#endif
