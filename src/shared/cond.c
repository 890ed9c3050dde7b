/* SPDX-License-Identifier: MIT */
/*
 * Process-shared condition variables, on libc's words and by its rules, since a
 * process without weft may wait for the same one. glibc has had two protocols:
 * that of 2.25 to 2.40, and that of 2.41, which distributions have also put
 * into older versions. Each waiter gets the next place. All waiters before
 * `start` have a signal. The others are in two groups: the first gets the
 * signals, and new waiters join the second. The groups are 0 and 1 in the words
 * below, and swap their roles.
 *
 * SHARED_COND-1. The lock protects `start`, `size`, and the number of places of
 *     the first group (in the lock's word). It also protects the number of the
 *     group that new waiters join. That is in `next`, and changes in one step
 *     with the next place.
 * SHARED_COND-2. size[g] of the first group is the number of its waiters
 *     without a signal. size[g] of the second group is 0 minus the waiters that
 *     gave up. Its places are added when it becomes the first.
 * SHARED_COND-3. When the size of the first group is 0 and the second has
 *     waiters, the first group ends and the second becomes the first.
 * SHARED_COND-4. A waiter gives up under the lock, by leaving its group's size.
 *     If its group has ended or has signals for all, then the waiter has
 *     a signal that another thread may need. So it signals again.
 * SHARED_COND-5. `users` counts the waiters that will access the object, from
 *     before they release the mutex until before they lock it again. The
 *     destroying thread waits for them.
 * SHARED_COND-6. A waiter that leaves by a jump or by its exit signals again
 *     if it has a signal, else gives up. Then it locks the mutex. [leave_wait]
 *
 * Until 2.40:
 *
 * SHARED_COND-7. signals[g] counts, in twos, the signals that no thread has
 *     taken. Waiters of the group sleep while it is 0. Its lowest bit says that
 *     the group has ended: each waiter has its signal.
 * SHARED_COND-8. When a group ends, the bit of SHARED_COND-7 is set. `start`
 *     moves once refs[g] is 0. Then signals[g] is set to 0 for the next group.
 * SHARED_COND-9. A waiter increments refs[g] and then reads `start`. If its
 *     place is not before `start`, signals[g] is its group's until it
 *     decrements refs[g]. libc's waiters hold a reference only while they
 *     sleep. They may take a signal of a later group, and then replace it.
 *     weft's do not. A waiter gives up only after it has decremented refs[g].
 *
 * Since 2.41, without refs:
 *
 * SHARED_COND-10. If g is the first group, signals[g] is the lower half of
 *     `start` plus the signals that no thread has taken. Waiters of the group
 *     sleep while it is not above `start`.
 * SHARED_COND-11. When a group ends, `start` moves at once. signals[g] of the
 *     second group is set to `start`, and the group becomes the first. That of
 *     the ended group stays, at most `start`: the next to join it sleep.
 * SHARED_COND-12. `start` only grows. So signals[g] has higher numbers for one
 *     group than for all earlier ones. A waiter takes a signal by a
 *     compare-and-swap, so it takes one that was there when it read `start`. It
 *     is a signal of the waiter's group, or of an ended group with signals for
 *     all.
 */
#include "shared/cond.h"

#include "shared/mutex.h"
#include "libc/cleanup.h"
#include "libc/cond_words.h"
#include "shared/word.h"
#include "sync/mutex.h"

enum {
	/* Bits of cond_words.h. The other bits of `next` are the next place. */
	GROUP = 1 << 0, /* of `next`: the group that new waiters join */
	/* of groups.users, above libc's flags */
	DYING = 1 << 2,
	/* of groups.lock; its other bits are the first group's places */
	LOCKED = 1 << 0,
	LOCKED_WAITED = 1 << 1,
	LOCK = LOCKED | LOCKED_WAITED,
	PLACES_SHIFT = 2,
	/* of refs: a thread waits until no reference is left */
	AWAITED = 1 << 0,
	ONE_REF = 1 << 1,
	/* of groups.signals until 2.40 */
	ENDED = 1 << 0,

	MAX_WAITERS = 1 << 29,
};

struct waiter {
	const struct wf_cond_words *c;
	pthread_cond_t *cond;
	pthread_mutex_t *mutex;
	uint64_t place;
	uint32_t group;
	/* Flags for SHARED_COND-6, each set in one step with the words. */
	bool is_counted; /* has a place, and is in `users` */
	bool has_ref;	 /* is in refs: SHARED_COND-9 */
	bool has_signal; /* has taken it from signals[group] */
	bool has_given_up;
	bool has_released; /* has released the mutex */
};

static bool has_refs(const struct wf_cond_words *c)
{
	return c->refs != NULL;
}

/* --- the lock ------------------------------------------------------------- */

