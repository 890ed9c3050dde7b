/* SPDX-License-Identifier: MIT */
/*
 * Condition variable: a sequence number to park on and a count of waiters. A
 * signal changes both and wakes the first waiter in one step. The count is 0
 * when no thread accesses the object any more, and destroying waits for that.
 *
 * COND-1. seq and waiters change only under the lock of seq's bucket. A waiter
 *     counts itself and reads seq while it holds the mutex. A signal that must
 *     wake it comes, by the mutex, after both. So it finds a count above 0 and
 *     a seq not newer than the waiter's.
 * COND-2. A signal increments seq and then wakes the first thread parked on it.
 *     A thread parks only while seq is the value that it read. So a thread that
 *     waited before the signal has parked already, or will not park at all.
 *     Count and choice are one step under the lock. So a later thread cannot
 *     take the wake of an earlier one. (Exactly 2^32 signals between reading
 *     seq and parking would break this. They would take minutes.)
 * COND-3. Each waiter is counted out once. A waker that takes it off seq, by a
 *     wake or a move to the mutex, counts it out. A waiter that ends its wait
 *     itself (seq differs, time-out, cancellation) counts itself out, before it
 *     locks the mutex. A thread that was counted out never accesses the object
 *     again. So destroying waits for a count of 0, and may even be done with
 *     the mutex held.
 * COND-4. Time-out against signal: the user futex lets exactly one of them end
 *     the wait. If the signal did, the result is 0. If the time-out did, the
 *     signal has found the next waiter, or none was left. A waiter that timed
 *     out after a broadcast had moved it was woken: 0.
 * COND-5. Waiters are moved to a mutex word only after it is marked as
 *     contended. The broadcaster marks it if it holds the mutex. Otherwise one
 *     waiter is woken, and takes the mutex as WF_WOKEN_MORE demands (MUTEX-2).
 * COND-6. A broadcast accesses no field of the mutex but its owner. All moved
 *     waiters must want this mutex, or a hand-over would give a thread the
 *     wrong one. POSIX forbids waiters with different mutexes, but programs
 *     have them: they set the field to NULL.
 * COND-7. The usual waiter counts itself, releases the mutex and enters the
 *     list under one hold of the bucket's lock. No signal comes between, so it
 *     need not compare seq. Other waiters count themselves, release the mutex,
 *     then park as in COND-2.
 * COND-8. A broadcast accesses a mutex only under the lock and while the count
 *     is not 0. Then a thread that will lock the mutex again waits with it, so
 *     the mutex exists. To compare, mark, move and count are one step.
 * COND-9. A waiter that leaves by a jump or by its exit counts itself out and
 *     locks the mutex again, as in COND-3 and COND-4. A signal that had woken
 *     it goes to the next waiter, which is found under the lock, so the object
 *     exists. [leave_wait] No jump leaves a wait in the runtime.
 *
 * Waiters   0 -> n      [count_in_locked]
 *           n -> n - k  [count_out_locked: k by a waker, 1 by a waiter]
 *           n -> n | DYING, and 0 | DYING wakes the destroyer [wf_cond_fini]
 *
 * Rejected: a flag instead of the count. A thread between release and park
 * still reads seq, and destroying could not wait for it. Rejected: that woken
 * threads count themselves out. A signal before they run would take the slow
 * path, and destroying with the mutex held would hang.
 */
#include "sync/cond.h"

#include <limits.h>
#include <string.h>

#include "libc/cleanup.h"
#include "libc/real.h"
#include "os/deadline.h"
#include "sched/runtime.h"
#include "sync/inherit.h"
#include "sync/libc_mutex.h"
#include "sync/shared.h"
#include "wait/sleep.h"
#include "wait/ufutex_internal.h"

_Static_assert(sizeof(struct wf_cond) == sizeof(pthread_cond_t),
	       "the object has libc's size");
_Static_assert(offsetof(struct wf_cond, words[WF_COND_FLAGS_NEW]) >=
		       offsetof(struct wf_cond, mutex) + sizeof(void *),
	       "the flags are libc's");

