/* SPDX-License-Identifier: MIT */
/*
 * The waking side of the user futex. A waker locks the bucket of the address,
 * takes waiters out of its list, unlocks, and only then makes them runnable. So
 * a woken thread does not meet the lock. Requeues move waiters to another word
 * in one step. Timers and signals end single waits here, too. The invariants
 * UFUTEX-1 to UFUTEX-9 are in wait/ufutex.c.
 */
#include "wait/ufutex.h"

#include <errno.h>
#include <limits.h>

#include "sched/ready.h"
#include "sched/runtime.h"
#include "wait/closed.h"
#include "wait/ufutex_bucket.h"
#include "wait/ufutex_internal.h"

/*
 * The woken threads. They are gathered under the bucket's lock, and queued to
 * run after it is released.
 */
struct batch {
	struct wf_thread *first, **end;
};

static void wake_batch(struct batch *batch, struct wf_thread *me)
{
	struct wf_thread *t = batch->first;

	while (t != NULL) {
		struct wf_thread *next = t->next;

		wf_ready_woken(me, t);
		t = next;
	}
}

static void batch_add(struct batch *batch, struct wf_thread *t)
{
	t->next = NULL;
	*batch->end = t;
	batch->end = &t->next;
}

static int take_locked(struct wf_bucket *b, const void *addr, int nr,
		       uint32_t bits, struct batch *batch)
{
	struct wf_thread *t = b->first;
	int taken = 0;

	while (t != NULL && taken < nr) {
		struct wf_thread *after = wf_bucket_after_locked(b, t);

		if (t->wait_addr == addr && (t->wait_bits & bits) != 0) {
			wf_ready_prefetch(t, WF_LINES_OF_WAIT);
			wf_bucket_take_locked(b, t, 0);
			batch_add(batch, t);
			taken++;
		}
		t = after;
	}
	return taken;
}

int wf_ufutex_wake(const void *addr, int nr, uint32_t bits)
{
	struct wf_bucket *b = wf_bucket_of(addr);
	struct wf_thread *me = wf_runtime_enter();
	struct batch batch = { NULL, &batch.first };
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);
	int taken;

	taken = take_locked(b, addr, nr, bits, &batch);
	wf_bucket_unlock(me, b, hold);
	wake_batch(&batch, me);
	wf_runtime_leave(me);
	return taken;
}

/*
 * Returns the first waiter for addr from t on in b's list, or NULL. t may be
 * NULL.
 */
WF_INLINE struct wf_thread *next_of_word_locked(const struct wf_bucket *b,
						struct wf_thread *t,
						const void *addr)
{
	while (t != NULL && WF_UNLIKELY(t->wait_addr != addr))
		t = wf_bucket_after_locked(b, t);
	return t;
}

WF_INLINE struct wf_thread *first_locked(struct wf_bucket *b, const void *addr)
{
	return next_of_word_locked(b, b->first, addr);
}

WF_LINK_INLINE bool wf_ufutex_has_more(const struct wf_thread *first)
{
	const struct wf_bucket *b;

	if (first == NULL)
		return false;
	b = wf_load_relaxed(&first->wait_bucket);
	return next_of_word_locked(b, wf_bucket_after_locked(b, first),
				   first->wait_addr) != NULL;
}

struct wf_thread *wf_ufutex_take_first_locked(struct wf_bucket *b,
					      const void *addr)
{
	struct wf_thread *t = first_locked(b, addr);

	if (t != NULL)
		wf_bucket_take_locked(b, t, 0);
	return t;
}

void wf_ufutex_wake_first(struct wf_thread *me, const void *addr)
{
	struct wf_bucket *b = wf_bucket_of(addr);
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);
	struct wf_thread *t;

	t = wf_ufutex_take_first_locked(b, addr);
	if (t != NULL)
		wf_ready_prefetch(t, WF_LINES_OF_WAIT);
	wf_bucket_unlock(me, b, hold);
	if (t != NULL)
		wf_ready_woken_on(hold.vp, me, t);
}

WF_INLINE int wake_one(struct wf_thread *me, const void *addr,
		       wf_ufutex_decide_fn *decide, void *arg)
{
	struct wf_bucket *b = wf_bucket_of(addr);
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);
	struct wf_thread *t;
	int token;

	t = first_locked(b, addr);
	if (WF_LIKELY(t != NULL))
		wf_ready_prefetch(t, WF_LINES_OF_WAIT);
	token = decide(arg, t);
	if (WF_LIKELY(t != NULL))
		wf_bucket_take_locked(b, t, token);
	wf_bucket_unlock(me, b, hold);
	if (t != NULL)
		wf_ready_woken_on(hold.vp, me, t);
	return t != NULL ? 1 : 0;
}

int wf_ufutex_wake_one_from(struct wf_thread *me, const void *addr,
			    wf_ufutex_decide_fn *decide, void *arg)
{
	return wake_one(me, addr, decide, arg);
}

WF_LINK_INLINE int wf_ufutex_wake_one(const void *addr,
				      wf_ufutex_decide_fn *decide, void *arg)
{
	struct wf_thread *me = wf_runtime_enter();
	int nr = wake_one(me, addr, decide, arg);

	wf_runtime_leave(me);
	return nr;
}

bool wf_ufutex_is_waited(const void *addr)
{
	struct wf_bucket *b = wf_bucket_of(addr);
	struct wf_thread *me = wf_runtime_enter();
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);
	bool is_waited;

	is_waited = first_locked(b, addr) != NULL;
	wf_bucket_unlock(me, b, hold);
	wf_runtime_leave(me);
	return is_waited;
}