static void lock(const struct wf_cond_words *c)
{
	uint32_t seen = wf_load_relaxed(&c->groups->lock), mark = LOCKED;

	/* acquire: the words; pairs with the release in unlock(). */
	for (;;) {
		if ((seen & LOCK) == 0) {
			if (wf_cas_acq_rel(&c->groups->lock, &seen,
					   seen | mark))
				return;
			continue;
		}
		mark = LOCKED_WAITED; /* as others may sleep on it, too */
		if ((seen & LOCK) == LOCKED_WAITED ||
		    wf_cas_acq_rel(&c->groups->lock, &seen,
				   (seen & ~(uint32_t)LOCK) | mark)) {
			wf_shared_word_wait(&c->groups->lock,
					    (seen & ~(uint32_t)LOCK) | mark,
					    WF_FOREVER);
			seen = wf_load_relaxed(&c->groups->lock);
		}
	}
}

static void unlock(const struct wf_cond_words *c)
{
	/* release: the words; pairs with the acquire in lock(). */
	if ((atomic_fetch_and(&c->groups->lock, ~(uint32_t)LOCK) & LOCK) ==
	    LOCKED_WAITED)
		wf_shared_word_wake(&c->groups->lock, 1);
}

static uint32_t places_locked(const struct wf_cond_words *c)
{
	return wf_load_relaxed(&c->groups->lock) >> PLACES_SHIFT;
}

/* By CAS, as other threads may set LOCKED_WAITED meanwhile. */
static void set_places_locked(const struct wf_cond_words *c, uint32_t places)
{
	uint32_t seen = wf_load_relaxed(&c->groups->lock);

	while (!wf_cas_acq_rel(&c->groups->lock, &seen,
			       (seen & LOCK) | places << PLACES_SHIFT))
		;
}

/* --- signals -------------------------------------------------------------- */

static uint64_t start_of(const struct wf_cond_words *c)
{
	uint64_t start = wf_load_relaxed(c->start);

	return has_refs(c) ? start / WF_COND_ONE_PLACE : start;
}

/* Waits until no thread reads the signals of group g. SHARED_COND-8 */
static void end_group_locked(const struct wf_cond_words *c, uint32_t g)
{
	uint32_t refs;

	atomic_fetch_or(&c->groups->signals[g], ENDED);
	/* acq_rel: pairs with drop_ref(), and with add_ref(): a waiter that
	 * counts itself later sees ENDED or the new `start`. */
	refs = atomic_fetch_or(&c->refs[g], 0);
	if (refs >= ONE_REF)
		/* libc's waiters may have taken a wrong signal: wakes all. */
		wf_shared_word_wake(&c->groups->signals[g], INT_MAX);
	while (refs >= ONE_REF) {
		refs = atomic_fetch_or(&c->refs[g], AWAITED) | AWAITED;
		if (refs >= ONE_REF)
			wf_shared_word_wait(&c->refs[g], refs, WF_FOREVER);
		refs = wf_load_acquire(&c->refs[g]);
	}
}

/* Ends group `first`: sets `start`, and signals by SHARED_COND-8 or -11. */
static void set_start_locked(const struct wf_cond_words *c, uint64_t start,
			     uint32_t first)
{
	_Atomic uint32_t *signals = c->groups->signals;

	if (has_refs(c)) {
		end_group_locked(c, first);
		wf_store_relaxed(c->start, start * WF_COND_ONE_PLACE | first);
		/* release: pairs with the acquire in await_signal(). */
		/* SHARED_COND-8: for the next */
		wf_store_release(&signals[first], 0);
	} else {
		wf_store_relaxed(c->start, start);
		/* release: for the acquire in await_signal(). SHARED_COND-11 */
		wf_store_release(&signals[first ^ 1], (uint32_t)start);
	}
}

/* Swaps groups; false if no thread waits. `next` may be old. SHARED_COND-3 */
static bool next_group_locked(const struct wf_cond_words *c, uint64_t next)
{
	uint32_t joined = next & GROUP;
	uint32_t *size = &c->groups->size[joined];
	uint64_t end = start_of(c) + places_locked(c), last;

	if ((uint32_t)(next / WF_COND_ONE_PLACE - end) + *size == 0)
		return false;
	set_start_locked(c, end, joined ^ 1);
	/* release: pairs with the acquire in begin_wait(). */
	last = atomic_fetch_xor(c->next, GROUP) / WF_COND_ONE_PLACE;
	set_places_locked(c, (uint32_t)(last - end));
	*size += (uint32_t)(last - end); /* SHARED_COND-2: adds its places */
	return *size != 0;
}

/* The unit of signals[g]: SHARED_COND-7, SHARED_COND-10 */
static uint32_t one_signal(const struct wf_cond_words *c)
{
	return has_refs(c) ? 2 : 1;
}

