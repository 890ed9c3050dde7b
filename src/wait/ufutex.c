/* SPDX-License-Identifier: MIT */
/*
 * The waiting side of the user futex. A fixed table of buckets is keyed by
 * address, and a waiter is in the list of one bucket. A waiter locks the
 * bucket, compares the word, enters the list and switches to another thread. A
 * waker locks the same bucket and takes the waiter out (wait/ufutex_wake.c).
 * The list is in order of arrival, but a real-time thread is before waiters of
 * a lower priority for the same word. As in the kernel's futex, a waiter keeps
 * its place if its priority changes.
 *
 * UFUTEX-1. wait_addr, wait_bits, wait_result, wait_bucket and the links of a
 *     waiting thread change only under the lock of the bucket that wait_bucket
 *     names. It is NULL while the thread is in no wait (but UFUTEX-9). So a
 *     thread that holds the lock of the named bucket finds the wait complete.
 * UFUTEX-2. A thread that parks holds its bucket's lock until its context is
 *     saved: the post-switch callback releases it. So a waker that finds it in
 *     the list may make it runnable.
 * UFUTEX-3. Only the thread that takes a waiter out of the list ends its wait
 *     and sets wait_result.
 * UFUTEX-4. wait_generation counts a thread's waits. A timer that fires late
 *     names an old generation and ends nothing.
 * UFUTEX-5. The waiter compares the word under the bucket's lock, and a waker
 *     changes the word before it takes the lock. So no wake is lost between
 *     compare and park.
 * UFUTEX-6. No handler of the program runs on a kernel thread that holds a
 *     bucket. On carriers in_runtime defers it, elsewhere the kernel blocks it.
 * UFUTEX-7. A handler may wait while the wait that it interrupted is in flight.
 *     So kernel_word is 0 from the begin of a bound or foreign thread's wait
 *     until the thread that ended it has stored 1. It is 1 at all other times.
 * UFUTEX-8. commit() is the last step that may refuse a wait: if it returns
 *     true, the caller is in the list when the lock is released.
 * UFUTEX-9. An ending thread that has taken its joiner out of a bucket names
 *     that bucket in its own wait_bucket until it has left its stack, and its
 *     wait_addr is NULL. So a thread that wants to end a wait of the ending
 *     thread waits for the lock, and finds no wait. [take_joiner in
 *     thread/exit.c]
 *
 * Lock order: two buckets by address; a bucket, then a timer heap.
 *
 * With one VP its owner mostly needs no lock (wait/biased.h): "the lock" above
 * then means that no other thread is at any bucket.
 *
 * Rejected: a state word per waiter with compare-and-swap by waker, timer and
 * signal. It costs two more atomics per wait, and the bucket's lock already
 * decides which of them ends the wait.
 */
#include "wait/ufutex.h"

#include <errno.h>

#include "base/upcall.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sched/idle.h"
#include "sched/monitor_time.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "wait/closed.h"
#include "wait/timer.h"
#include "wait/ufutex_bucket.h"
#include "wait/ufutex_internal.h"
#include "wait/word.h"

/* --- waiting ------------------------------------------------------------ */

static void unlock_after_switch(struct wf_carrier *c, void *bucket)
{
	struct wf_bucket *b = bucket;
	struct wf_vp *vp = wf_load_relaxed(&c->vp);

	WF_ASSUME(vp != NULL);		/* t had it, and a switch keeps it */
	wf_biased_unlock(vp, &b->lock); /* UFUTEX-2: saved */
}

static WF_NOINLINE struct wf_thread *take_of_words(struct wf_thread *t,
						   struct wf_bucket *b)
{
	if (!wf_sched_has_words())
		return NULL;
	return wf_words_take(t->vp, t, b,
			     wf_words_carrier_can_fault(t->carrier));
}

/*
 * Returns the thread to run next while t holds b, or NULL. It may be t: if t
 * waits for a word that has changed.
 */
static WF_NOINLINE struct wf_thread *pick_any(struct wf_thread *t,
					      struct wf_bucket *b)
{
	struct wf_thread *next = wf_queue_pick(t->vp);

	return WF_LIKELY(next != NULL) ? next : take_of_words(t, b);
}

/*
 * Switches to next, the result of pick_any. The lock is released. Returns t, as
 * wf_switch_to does.
 */
static WF_NOINLINE struct wf_thread *
switch_away(struct wf_thread *t, struct wf_bucket *b, struct wf_thread *next)
{
	if (WF_LIKELY(next != NULL && next != t))
		return wf_switch_to(t, next, unlock_after_switch, b);
	if (next == NULL)
		return wf_switch_to_carrier(t, unlock_after_switch, b);
	wf_biased_unlock(t->vp, &b->lock); /* next is t: its wait is over */
	return t;
}

