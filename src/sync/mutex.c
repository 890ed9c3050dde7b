/* SPDX-License-Identifier: MIT */
/*
 * Mutex, slow paths: the woken thread competes; after starvation the unlock
 * hands over.
 *
 * An unlock frees the word and wakes the first waiter, which competes with
 * every thread that locks meanwhile. The running thread usually wins, and that
 * makes short sections cheap. A waiter that has lost such races for 1 ms
 * starves. It sets HANDOFF, and waits before threads that starve for less time
 * or not at all. From then on an unlock keeps the word locked and gives it to
 * the first waiter, until the starving thread has had the mutex.
 *
 * A wait that a signal interrupts counts as a lost race. A garbage collector
 * may stop all threads again and again by signals while one holds the mutex.
 * Without that rule they would queue in the order in which the collector
 * resumes them.
 *
 * Word: FREE = 0, L = LOCKED, C = CONTENDED, H = HANDOFF.
 *     FREE  -> L      [wf_mutex_take; acquire, woken as the last]
 *     FREE  -> LC     [acquire, woken with waiters behind it]
 *     L     -> LC     [acquire, before parking; wf_mutex_expect_waiters]
 *     LC    -> LCH    [acquire, before parking, starving]
 *     LCH   -> LC     [acquire, starving thread got it or timed out]
 *     L     -> FREE   [wf_mutex_unlock]
 *     LC    -> FREE   [wf_mutex_unlock_slow, then wakes one]
 *     LCH   -> LCH, L [hand_over, to the first of several; to the only one]
 *     LCH   -> FREE   [hand_over, no thread waits]
 *
 * MUTEX-1. Only the owner clears L. Clearing L, or handing the mutex over, is
 *     the owner's last access to the object: afterwards it uses the word's
 *     address only as a key. The next owner may free the memory.
 * MUTEX-2. If a thread is parked on the word, then one of three holds. C is
 *     set; or the unlock that cleared it has yet to wake a thread; or a thread
 *     woken with WF_WOKEN_MORE has yet to run. That thread takes the word with
 *     C, or sets C before it parks again or times out. So no thread stays
 *     parked for ever. A thread parks only while the word has C, which the user
 *     futex checks under its bucket's lock.
 * MUTEX-3. owner is the holder's id or WF_OWNER_NONE, and NONE before L is
 *     cleared. So a thread that reads its own id is the holder.
 * MUTEX-4. A thread that sets H clears it when it leaves acquire(), unless H is
 *     clear by then. A hand-over to another thread leaves H set. Otherwise the
 *     starving thread, which may not be in the queue yet, could lose for ever.
 *     A starving thread sets H again when it next loses, if another has cleared
 *     it.
 * MUTEX-5. A thread that leaves its wait by a jump or by its exit keeps MUTEX-2
 *     and MUTEX-4. It unlocks a mutex that was handed to it, wakes another
 *     thread if it was woken, and clears H. [leave_wait]
 *
 * Rejected: to hand over always. Each unlock of a contended mutex would cost a
 * switch, and the queue would never dissolve. Rejected: to read the clock when
 * a wait begins, 25 ns for each contended lock. So the time to starvation
 * begins with the first lost race.
 */
#include "sync/mutex.h"

#include <string.h>

#include "arch/arch.h"
#include "libc/cleanup.h"
#include "os/clock.h"
#include "sync/priority.h"
#include "wait/sleep.h"

/*
 * A waiter starves after this time. As in Go: far above the cost of a switch,
 * and too short to be noticed.
 */
#define STARVING_NS WF_NS_PER_MS

uint32_t wf_mutex_spins = WF_MUTEX_SPINS_DEFAULT;

_Static_assert(sizeof(struct wf_mutex) == sizeof(pthread_mutex_t),
	       "the object has libc's size");
_Static_assert(offsetof(pthread_mutex_t, libc_kind) >=
		       offsetof(struct wf_mutex, owner) + sizeof(uint32_t),
	       "the kind is where libc's initialisers put it");