void wf_ufutex_change(const void *addr, wf_ufutex_change_fn *change, void *arg)
{
	struct wf_bucket *b = wf_bucket_of(addr);
	struct wf_thread *me = wf_runtime_enter();
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);

	change(arg);
	wf_bucket_unlock(me, b, hold);
	wf_runtime_leave(me);
}

/*
 * Locks both buckets in the order of their addresses. So two requeues between
 * the same words, in opposite directions, do not wait for each other.
 */
static struct wf_bucket_hold lock_two(const struct wf_thread *me,
				      struct wf_bucket *a, struct wf_bucket *b)
{
	struct wf_bucket_hold hold = wf_bucket_lock(me, a < b ? a : b);

	if (a != b)
		wf_bucket_lock_beside(hold.vp, a < b ? b : a);
	return hold;
}

static void unlock_two(const struct wf_thread *me, struct wf_bucket *a,
		       struct wf_bucket *b, struct wf_bucket_hold hold)
{
	if (a != b)
		wf_bucket_unlock_beside(a < b ? b : a);
	wf_bucket_unlock(me, a < b ? a : b, hold);
}

static int move_locked(struct wf_bucket *from_b, const void *from,
		       struct wf_bucket *to_b, const void *to, int nr)
{
	struct wf_thread *t = from_b->first;
	/*
	 * The loop ends at `last`: it appends waiters behind that one if from
	 * and to share a bucket.
	 */
	const struct wf_thread *last = t != NULL ? t->wait_prev : NULL;
	bool is_over = t == NULL;
	int moved = 0;

	while (!is_over && moved < nr) {
		struct wf_thread *next = t->wait_next;

		is_over = t == last;
		if (t->wait_addr == from) {
			wf_bucket_remove_locked(from_b, t);
			t->wait_addr = to;
			t->wait_was_moved = true;
			wf_bucket_add_locked(to_b, t);
			moved++;
		}
		t = next;
	}
	return moved;
}

int wf_ufutex_requeue(const void *from, uint32_t expected, int nr_wake,
		      const void *to, int nr_requeue)
{
	const _Atomic uint32_t *word = from;
	struct wf_bucket *from_b = wf_bucket_of(from);
	struct wf_bucket *to_b = wf_bucket_of(to);
	struct batch batch = { NULL, &batch.first };
	struct wf_bucket_hold hold;
	struct wf_thread *me;
	int nr;

	if (wf_load_relaxed(word) != expected)
		return -EAGAIN;
	me = wf_runtime_enter();
	hold = lock_two(me, from_b, to_b);
	if (wf_load_relaxed(word) == expected) {
		nr = take_locked(from_b, from, nr_wake, WF_UFUTEX_ANY, &batch);
		nr += move_locked(from_b, from, to_b, to, nr_requeue);
	} else {
		nr = -EAGAIN;
	}
	unlock_two(me, from_b, to_b, hold);
	wake_batch(&batch, me);
	wf_runtime_leave(me);
	return nr;
}

int wf_ufutex_wake_or_move(const struct wf_ufutex_move *move)
{
	struct wf_bucket *from_b = wf_bucket_of(move->from);
	struct wf_bucket *to_b = wf_bucket_of(move->to);
	struct batch batch = { NULL, &batch.first };
	struct wf_thread *me = wf_runtime_enter();
	struct wf_bucket_hold hold = lock_two(me, from_b, to_b);
	int nr;

	nr = move->plan(move->arg);
	if (nr >= 0) {
		nr = take_locked(from_b, move->from, nr, WF_UFUTEX_ANY, &batch);
		nr += move_locked(from_b, move->from, to_b, move->to, INT_MAX);
		move->gone(move->arg, nr);
	}
	unlock_two(me, from_b, to_b, hold);
	wake_batch(&batch, me);
	wf_runtime_leave(me);
	return nr;
}

/* --- ending a wait without a wake --------------------------------------- */

/* Locks the bucket in which t waits. Returns NULL if t does not wait. */
static struct wf_bucket *lock_bucket_of(struct wf_thread *t,
					const struct wf_thread *me,
					struct wf_bucket_hold *ret_hold)
{
	for (;;) {
		struct wf_bucket *b = wf_load_relaxed(&t->wait_bucket);

		if (b == NULL)
			return NULL;
		*ret_hold = wf_bucket_lock(me, b);
		if (wf_load_relaxed(&t->wait_bucket) == b)
			return b;
		/* a requeue has moved t to another bucket */
		wf_bucket_unlock(me, b, *ret_hold);
	}
}

static bool end_wait(struct wf_thread *t, const uint64_t *generation,
		     int result, struct wf_thread *me)
{
	struct wf_bucket_hold hold;
	struct wf_bucket *b = lock_bucket_of(t, me, &hold);
	bool is_ours;

	if (b == NULL)
		return false;
	is_ours = t->wait_addr != NULL &&
		  (generation == NULL ? !t->wait_is_firm :
					t->wait_generation == *generation);
	if (is_ours)
		wf_bucket_take_locked(b, t, result);
	wf_bucket_unlock(me, b, hold);
	if (is_ours)
		wf_ready_woken(me, t);
	return is_ours;
}

bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me)
{
	return end_wait(t, &generation, result, me);
}

bool wf_ufutex_interrupt(struct wf_thread *t, struct wf_thread *me)
{
	return end_wait(t, NULL, -EINTR, me);
}