static void post_locked(const struct wf_cond_words *c, uint32_t g, uint32_t n)
{
	atomic_fetch_add(&c->groups->signals[g], n * one_signal(c));
	c->groups->size[g] -= n;
}

void wf_shared_cond_signal(pthread_cond_t *cond)
{
	const struct wf_cond_words words = wf_cond_words_of(cond), *c = &words;
	uint32_t first;
	uint64_t next;
	bool wakes;

	if (wf_load_relaxed(&c->groups->users) < WF_COND_ONE_USER)
		return;
	lock(c);
	next = wf_load_relaxed(c->next);
	first = (next & GROUP) ^ 1;
	wakes = c->groups->size[first] != 0;
	if (!wakes && next_group_locked(c, next)) {
		wakes = true;
		first ^= 1;
	}
	if (wakes)
		post_locked(c, first, 1);
	unlock(c);
	if (wakes)
		wf_shared_word_wake(&c->groups->signals[first], 1);
}

void wf_shared_cond_broadcast(pthread_cond_t *cond)
{
	const struct wf_cond_words words = wf_cond_words_of(cond), *c = &words;
	uint32_t first;
	uint64_t next;
	bool wakes;

	if (wf_load_relaxed(&c->groups->users) < WF_COND_ONE_USER)
		return;
	lock(c);
	next = wf_load_relaxed(c->next);
	first = (next & GROUP) ^ 1;
	if (c->groups->size[first] != 0) {
		post_locked(c, first, c->groups->size[first]);
		wf_shared_word_wake(&c->groups->signals[first], INT_MAX);
	}
	wakes = next_group_locked(c, next);
	first ^= 1;
	if (wakes)
		post_locked(c, first, c->groups->size[first]);
	unlock(c);
	if (wakes)
		wf_shared_word_wake(&c->groups->signals[first], INT_MAX);
}

/* --- waiting -------------------------------------------------------------- */

static void drop_ref(struct waiter *w)
{
	_Atomic uint32_t *refs = &w->c->refs[w->group];

	w->has_ref = false;
	/* release: pairs with the acquire in end_group_locked(). */
	if (atomic_fetch_sub(refs, ONE_REF) != (ONE_REF | AWAITED))
		return;
	atomic_fetch_and(refs, ~(uint32_t)AWAITED);
	wf_shared_word_wake(refs, INT_MAX);
}

/* Sleeps on word. Only this part of a wait can be cancelled. */
static int sleep_on(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns,
		    bool is_cancel_point)
{
	struct wf_thread *t = wf_self;
	int rc;

	t->at_cancel_point = is_cancel_point;
	rc = wf_io_futex_wait(word, seen, FUTEX_BITSET_MATCH_ANY, deadline_ns);
	t->at_cancel_point = false;
	return rc == -ETIMEDOUT || rc == -ECANCELED ? rc : 0;
}

static bool has_ended(const struct waiter *w, uint32_t signals, uint64_t start)
{
	return w->place < start || (has_refs(w->c) && (signals & ENDED));
}

/* True if signals[group] has a signal. SHARED_COND-7, SHARED_COND-10 */
static bool is_signalled(const struct waiter *w, uint32_t signals,
			 uint64_t start)
{
	return has_refs(w->c) ? signals != 0 :
				(int32_t)(signals - (uint32_t)start) > 0;
}

static void add_ref(struct waiter *w)
{
	struct wf_thread *t = wf_runtime_enter();

	atomic_fetch_add(&w->c->refs[w->group], ONE_REF); /* SHARED_COND-9 */
	w->has_ref = true;
	wf_runtime_leave(t);
}

static bool take_signal(struct waiter *w, uint32_t seen)
{
	struct wf_thread *t = wf_runtime_enter();

	w->has_signal = wf_cas_acq_rel(&w->c->groups->signals[w->group], &seen,
				       /* SHARED_COND-12: takes one */
				       seen - one_signal(w->c));
	wf_runtime_leave(t);
	return w->has_signal;
}

/* Waits for a signal. Returns 0, -ETIMEDOUT or -ECANCELED. */
static int await_signal(struct waiter *w, int64_t deadline_ns,
			bool is_cancel_point)
{
	_Atomic uint32_t *signals = &w->c->groups->signals[w->group];
	int rc = 0;

	if (has_refs(w->c))
		add_ref(w);
	for (;;) {
		/* acquire: pairs with the release in set_start_locked(). */
		uint32_t seen = wf_load_acquire(signals);
		uint64_t start = start_of(w->c);

		if (has_ended(w, seen, start)) {
			rc = 0;
		} else if (is_signalled(w, seen, start)) {
			if (!take_signal(w, seen))
				continue;
			rc = 0; /* wins over deadline, cancellation */
		} else if (rc == 0) {
			rc = sleep_on(signals, seen, deadline_ns,
				      is_cancel_point);
			continue;
		}
		break;
	}
	if (has_refs(w->c))
		drop_ref(w);
	return rc;
}