_Static_assert(PTHREAD_MUTEX_RECURSIVE_NP == 1 &&
		       PTHREAD_MUTEX_ERRORCHECK_NP == 2,
	       "wf_mutex_checks_owner tells the types apart");

/* Does not block. kind: enum wf_mutex_kind, but not ROBUST or SHARED. */
int wf_mutex_init(struct wf_mutex *m, int kind, int ceiling)
{
	memset(m, 0, sizeof(*m));
	m->libc.libc_kind = kind;
	m->libc.libc_users = (unsigned int)ceiling;
	return 0;
}

/*
 * Does not block. Returns -EBUSY if the mutex is locked, or if a condition wait
 * will lock it again.
 */
int wf_mutex_fini(struct wf_mutex *m)
{
	/* acquire: pairs with the release of the last unlock. */
	if (wf_load_acquire(&m->word) != WF_MUTEX_FREE ||
	    wf_load_relaxed(&m->nr_waits) != 0)
		return -EBUSY;
	m->libc.libc_kind = -1; /* with this, libc's functions return EINVAL */
	return 0;
}

int wf_mutex_ceiling(const struct wf_mutex *m, int *ret_ceiling)
{
	if (!(wf_mutex_kind(m) & WF_MUTEX_PROTECT))
		return -EINVAL;
	*ret_ceiling = (int)m->libc.libc_users;
	return 0;
}

/*
 * Locks the mutex to set its ceiling, so may park. Does not compare the
 * caller's priority with the old ceiling.
 */
int wf_mutex_set_ceiling(struct wf_mutex *m, int ceiling, int *ret_old)
{
	bool is_mine = wf_mutex_is_mine(m, wf_owner_self());

	if (!(wf_mutex_kind(m) & WF_MUTEX_PROTECT))
		return -EINVAL;
	if (is_mine &&
	    (wf_mutex_kind(m) & WF_MUTEX_TYPE) == PTHREAD_MUTEX_ERRORCHECK_NP)
		return -EDEADLK;
	if (!is_mine)
		wf_mutex_acquire(m, WF_FOREVER);
	if (ret_old != NULL)
		*ret_old = (int)m->libc.libc_users;
	m->libc.libc_users = (unsigned int)ceiling;
	if (!is_mine) {
		wf_store_relaxed(&m->owner, WF_OWNER_NONE);
		wf_mutex_unlock_slow(m);
	}
	return 0;
}

/*
 * True if the caller has lost races for STARVING_NS. *starves_at is 0 before
 * the first lost race.
 */
static bool is_starving(int64_t *starves_at)
{
	int64_t now = wf_os_now();

	if (*starves_at == 0)
		*starves_at = now + STARVING_NS;
	return now >= *starves_at;
}

/* Called when the starving thread has got the mutex, or has stopped waiting. */
static void end_starvation(struct wf_mutex *m, bool is_starved)
{
	if (is_starved) /* MUTEX-4: it has set H */
		atomic_fetch_and_explicit(&m->word, ~(uint32_t)WF_MUTEX_HANDOFF,
					  memory_order_relaxed);
}

struct waiter {
	struct wf_mutex *mutex;
	struct wf_ufutex_note note;
	bool is_starved;
	int64_t starves_at;
};

/* Parks while the word is `word`, which has C. MUTEX-2 */
static int park(struct waiter *w, uint32_t word, int64_t deadline_ns)
{
	const void *addr = &w->mutex->word;

	if (WF_UNLIKELY(w->is_starved))
		return wf_ufutex_wait_starving(addr, word, deadline_ns,
					       w->starves_at, &w->note);
	return wf_ufutex_wait_noted(WF_WAIT_MUTEX, addr, word, WF_UFUTEX_ANY,
				    deadline_ns, &w->note);
}

static int note_more(void *arg, const struct wf_thread *first)
{
	return wf_ufutex_has_more(first) ? WF_WOKEN_MORE : WF_WOKEN_LAST;
}