/* A wait on a libc condition sleeps for this time between two checks. */
#define SHARED_POLL_NS WF_NS_PER_MS

/* For process-private conditions. Does not block. */
int wf_cond_init(struct wf_cond *c, clockid_t clock)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	if (clock == CLOCK_MONOTONIC)
		c->words[WF_COND_FLAGS_OLD] = WF_COND_MONOTONIC;
	return 0;
}

static void set_dying_locked(void *arg)
{
	struct wf_cond *c = arg;

	wf_store_relaxed(&c->waiters,
			 wf_load_relaxed(&c->waiters) | WF_COND_DYING);
}

/* Parks while waiters that no signal has woken still access the object. */
int wf_cond_fini(struct wf_cond *c)
{
	uint32_t waiters;

	/* acquire, also below: pairs with the release in count_out. */
	if (WF_LIKELY(wf_load_acquire(&c->waiters) == 0))
		return 0;
	wf_ufutex_change(&c->seq, set_dying_locked, c);
	while (((waiters = wf_load_acquire(&c->waiters)) & WF_COND_COUNT) != 0)
		wf_ufutex_wait(WF_WAIT_COND_END, &c->waiters, waiters,
			       WF_UFUTEX_ANY, WF_FOREVER); /* COND-3 */
	wf_store_relaxed(&c->waiters, 0);
	return 0;
}

struct change {
	struct wf_cond *cond;
	struct wf_mutex *mutex;
	uint32_t n;
	bool is_last;	 /* the last waiter: a thread waits to destroy it */
	bool is_counted; /* in c->waiters; changed in the runtime only */
	bool has_begun;	 /* has counted itself and released the mutex */
};

/* One wait of the caller. */
struct waiter {
	struct change change;
	struct wf_ufutex_note note;
};

/* Counts change->n waiters out: they access the object no more. Locked. */
WF_INLINE void count_out_locked(void *arg)
{
	struct change *change = arg;
	struct wf_cond *c = change->cond;
	uint32_t waiters = wf_load_relaxed(&c->waiters) - change->n;

	/* release: their accesses end here; pairs with wf_cond_fini. */
	wf_store_release(&c->waiters, waiters);
	change->is_last = waiters == WF_COND_DYING;
	change->is_counted = false;
}

/* Counts the caller out, unless a waker has done so. */
static WF_COLD void count_out(struct change *change)
{
	struct wf_cond *c = change->cond;

	if (!change->is_counted)
		return;
	wf_ufutex_change(&c->seq, count_out_locked, change);
	if (WF_UNLIKELY(change->is_last))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
}

/* Releases m, which the caller has locked once. */
static WF_COLD int release_libc_mutex(pthread_mutex_t *m)
{
	if (wf_inherit_has(m))
		return -wf_inherit_unlock(m);
	return -(wf_shared_is_ours(m) ? wf_shared_unlock(m) :
					wf_real.pthread_mutex_unlock(m));
}

static int lock_by_libc(pthread_mutex_t *m)
{
	int rc = wf_real.pthread_mutex_lock(m);

	if (rc == 0 || rc == EOWNERDEAD)
		wf_shared_end(m);
	return rc;
}

/* Locks m by polling: a holder in another process wakes no user futex. */
static int await_shared(pthread_mutex_t *m)
{
	int rc;

	while ((rc = wf_shared_trylock(m)) == EBUSY &&
	       !wf_libc_mutex_is_robust(m))
		wf_sleep_until(wf_os_now() + SHARED_POLL_NS);
	return rc == EBUSY ? lock_by_libc(m) : rc;
}

static WF_COLD int retake_libc_mutex(pthread_mutex_t *m)
{
	struct wf_thread *t = wf_thread_self();
	bool is_cancel_point = t->at_cancel_point;
	int rc;

	t->at_cancel_point = false; /* locking again is no cancellation point */
	if (wf_inherit_has(m))
		rc = wf_inherit_lock(m, CLOCK_REALTIME, NULL);
	else
		rc = wf_shared_is_ours(m) ? await_shared(m) : lock_by_libc(m);
	t->at_cancel_point = is_cancel_point;
	return -rc;
}

