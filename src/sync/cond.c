#include "sync/cond.h"

#include <limits.h>
#include <string.h>

#include "libc/real.h"
#include "os/clock.h"
#include "wait/sleep.h"

/*
 * Condition variable: a sequence number to park on and a count of waiters.
 *
 * C1. A waiter counts itself and reads seq while it holds the mutex. A signal
 *     that must wake it comes, by the mutex, after both: it sees a count
 *     above 0 and a seq that is not newer than what the waiter read.
 * C2. A signal counts seq up and then wakes the first thread parked on it. A
 *     thread parks only while seq is what it read. So of the threads that
 *     waited before the signal, those that have not parked yet do not park
 *     any more, and if one has parked, it is in front of all that park with
 *     the new seq: the queue is first in, first out. Either way one that
 *     waited before the signal goes on; a later one cannot steal its wake.
 *     (A thread that is held up between reading seq and parking while exactly
 *     2^32 signals arrive would be wrong. They would take minutes.)
 * C3. Each waiter leaves the count once. Whoever takes it off seq, waking or
 *     moving it to the mutex, counts it out; a waiter that ends its wait
 *     itself (seq differs, time-out, interruption for good) does so, before it
 *     takes the mutex. A thread that was counted out never touches the
 *     object again. So destroying has only to wait for the count to be 0,
 *     and may even be done with the mutex held.
 * C4. Time-out against signal: the user futex lets exactly one end the wait.
 *     If the signal did, the result is 0. If the time-out did, the signal has
 *     found the next waiter, or none was left. A waiter that a broadcast had
 *     moved before its time was out has been woken in the sense of POSIX: 0.
 * C5. Waiters are moved to a mutex word only if that is marked as contended,
 *     by the broadcaster if it holds the mutex, else by one waiter that is
 *     woken and takes the mutex as WF_WOKEN_MORE demands (M2 in mutex.c).
 * C6. Broadcasting does not touch the mutex beyond comparing its owner.
 *     Moved waiters want just this mutex, or its hand-off would give a thread
 *     a mutex it did not ask for: waiters with different mutexes at a time,
 *     which POSIX forbids and programs do, set the field to NULL.
 *
 * Waiters   0 -> n      [wf_cond_wait]
 *           n -> n - k  [count_out: by wakers for k, by a leaver for 1]
 *           n -> n | DYING, and 0 | DYING wakes who set it [wf_cond_fini]
 *
 * Rejected: a flag instead of the count (the thread between release and park
 * still reads seq, and destroying could not wait for it); counting out by the
 * woken threads (a signal for a waiter that is woken but has not run
 * would take the slow path, and destroying with the mutex held would hang).
 */

_Static_assert(sizeof(struct wf_cond) == sizeof(pthread_cond_t),
	       "the object has libc's size");
_Static_assert(offsetof(pthread_cond_t, __data.__wrefs) >=
		       offsetof(struct wf_cond, mutex) + sizeof(void *),
	       "the flags are libc's");

/* How long a wait on somebody else's condition sleeps between looks. */
#define SHARED_POLL_NS WF_NS_PER_MS

/* Does not block. For process-private ones. */
int wf_cond_init(struct wf_cond *c, clockid_t clock)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	if (clock == CLOCK_MONOTONIC)
		c->libc.__data.__wrefs = WF_COND_MONOTONIC;
	return 0;
}

/* Parks while threads that were not woken by a signal are leaving. */
int wf_cond_fini(struct wf_cond *c)
{
	uint32_t old;

	/* acquire: pairs with the release in count_out. */
	if (WF_LIKELY(wf_load_acquire(&c->waiters) == 0))
		return 0;
	old = atomic_fetch_or_explicit(&c->waiters, WF_COND_DYING,
				       memory_order_acquire) |
	      WF_COND_DYING;
	while ((old & WF_COND_COUNT) != 0) { /* C3 */
		wf_ufutex_wait(&c->waiters, old, WF_UFUTEX_ANY, WF_FOREVER);
		old = wf_load_acquire(&c->waiters);
	}
	wf_store_relaxed(&c->waiters, 0);
	return 0;
}

/* n waiters will not touch the object again; nor does the caller. */
static void count_out(struct wf_cond *c, uint32_t n)
{
	uint32_t old;

	if (n == 0)
		return;
	/* release: our accesses end here; pairs with wf_cond_fini. */
	old = atomic_fetch_sub_explicit(&c->waiters, n, memory_order_release);
	if (WF_UNLIKELY(old == (WF_COND_DYING | n)))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
}

static int release_mutex(struct wf_mutex *m)
{
	if (WF_UNLIKELY(wf_mutex_is_libc(m)))
		return -wf_real.pthread_mutex_unlock(&m->libc);
	return wf_mutex_unlock(m);
}