static WF_NOINLINE void park_timed(struct wf_thread *t, struct wf_bucket *b,
				   int64_t deadline_ns, struct wf_thread *next)
{
	int64_t ends_ns = wf_timer_add(t, deadline_ns);

	if (next == NULL)
		next = pick_any(t, b);
	if (next != NULL)
		wf_idle_check_timer(ends_ns);
	switch_away(t, b, next);
	wf_timer_remove(t);
}

/* Parks t, which holds b. Returns t, as wf_switch_to does. */
WF_INLINE struct wf_thread *
park_multiplexed(struct wf_thread *t, struct wf_vp *vp, struct wf_bucket *b,
		 int64_t deadline_ns, struct wf_thread *next)
{
	wf_thread_end_stay(t);
	wf_count_own(&vp->counters, parks);
	if (WF_UNLIKELY(deadline_ns != WF_FOREVER)) {
		park_timed(t, b, deadline_ns, next);
		return t;
	}
	if (next == NULL)
		next = wf_queue_pick_woken(vp);
	if (WF_LIKELY(next != NULL))
		return wf_switch_to(t, next, unlock_after_switch, b);
	return switch_away(t, b, pick_any(t, b));
}

static WF_NOINLINE bool may_interrupt(struct wf_thread *t)
{
	return !t->wait_is_firm && wf_upcall.wait_is_interrupted(t);
}

/* True if a signal or cancellation is pending that has to end the wait. */
static bool is_interrupted(struct wf_thread *t)
{
	return WF_UNLIKELY(wf_load_relaxed(&t->exit_work) != 0 ||
			   wf_load_relaxed(&t->is_cancelled)) &&
	       may_interrupt(t);
}

static int sleep_in_kernel(struct wf_thread *t, const void *shared,
			   uint32_t shared_expected, int64_t deadline_ns)
{
	if (shared != NULL)
		return wf_os_futex_wait_beside(&t->kernel_word, 0, shared,
					       shared_expected, deadline_ns);
	return wf_os_futex_wait(&t->kernel_word, 0, deadline_ns);
}

/*
 * Parks a bound or foreign thread, which sleeps in the kernel here. A signal
 * that was deferred before the sleep has closed the kernel's mask. It would
 * stay pending for the whole sleep, so is_interrupted ends the wait. A signal
 * that comes later runs its handler at once, which ends the wait.
 */
static WF_NOINLINE void
park_kernel_thread(struct wf_thread *t, struct wf_bucket *b,
		   struct wf_bucket_hold hold, const void *shared,
		   uint32_t shared_expected, int64_t deadline_ns)
{
	uint64_t generation = t->wait_generation;
	bool was_woken = false;

	wf_store_relaxed(&t->kernel_word, 0);
	wf_bucket_unlock(t, b, hold);
	/* acquire: the waker's writes; pairs with wake_kernel_thread. */
	while (wf_load_acquire(&t->kernel_word) == 0) {
		int err = -EINTR;

		/* From here on handlers of the program may run. */
		wf_store_release(&t->in_runtime, 0);
		wf_compiler_barrier();
		if (!is_interrupted(t))
			err = sleep_in_kernel(t, shared, shared_expected,
					      deadline_ns);
		wf_store_relaxed(&t->in_runtime, 1);
		wf_compiler_barrier();
		was_woken |= err == 1;
		if (err == -ETIMEDOUT || err == -EINTR || shared != NULL)
			wf_ufutex_end_wait(t, generation, err, t);
	}
	if (was_woken)
		t->wait_result = 0; /* woken: the waker has counted it */
}

/* Returns why the wait must not begin, or 0. */
WF_INLINE int refusal_locked(struct wf_thread *t, const struct wf_wait *w)
{
	const _Atomic uint32_t *word = w->addr;

	/* UFUTEX-5: compares under the bucket's lock. */
	if (w->commit == NULL && !w->is_compared &&
	    wf_load_relaxed(word) != w->expected)
		return -EAGAIN;
	if (is_interrupted(t))
		return -EINTR;
	if (w->commit != NULL && !w->commit(w->commit_arg)) /* UFUTEX-8 */
		return -EAGAIN;
	return 0;
}

static WF_NOINLINE int refuse(struct wf_thread *t, struct wf_bucket *b,
			      struct wf_bucket_hold hold,
			      struct wf_thread *next, int refusal)
{
	wf_store_relaxed(&t->wait_bucket, NULL);
	wf_bucket_unlock(t, b, hold);
	if (next != NULL)
		wf_ready_woken(t, next);
	return refusal;
}