static int release_mutex(struct wf_mutex *m)
{
	if (WF_UNLIKELY(wf_mutex_is_libc(m)))
		return wf_mutex_is_invalid(m) ? -EINVAL :
						release_libc_mutex(&m->libc);
	if (wf_mutex_checks_owner(m) && !wf_mutex_is_mine(m, wf_owner_self()))
		return -EPERM;
	wf_mutex_count_wait(m, 1);
	return wf_mutex_unlock(m);
}

WF_INLINE int retake_mutex(struct wf_mutex *m, int token)
{
	int rc;

	if (WF_UNLIKELY(wf_mutex_is_libc(m)))
		return retake_libc_mutex(&m->libc);
	rc = wf_mutex_relock(m, token);
	wf_mutex_count_wait(m, -1);
	return rc;
}

/* Counts the caller, which holds m, as a waiter. COND-1 */
WF_INLINE void count_in_locked(void *arg)
{
	struct change *change = arg;
	struct wf_cond *c = change->cond;
	struct wf_mutex *m = change->mutex;
	struct wf_mutex *to = wf_mutex_is_plain(m) ? m : NULL;
	uint32_t waiters = wf_load_relaxed(&c->waiters);

	wf_store_relaxed(&c->waiters, waiters + 1);
	change->is_counted = true;
	if ((waiters & WF_COND_COUNT) == 0)
		wf_store_relaxed(&c->mutex, to);
	else if (wf_load_relaxed(&c->mutex) != to)
		wf_store_relaxed(&c->mutex, NULL); /* COND-6: they differ */
}

/* Counts the caller, and releases m unless m is contended. COND-7 */
WF_INLINE bool count_in_and_release(void *arg)
{
	struct change *change = arg;

	count_in_locked(change);
	wf_mutex_count_wait(change->mutex, 1);
	change->has_begun = wf_mutex_release(change->mutex);
	if (WF_UNLIKELY(!change->has_begun)) {
		wf_mutex_count_wait(change->mutex, -1);
		count_out_locked(change);
	}
	return change->has_begun;
}

/* Passes a wake of the caller, which a jump has taken away, to a waiter. */
static int pass_on_locked(void *arg, const struct wf_thread *first)
{
	if (first != NULL)
		count_out_locked(arg);
	return WF_WOKEN_LAST;
}

static WF_COLD void pass_signal_on(const struct wf_cond *c)
{
	struct change change = { .cond = (struct wf_cond *)c, .n = 1 };

	wf_ufutex_wake_one(&c->seq, pass_on_locked, &change);
	if (WF_UNLIKELY(change.is_last))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
}

/* True if a signal or broadcast has ended the wait with result rc. COND-4 */
static bool is_woken(const struct waiter *w, int rc)
{
	return rc >= 0 || (rc != -EAGAIN && w->note.was_moved);
}

/* Cleans up after a waiter that leaves by a jump or its exit. COND-9 */
static void leave_wait(void *waiter)
{
	struct waiter *w = waiter;
	int rc, token = WF_WOKEN_LAST;

	if (!w->change.has_begun) { /* the caller has the mutex */
		count_out(&w->change);
		return;
	}
	rc = wf_ufutex_leave(&w->note);
	if (!is_woken(w, rc))
		count_out(&w->change);
	else if (!w->note.was_moved)
		pass_signal_on(w->change.cond);
	if (rc >= 0)
		token = rc;
	retake_mutex(w->change.mutex, token);
}