/* Gives up a wait that has timed out or was cancelled. SHARED_COND-4 */
static void give_up(struct waiter *w)
{
	const struct wf_cond_words *c = w->c;
	pthread_cond_t *cond = w->cond;
	uint32_t *size = &c->groups->size[w->group];
	bool has_signal = false;
	uint64_t start;

	lock(c);
	w->has_given_up = true;
	start = start_of(c);
	if (w->place < start) {
		has_signal = true;
	} else if (w->place < start + places_locked(c)) {
		has_signal = *size == 0;
		*size -= !has_signal;
	} else if (*size == (uint32_t)-MAX_WAITERS) {
		unlock(c); /* at the limit of the count: wakes all waiters */
		wf_shared_cond_broadcast(cond);
		return;
	} else {
		(*size)--;
	}
	unlock(c);
	if (has_signal)
		wf_shared_cond_signal(cond);
}

static int release(pthread_mutex_t *mutex)
{
	struct wf_mutex *m = (struct wf_mutex *)mutex;

	return wf_mutex_is_libc(m) ? -wf_shared_mutex_unlock(mutex) :
				     wf_mutex_unlock(m);
}

static int retake(pthread_mutex_t *mutex)
{
	struct wf_mutex *m = (struct wf_mutex *)mutex;

	return wf_mutex_is_libc(m) ?
		       -wf_shared_mutex_lock(mutex, CLOCK_REALTIME, NULL) :
		       wf_mutex_relock(m, WF_WOKEN_LAST);
}

static void begin_wait(struct waiter *w)
{
	struct wf_thread *t = wf_runtime_enter();
	/* acquire: pairs with the release in next_group_locked(). */
	uint64_t next = atomic_fetch_add(w->c->next, WF_COND_ONE_PLACE);

	w->place = next / WF_COND_ONE_PLACE;
	w->group = next & GROUP;
	atomic_fetch_add(&w->c->groups->users, WF_COND_ONE_USER);
	w->is_counted = true;
	wf_runtime_leave(t);
}

static void end_use(struct waiter *w)
{
	_Atomic uint32_t *users = &w->c->groups->users;

	w->is_counted = false;
	/* release: pairs with wf_shared_cond_fini. SHARED_COND-5 */
	if (atomic_fetch_sub(users, WF_COND_ONE_USER) / DYING ==
	    (WF_COND_ONE_USER | DYING) / DYING)
		wf_shared_word_wake(users, INT_MAX);
}

/* Cleans up a wait that a jump or an exit leaves. SHARED_COND-6 */
static void leave_wait(void *waiter)
{
	struct waiter *w = waiter;

	if (w->has_ref)
		drop_ref(w);
	if (w->is_counted && w->has_signal)
		wf_shared_cond_signal(w->cond);
	else if (w->is_counted && !w->has_given_up)
		give_up(w);
	if (w->is_counted)
		end_use(w);
	if (w->has_released)
		retake(w->mutex);
}

static int wait_at(struct waiter *w, int64_t deadline_ns, bool is_cancel_point)
{
	int rc = release(w->mutex);

	w->has_released = rc == 0;
	if (rc == 0)
		rc = await_signal(w, deadline_ns, is_cancel_point);
	if (rc != 0)
		give_up(w);
	end_use(w);
	return rc;
}

int wf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct wf_thread *t = wf_self;
	bool is_cancel_point = t->at_cancel_point;
	const struct wf_cond_words words = wf_cond_words_of(cond);
	struct waiter w = { .c = &words, .cond = cond, .mutex = mutex };
	int rc, lock_rc = 0;

	t->at_cancel_point = false; /* locking again is no cancellation point */
	wf_cleanup_begin(&cleanup, leave_wait, &w);
	begin_wait(&w);
	rc = wait_at(&w, deadline_ns, is_cancel_point);
	wf_cleanup_end(&cleanup);
	if (w.has_released)
		lock_rc = retake(mutex);
	t->at_cancel_point = is_cancel_point;
	return lock_rc == 0 || rc == -ECANCELED ? rc : lock_rc;
}

void wf_shared_cond_fini(pthread_cond_t *cond)
{
	_Atomic uint32_t *users = &wf_cond_words_of(cond).groups->users;
	uint32_t seen = atomic_fetch_or(users, DYING) | DYING;

	while (seen >= WF_COND_ONE_USER) { /* SHARED_COND-5: they access it */
		wf_shared_word_wait(users, seen, WF_FOREVER);
		/* acquire: pairs with the release in end_use(). */
		seen = wf_load_acquire(users);
	}
}