/* Begins the wait. No function gets a pointer to *w: it is in registers. */
WF_INLINE int wait_locked(struct wf_thread *t, struct wf_bucket *b,
			  struct wf_bucket_hold hold, const struct wf_wait *w)
{
	int refusal = refusal_locked(t, w);

	if (refusal < 0)
		return refuse(t, b, hold, w->next, refusal);
	t->wait_addr = w->addr;
	t->wait_bits = w->bits;
	t->wait_generation++; /* UFUTEX-4: a new wait */
	t->wait_since = wf_monitor_time();
	t->wait_kind = (uint8_t)w->kind;
	wf_bucket_add_locked(b, t);
	if (WF_LIKELY(hold.vp != NULL))
		t = park_multiplexed(t, hold.vp, b, w->deadline_ns, w->next);
	else
		park_kernel_thread(t, b, hold, w->shared, w->shared_expected,
				   w->deadline_ns);
	return t->wait_result;
}

WF_LINK_INLINE int wf_ufutex_wait_locked(struct wf_thread *t,
					 struct wf_bucket *b,
					 struct wf_bucket_hold hold,
					 const struct wf_wait *w)
{
	return wait_locked(t, b, hold, w);
}

/* Waits once. The caller is in the runtime. Returns the result. */
WF_INLINE int wait_in(struct wf_thread *t, const struct wf_wait *w)
{
	struct wf_thread *waiter = wf_apart(t);
	struct wf_bucket *b = wf_bucket_of(w->addr);
	struct wf_bucket_hold hold = wf_bucket_lock_to_wait(waiter, b);

	return wait_locked(waiter, b, hold, w);
}

/*
 * Ends t's outer wait: the handler that runs now has interrupted its sleep in
 * the kernel. The outer wait's waker may not yet have stored kernel_word. It
 * would store it during the wait that begins next: wait for it (UFUTEX-7).
 */
static void end_kernel_wait(struct wf_thread *t)
{
	if (t->wait_addr != NULL)
		wf_ufutex_end_wait(t, t->wait_generation, -EINTR, t);
	/* acquire: wait_result; pairs with the release in ready.c. */
	while (wf_load_acquire(&t->kernel_word) == 0)
		wf_os_futex_wait(&t->kernel_word, 0, WF_OS_FOREVER);
}

static void write_note(struct wf_ufutex_note *note, int32_t result,
		       bool was_moved)
{
	note->result = result;
	note->was_moved = was_moved;
	note->is_asleep = false;
}

/*
 * Waits on a bound or foreign thread. The caller may be a handler that has
 * interrupted the kernel sleep of an outer wait. Then it ends the outer wait,
 * and keeps its result until the inner wait is over (UFUTEX-7).
 */
static WF_COLD int wait_in_kernel(struct wf_thread *t, const struct wf_wait *w)
{
	int32_t outer_result;
	bool outer_was_moved;
	int result;

	wf_bucket_table_choose();
	end_kernel_wait(t);
	outer_result = t->wait_result;
	outer_was_moved = t->wait_was_moved;
	t->wait_was_moved = false;
	if (w->note != NULL)
		w->note->is_asleep = true;
	result = wait_in(t, w);
	if (w->note != NULL)
		write_note(w->note, result, t->wait_was_moved);
	t->wait_result = outer_result;
	t->wait_was_moved = outer_was_moved;
	return result;
}

int wf_ufutex_leave(struct wf_ufutex_note *note)
{
	struct wf_thread *t;

	if (!note->is_asleep)
		return note->result;
	t = wf_runtime_enter();
	end_kernel_wait(t);
	write_note(note, t->wait_result, t->wait_was_moved);
	wf_runtime_leave(t);
	return note->result;
}

int wf_ufutex_result(struct wf_thread *t, int result)
{
	if (WF_LIKELY(result != -EINTR))
		return result;
	if (wf_load_relaxed(&t->is_cancelled) &&
	    wf_upcall.wait_is_cancelled(t)) {
		/* The rest of the caller's call is no cancellation point. */
		t->at_cancel_point = false;
		return -ECANCELED;
	}
	if (!wf_is_started()) /* the kernel restarts the call, or not */
		return result;
	/* -ERESTART: a handler with SA_RESTART ran, or no handler. */
	return t->interrupted ? -EINTR : -ERESTART;
}

WF_INLINE int wait_as(const struct wf_wait *w, bool is_starving)
{
	struct wf_thread *t = wf_runtime_enter();
	int result;

	t->interrupted = false;
	if (is_starving)
		t->is_starving = true;
	if (WF_LIKELY(t->kind == WF_THREAD_MULTIPLEXED)) {
		t->wait_was_moved = false; /* even if the wait is refused */
		result = wait_in(t, w);
		if (w->note != NULL)
			write_note(w->note, result, t->wait_was_moved);
	} else {
		result = wait_in_kernel(t, w);
	}
	if (is_starving)
		t->is_starving = false;
	wf_runtime_leave(t);
	return wf_ufutex_result(t, result);
}