/* After a user futex wait with result rc: counts out, locks m again. */
WF_INLINE int end_wait(struct waiter *w, int rc, struct wf_cleanup *cleanup)
{
	struct wf_mutex *m = w->change.mutex;
	int token = WF_WOKEN_LAST;
	int lock_rc;

	if (rc >= 0)
		token = rc;
	else if (is_woken(w, rc))
		rc = 0; /* COND-4: a signal was first */
	else
		count_out(&w->change); /* COND-3: ended by itself */
	wf_cleanup_end(cleanup);
	lock_rc = retake_mutex(m, token);
	if (WF_UNLIKELY(lock_rc != 0))
		return lock_rc; /* from libc: -EOWNERDEAD, -ENOTRECOVERABLE */
	return rc == -ETIMEDOUT || rc == -ECANCELED ? rc : 0;
}

/*
 * Waits again if rc is an interruption: a signal that came meanwhile has
 * changed seq. A cancellation ends the wait.
 */
WF_INLINE int wait_on(struct waiter *w, uint32_t seq, int64_t deadline_ns,
		      int rc)
{
	while ((rc == -EINTR || rc == -ERESTART) && !w->note.was_moved)
		rc = wf_ufutex_wait_noted(WF_WAIT_COND, &w->change.cond->seq,
					  seq, WF_UFUTEX_ANY, deadline_ns,
					  &w->note);
	return rc;
}

/* Waits if the mutex is contended or not simple, or a signal is pending. */
static WF_COLD int wait_slow(struct waiter *w, int64_t deadline_ns,
			     struct wf_cleanup *cleanup)
{
	struct wf_cond *c = w->change.cond;
	uint32_t seq;
	int rc;

	wf_ufutex_change(&c->seq, count_in_locked, &w->change);
	seq = wf_load_relaxed(&c->seq); /* COND-1: m is held */
	w->note = (struct wf_ufutex_note)WF_UFUTEX_NOTE_NONE;
	rc = release_mutex(w->change.mutex);
	if (WF_UNLIKELY(rc != 0)) {
		count_out(&w->change);
		wf_cleanup_end(cleanup);
		return rc;
	}
	w->change.has_begun = true;
	return end_wait(w, wait_on(w, seq, deadline_ns, -EINTR), cleanup);
}

/*
 * If t is not NULL, it has waited in the runtime with result rc, and leaves it.
 * change is a copy, so that the caller's can stay in registers.
 */
static WF_NOINLINE int wait_registered(struct change change,
				       int64_t deadline_ns, uint32_t seq,
				       struct wf_thread *t, int rc)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct waiter own = { change, WF_UFUTEX_NOTE_NONE }, *w = &own;

	wf_cleanup_begin(&cleanup, leave_wait, w);
	if (t != NULL) {
		w->note =
			(struct wf_ufutex_note){ rc, t->wait_was_moved, false };
		wf_runtime_leave(t);
		rc = wf_ufutex_result(t, rc);
	} else if (wf_mutex_is_simple(w->change.mutex)) {
		rc = wf_ufutex_wait_commit(WF_WAIT_COND, &w->change.cond->seq,
					   count_in_and_release, &w->change,
					   deadline_ns, &w->note);
	} else {
		return wait_slow(w, deadline_ns, &cleanup);
	}
	if (WF_UNLIKELY(!w->change.has_begun)) {
		if (rc != -ECANCELED)
			return wait_slow(w, deadline_ns, &cleanup);
		wf_cleanup_end(&cleanup);
		return rc;
	}
	rc = wait_on(w, seq, deadline_ns, rc);
	return end_wait(w, rc, &cleanup);
}

WF_LINK_INLINE int wf_cond_wait(struct wf_cond *c, struct wf_mutex *m,
				int64_t deadline_ns)
{
	struct change change = { .cond = c, .mutex = m, .n = 1 };
	uint32_t seq = wf_load_relaxed(&c->seq);
	struct wf_thread *t = wf_thread_self();
	int rc;

	if (deadline_ns != WF_FOREVER || !wf_mutex_is_simple(m) ||
	    t->kind != WF_THREAD_MULTIPLEXED)
		return wait_registered(change, deadline_ns, seq, NULL, 0);
	wf_runtime_enter_as(t);
	rc = wf_ufutex_park_commit(t, &c->seq, count_in_and_release, &change);
	if (WF_UNLIKELY(rc != WF_WOKEN_LAST) || wf_runtime_has_work(t) ||
	    WF_UNLIKELY(!wf_mutex_take(m, (uint32_t)t->tid)))
		return wait_registered(change, deadline_ns, seq, t, rc);
	wf_mutex_count_wait(m, -1);
	wf_runtime_leave(t);
	return 0;
}