/* Cleans up after a waiter that leaves by a jump or its exit. MUTEX-5 */
static void leave_wait(void *waiter)
{
	struct waiter *w = waiter;
	int result = wf_ufutex_leave(&w->note);

	end_starvation(w->mutex, w->is_starved);
	if (result == WF_HANDED)
		wf_mutex_unlock_slow(w->mutex);
	else if (result >= 0)
		wf_ufutex_wake_one(&w->mutex->word, note_more, NULL);
}

/*
 * Takes the mutex with `bits` if it is free. If it is locked, returns false,
 * and *ret_word has L.
 */
static bool take(struct wf_mutex *m, uint32_t bits, uint32_t *ret_word)
{
	*ret_word = wf_load_relaxed(&m->word);
	while (!(*ret_word & WF_MUTEX_LOCKED)) {
		/* acquire: pairs with the release in an unlock. */
		if (wf_cas_acq_rel(&m->word, ret_word, *ret_word | bits))
			return true;
	}
	return false;
}

/*
 * Parks until the caller has the mutex. Returns 0 or -ETIMEDOUT. After an
 * interruption it waits again: POSIX has no EINTR for mutexes.
 */
static int await(struct waiter *w, uint32_t word, int64_t deadline_ns,
		 uint32_t bits, struct wf_cleanup *cleanup)
{
	struct wf_mutex *m = w->mutex;
	bool has_lost = false;

	do {
		uint32_t wait;
		int rc;

		if (has_lost)
			w->is_starved = is_starving(&w->starves_at);
		has_lost = true; /* if the loop goes round again */
		wait = word | WF_MUTEX_CONTENDED |
		       (w->is_starved ? WF_MUTEX_HANDOFF : 0);
		if (wait != word && !wf_cas_acq_rel(&m->word, &word, wait))
			continue;
		rc = park(w, wait, deadline_ns);
		if (rc == WF_HANDED || rc == -ETIMEDOUT) {
			wf_cleanup_end(cleanup);
			/* acquire: pairs with the store in hand_over. */
			(void)wf_load_acquire(&m->word);
			end_starvation(m, w->is_starved);
			return rc == WF_HANDED ? 0 : rc;
		}
		if (rc >= 0) {
			bits = WF_MUTEX_LOCKED;
			if (rc == WF_WOKEN_MORE)
				/* MUTEX-2: others may be parked */
				bits |= WF_MUTEX_CONTENDED;
		}
	} while (!take(m, bits, &word));
	wf_cleanup_end(cleanup);
	return 0;
}

/* Takes the mutex with `bits` set in its word. Returns 0 or -ETIMEDOUT. */
static int acquire(struct wf_mutex *m, int64_t deadline_ns, uint32_t bits)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct waiter w = { .mutex = m, .note = WF_UFUTEX_NOTE_NONE };
	uint32_t word;
	int rc = 0;

	if (!take(m, bits, &word)) {
		wf_cleanup_begin_own(&cleanup, leave_wait, &w);
		rc = await(&w, word, deadline_ns, bits, &cleanup);
	}
	if (rc == 0)
		/* MUTEX-3: after the word */
		wf_store_relaxed(&m->owner, wf_owner_self());
	return rc;
}

/*
 * Spins for the mutex. With several VPs its owner may run and soon end a short
 * section: then spinning costs less than a switch.
 */
static bool spin(struct wf_mutex *m)
{
	for (uint32_t i = 0; i < wf_mutex_spins; i++) {
		if (wf_load_relaxed(&m->word) == WF_MUTEX_FREE &&
		    wf_mutex_take(m, wf_owner_self()))
			return true;
		wf_cpu_pause();
	}
	return false;
}

int wf_mutex_acquire(struct wf_mutex *m, int64_t deadline_ns)
{
	return acquire(m, deadline_ns, WF_MUTEX_LOCKED);
}

WF_COLD int wf_mutex_lock_slow(struct wf_mutex *m, int64_t deadline_ns)
{
	if (wf_mutex_has_protocol(m))
		return wf_priority_lock(m, deadline_ns);
	if ((wf_mutex_kind(m) & WF_MUTEX_TYPE) == PTHREAD_MUTEX_ADAPTIVE_NP &&
	    spin(m))
		return 0;
	return acquire(m, deadline_ns, WF_MUTEX_LOCKED);
}