static WF_NOINLINE int wait_and_run(const struct wf_wait *w)
{
	return wait_as(w, false);
}

int wf_ufutex_wait_starving(const void *addr, uint32_t expected,
			    int64_t deadline_ns, int64_t since_ns,
			    struct wf_ufutex_note *note)
{
	const uint32_t never_0 = UINT32_C(1) << 31;
	const struct wf_wait w = { .addr = addr,
				   .expected = expected,
				   .bits = (uint32_t)(since_ns / WF_NS_PER_MS) |
					   never_0,
				   .kind = WF_WAIT_MUTEX,
				   .deadline_ns = deadline_ns,
				   .note = note };

	return wait_as(&w, true);
}

int wf_ufutex_wait_noted(enum wf_wait_kind kind, const void *addr,
			 uint32_t expected, uint32_t bits, int64_t deadline_ns,
			 struct wf_ufutex_note *note)
{
	const _Atomic uint32_t *word = addr;
	struct wf_wait w = { .addr = addr,
			     .expected = expected,
			     .bits = bits,
			     .kind = kind,
			     .deadline_ns = deadline_ns,
			     .note = note };

	/*
	 * This read brings the word's page in. Outside the runtime a page fault
	 * costs no more than a handoff.
	 */
	if (wf_load_relaxed(word) == expected)
		return wait_and_run(&w);
	if (note != NULL)
		*note = (struct wf_ufutex_note){ .result = -EAGAIN };
	return -EAGAIN;
}

int wf_ufutex_wait(enum wf_wait_kind kind, const void *addr, uint32_t expected,
		   uint32_t bits, int64_t deadline_ns)
{
	return wf_ufutex_wait_noted(kind, addr, expected, bits, deadline_ns,
				    NULL);
}

int wf_ufutex_wait_shared(const void *shared, uint32_t expected,
			  int64_t deadline_ns)
{
	const struct wf_thread *t = wf_self;
	struct wf_wait w = { .addr = &t->index,
			     .expected = t->index,
			     .bits = WF_UFUTEX_ANY,
			     .kind = WF_WAIT_FUTEX,
			     .deadline_ns = deadline_ns,
			     .shared = shared,
			     .shared_expected = expected };

	return wait_and_run(&w);
}

int wf_ufutex_wait_inside(struct wf_thread *t, const void *addr,
			  uint32_t expected, int64_t deadline_ns, bool is_firm)
{
	const struct wf_wait w = { .addr = addr,
				   .expected = expected,
				   .bits = WF_UFUTEX_ANY,
				   .kind = WF_WAIT_IO,
				   .deadline_ns = deadline_ns };
	int result;

	if (is_firm)
		t->wait_is_firm = true;
	t->wait_was_moved = false;
	result = wait_in(t, &w);
	if (is_firm)
		t->wait_is_firm = false;
	return result;
}

WF_INLINE int park_in(struct wf_thread *t, const struct wf_wait *w)
{
	t->interrupted = false;
	t->wait_was_moved = false;
	return wait_in(t, w);
}

WF_LINK_INLINE int wf_ufutex_park(struct wf_thread *t, const void *addr,
				  uint32_t expected)
{
	const struct wf_wait w = { .addr = wf_apart(addr),
				   .expected = expected,
				   .bits = WF_UFUTEX_ANY,
				   .kind = WF_WAIT_SEM,
				   .deadline_ns = WF_FOREVER };

	return park_in(t, &w);
}

WF_LINK_INLINE int wf_ufutex_park_commit(struct wf_thread *t, const void *addr,
					 wf_ufutex_commit_fn *commit, void *arg)
{
	const struct wf_wait w = { .addr = wf_apart(addr),
				   .bits = WF_UFUTEX_ANY,
				   .kind = WF_WAIT_COND,
				   .deadline_ns = WF_FOREVER,
				   .commit = commit,
				   .commit_arg = arg };

	return park_in(t, &w);
}

int wf_ufutex_wait_commit(enum wf_wait_kind kind, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg,
			  int64_t deadline_ns, struct wf_ufutex_note *note)
{
	struct wf_wait w = { .addr = addr,
			     .bits = WF_UFUTEX_ANY,
			     .kind = kind,
			     .deadline_ns = deadline_ns,
			     .commit = commit,
			     .commit_arg = arg,
			     .note = note };

	return wait_and_run(&w);
}