/* Cleans up when a jump or the thread's exit leaves the wait below. */
static void retake_left(void *mutex)
{
	retake_mutex(mutex, WF_WOKEN_LAST);
}

/*
 * libc's wait would release m by libc's rules. POSIX allows a wait to end
 * without a signal, so a wait that ends after SHARED_POLL_NS loses no signal.
 */
int wf_cond_wait_shared(struct wf_mutex *m, int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int64_t pause_ns = wf_deadline_left(deadline_ns);
	int rc = release_mutex(m);

	if (rc != 0)
		return rc;
	wf_cleanup_begin(&cleanup, retake_left, m);
	wf_sleep_until(wf_os_now() +
		       (pause_ns < SHARED_POLL_NS ? pause_ns : SHARED_POLL_NS));
	wf_cleanup_end(&cleanup);
	rc = retake_mutex(m, WF_WOKEN_LAST);
	if (rc != 0)
		return rc;
	return wf_deadline_is_over(deadline_ns) ? -ETIMEDOUT : 0;
}

static void count_up_locked(struct wf_cond *c)
{
	wf_store_relaxed(&c->seq, wf_load_relaxed(&c->seq) + 1);
}

/* Under the bucket's lock. The object exists: the first waiter is counted. */
WF_INLINE int signal_locked(void *arg, const struct wf_thread *first)
{
	struct change *change = arg;

	count_up_locked(change->cond); /* COND-2: before the wake */
	if (WF_LIKELY(first != NULL))
		count_out_locked(change);
	return WF_WOKEN_LAST; /* the waiter's token: none parked on the mutex */
}

/* Not inline, as its callers are WF_PREEMPTIBLE. Returns 0, as they do. */
WF_NOINLINE int wf_cond_signal_slow(struct wf_cond *c)
{
	struct change change = { .cond = c, .n = 1 };

	wf_ufutex_wake_one(&c->seq, signal_locked, &change);
	if (WF_UNLIKELY(change.is_last))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
	return 0;
}

struct broadcast {
	struct change change;
	struct wf_mutex *mutex; /* its word gets the waiters */
};

static int plan_locked(void *arg)
{
	struct broadcast *b = arg;
	struct wf_cond *c = b->change.cond;
	bool any = (wf_load_relaxed(&c->waiters) & WF_COND_COUNT) != 0;

	if (any && wf_load_relaxed(&c->mutex) != b->mutex)
		return -EAGAIN;
	count_up_locked(c);
	if (!any || b->mutex == NULL) /* COND-8: it may not exist */
		return INT_MAX;
	return wf_mutex_expect_waiters(b->mutex) ? 0 : 1; /* COND-5 */
}

static void gone_locked(void *arg, int nr)
{
	struct broadcast *b = arg;

	b->change.n = (uint32_t)nr;
	count_out_locked(&b->change);
}

WF_COLD void wf_cond_broadcast_slow(struct wf_cond *c)
{
	struct broadcast b = { .change = { .cond = c } };
	const void *to;

	do {
		b.mutex = wf_load_relaxed(&c->mutex);
		to = b.mutex != NULL ? (const void *)&b.mutex->word : &c->seq;
	} while (wf_ufutex_wake_or_move(&(struct wf_ufutex_move){
			 &c->seq, to, plan_locked, gone_locked, &b }) ==
		 -EAGAIN); /* the waiters have another mutex now */
	if (WF_UNLIKELY(b.change.is_last))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
}