WF_COLD int wf_mutex_clocklock_slow(struct wf_mutex *m, clockid_t clock,
				    const struct timespec *ts)
{
	int64_t deadline_ns;
	int rc;

	/* With a protocol, wf_priority_lock checks the time: a caller that need
	 * not wait needs no valid time. */
	if (wf_mutex_has_protocol(m)) {
		rc = wf_priority_trylock(m);
		if (rc != -EBUSY)
			return rc;
	}
	rc = wf_deadline_from_abs(clock, ts, &deadline_ns);
	return rc != 0 ? rc : wf_mutex_lock_slow(m, deadline_ns);
}

WF_COLD int wf_mutex_trylock_slow(struct wf_mutex *m)
{
	return wf_mutex_is_mine(m, wf_owner_self()) ? wf_mutex_nest(m) :
						      wf_priority_trylock(m);
}

int wf_mutex_relock_slow(struct wf_mutex *m, int token)
{
	uint32_t self = wf_owner_self();

	if (token == WF_HANDED) {
		/* acquire: pairs with the store in hand_over. */
		(void)wf_load_acquire(&m->word);
		wf_store_relaxed(&m->owner, self); /* MUTEX-3: after the word */
		return 0;
	}
	/* recursive: one of several locks was released */
	if (wf_mutex_is_mine(m, self))
		return wf_mutex_nest(m);
	if (wf_mutex_has_protocol(m))
		return wf_priority_lock(m, WF_FOREVER);
	return acquire(m, WF_FOREVER,
		       token == WF_WOKEN_MORE ?
			       WF_MUTEX_LOCKED | WF_MUTEX_CONTENDED :
			       WF_MUTEX_LOCKED);
}

bool wf_mutex_expect_waiters(struct wf_mutex *m)
{
	/* MUTEX-3: the caller holds it */
	if (wf_load_relaxed(&m->owner) != wf_owner_self())
		return false;
	atomic_fetch_or_explicit(&m->word, WF_MUTEX_CONTENDED,
				 memory_order_relaxed); /* MUTEX-2 */
	return true;
}

/*
 * Gives the mutex to the first waiter. Under the bucket's lock, so that no
 * thread can begin or end a wait on the word.
 */
static int hand_over(void *arg, const struct wf_thread *first)
{
	struct wf_mutex *m = arg;
	uint32_t word = WF_MUTEX_FREE;

	if (first != NULL)
		word = WF_MUTEX_LOCKED;
	if (wf_ufutex_has_more(first))
		/* MUTEX-4: H stays set */
		word |= WF_MUTEX_CONTENDED | WF_MUTEX_HANDOFF;
	/*
	 * release: publishes the section; pairs with the acquire of the thread
	 * that gets the mutex, now or later. The store may drop a bit that a
	 * thread has just set before parking. That thread will find another
	 * word, and set the bit again.
	 */
	wf_store_release(&m->word, word); /* MUTEX-1: the last access */
	return WF_HANDED;
}

WF_COLD void wf_mutex_unlock_slow(struct wf_mutex *m)
{
	uint32_t word = wf_load_relaxed(&m->word);

	while (word & WF_MUTEX_LOCKED) {
		if (word & WF_MUTEX_HANDOFF) {
			wf_ufutex_wake_one(&m->word, hand_over, m);
			return;
		}
		/* release: publishes the section; pairs with the acquire in
		 * take(). */
		if (!wf_cas_acq_rel(&m->word, &word, WF_MUTEX_FREE))
			continue;
		/* MUTEX-1, MUTEX-2: wakes by address */
		if (word & WF_MUTEX_CONTENDED)
			wf_ufutex_wake_one(&m->word, note_more, NULL);
		return;
	}
}

WF_COLD void wf_mutex_unlock_protocol(struct wf_mutex *m)
{
	wf_priority_unlock(m);
}