static int retake_mutex(struct wf_mutex *m, int token)
{
	if (WF_UNLIKELY(wf_mutex_is_libc(m)))
		return -wf_real.pthread_mutex_lock(&m->libc);
	return wf_mutex_relock(m, token);
}

/* Counts the caller, which holds m; returns what seq is now. C1 */
static uint32_t count_in(struct wf_cond *c, struct wf_mutex *m)
{
	struct wf_mutex *to = wf_mutex_is_libc(m) ? NULL : m;
	/* relaxed: the mutex orders it before the signals that matter. */
	uint32_t old =
		atomic_fetch_add_explicit(&c->waiters, 1, memory_order_relaxed);

	if ((old & WF_COND_COUNT) == 0)
		wf_store_relaxed(&c->mutex, to);
	else if (wf_load_relaxed(&c->mutex) != to)
		wf_store_relaxed(&c->mutex, NULL); /* C6 */
	return wf_load_relaxed(&c->seq);
}

int wf_cond_wait(struct wf_cond *c, struct wf_mutex *m, int64_t deadline_ns)
{
	uint32_t seq = count_in(c, m);
	int rc = release_mutex(m);
	int token = WF_WOKEN_LAST;
	int lock_rc;

	if (WF_UNLIKELY(rc != 0)) {
		count_out(c, 1);
		return rc;
	}
	/*
	 * An interruption is no reason to return: the signals that came
	 * meanwhile have changed seq. A cancellation is one.
	 */
	do {
		rc = wf_ufutex_wait(&c->seq, seq, WF_UFUTEX_ANY, deadline_ns);
	} while ((rc == -EINTR || rc == -ERESTART) && !wf_ufutex_was_moved());

	if (rc >= 0)
		token = rc;
	else if (rc != -EAGAIN && wf_ufutex_was_moved())
		rc = 0; /* C4 */
	else
		count_out(c, 1); /* C3 */
	lock_rc = retake_mutex(m, token);
	if (WF_UNLIKELY(lock_rc != 0))
		return lock_rc; /* -EOWNERDEAD and the like, from libc */
	return rc == -ETIMEDOUT || rc == -ECANCELED ? rc : 0;
}

/*
 * libc's wait would release m by libc's rules. POSIX lets a wait end for no
 * reason, so ending each after a moment loses no signal.
 */
int wf_cond_wait_shared(struct wf_mutex *m, int64_t deadline_ns)
{
	int64_t next_ns = wf_os_now() + SHARED_POLL_NS;
	int rc = release_mutex(m);

	if (rc != 0)
		return rc;
	wf_sleep_until(next_ns < deadline_ns ? next_ns : deadline_ns);
	rc = retake_mutex(m, WF_WOKEN_LAST);
	if (rc != 0)
		return rc;
	return wf_os_now() >= deadline_ns ? -ETIMEDOUT : 0;
}

struct signal {
	struct wf_cond *cond;
	bool is_last; /* somebody waits to destroy the object */
};

/* Under the bucket's lock: the thread that was found is still counted, so
 * the object exists. */
static int count_out_found(void *arg, bool found, bool more)
{
	struct signal *s = arg;
	uint32_t old;

	if (found) {
		/* release: pairs with wf_cond_fini. */
		old = atomic_fetch_sub_explicit(&s->cond->waiters, 1,
						memory_order_release);
		s->is_last = old == (WF_COND_DYING | 1);
	}
	return WF_WOKEN_LAST; /* it leaves nobody behind on the mutex */
}

WF_COLD void wf_cond_signal_slow(struct wf_cond *c)
{
	struct signal s = { .cond = c };

	/* relaxed: the bucket's lock orders it before the wake. C2 */
	atomic_fetch_add_explicit(&c->seq, 1, memory_order_relaxed);
	wf_ufutex_wake_one(&c->seq, count_out_found, &s);
	if (WF_UNLIKELY(s.is_last))
		wf_ufutex_wake(&c->waiters, INT_MAX, WF_UFUTEX_ANY);
}

WF_COLD void wf_cond_broadcast_slow(struct wf_cond *c)
{
	struct wf_mutex *m = wf_load_relaxed(&c->mutex);
	/* relaxed: as in wf_cond_signal_slow. */
	uint32_t seq =
		atomic_fetch_add_explicit(&c->seq, 1, memory_order_relaxed) + 1;
	int nr_wake, n;

	if (m == NULL) {
		n = wf_ufutex_wake(&c->seq, INT_MAX, WF_UFUTEX_ANY);
		count_out(c, (uint32_t)n);
		return;
	}
	nr_wake = wf_mutex_expect_waiters(m) ? 0 : 1; /* C5 */
	do {
		n = wf_ufutex_requeue(&c->seq, seq, nr_wake, &m->word, INT_MAX);
		seq = wf_load_relaxed(&c->seq);
	} while (n == -EAGAIN); /* another signal came between */
	count_out(c, (uint32_t)n);
}
