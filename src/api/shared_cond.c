/*
 * The protocol of glibc 2.25 to 2.40. Waiters get consecutive places. Those
 * before `start` have all been signalled. From there on are two groups: the
 * first, which gets the signals, and, behind it, the one that new waiters
 * join. They take turns at being group 0 and 1 of the words below.
 *
 * S1. Under the lock: `start`, `size`, the number of places of the first group
 *     (in the word of the lock), and which group new waiters join (in `next`,
 *     changed in one step with the place that the next of them gets).
 * S2. size[g] is how many of the first group have no signal yet. Of the other
 *     group it is 0 less those that gave up; its number comes on top when
 *     it becomes the first.
 * S3. signals[g] counts, in twos, signals that nobody took. Waiters of the
 *     group sleep while it is 0. Its lowest bit says that the group has ended:
 *     each waiter has its signal.
 * S4. A group ends, for the other to become the first, when its size is 0 and
 *     somebody waits in the other. The bit of S3 is set, `start` moves when
 *     refs[g] is 0, and then signals[g] is 0 again, for the next group.
 * S5. So whoever counts itself in refs[g], and then finds its place not
 *     before `start`, knows that signals[g] is its own group's until it counts
 *     itself out. libc's waiters count only while they sleep, and may take a
 *     signal of a later group, which they then replace. Ours do not.
 * S6. A waiter gives up under the lock, not counted in refs[g], by taking
 *     itself out of its group's size. If its group has ended or has signals
 *     for all, it has a signal that another needs: it signals again.
 * S7. `users` has the waiters that will touch the object again, from before
 *     they release the mutex until before they take it again. Destroying
 *     waits for them.
 *
 * libc 2.41 has another protocol: one is known by what libc's own signal
 * does to an object with waiters that do not exist. With others all calls are
 * libc's.
 */
#include "api/shared_cond.h"

#include <stddef.h>
#include <string.h>

#include "api/shared_mutex.h"
#include "api/shared_word.h"
#include "libc/real.h"
#include "sync/mutex.h"

enum {
	/* words.next and .start: the rest are places */
	GROUP = 1 << 0, /* that new waiters join */
	ONE_PLACE = 1 << 1,
	/* words.lock: the rest is the first group's places */
	LOCKED = 1 << 0,
	LOCKED_WAITED = 1 << 1,
	LOCK = LOCKED | LOCKED_WAITED,
	PLACES_SHIFT = 2,
	/* words.users: its lower bits are libc's flags */
	DYING = 1 << 2,
	ONE_USER = 1 << 3,
	/* words.refs */
	AWAITED = 1 << 0,
	ONE_REF = 1 << 1,
	/* words.signals */
	ENDED = 1 << 0,
	ONE_SIGNAL = 1 << 1,

	MAX_WAITERS = 1 << 29,
};

struct words {
	_Atomic uint64_t next, start;
	_Atomic uint32_t refs[2];
	uint32_t size[2];
	_Atomic uint32_t lock, users, signals[2];
};

/* Where libc's headers have the flags: a first sign of another protocol. */
enum { FLAGS_OFFSET = offsetof(pthread_cond_t, __data.__wrefs) };

_Static_assert(sizeof(struct words) == sizeof(pthread_cond_t),
	       "libc's object has these words");

struct waiter {
	struct words *c;
	uint64_t place;
	uint32_t group;
};

static struct words *words_of(pthread_cond_t *cond)
{
	return (struct words *)cond;
}

/* --- the lock ------------------------------------------------------------- */

static void lock(struct words *c)
{
	uint32_t seen = wf_load_relaxed(&c->lock), mark = LOCKED;

	/* acquire: pairs with the release in unlock(). */
	for (;;) {
		if ((seen & LOCK) == 0) {
			if (wf_cas_acq_rel(&c->lock, &seen, seen | mark))
				return;
			continue;
		}
		mark = LOCKED_WAITED; /* there may be others */
		if ((seen & LOCK) == LOCKED_WAITED ||
		    wf_cas_acq_rel(&c->lock, &seen,
				   (seen & ~(uint32_t)LOCK) | mark)) {
			wf_shared_word_wait(&c->lock,
					    (seen & ~(uint32_t)LOCK) | mark,
					    WF_FOREVER);
			seen = wf_load_relaxed(&c->lock);
		}
	}
}

static void unlock(struct words *c)
{
	/* release: pairs with the acquire in lock(). */
	if ((atomic_fetch_and(&c->lock, ~(uint32_t)LOCK) & LOCK) ==
	    LOCKED_WAITED)
		wf_shared_word_wake(&c->lock, 1);
}

static uint32_t places_locked(struct words *c)
{
	return wf_load_relaxed(&c->lock) >> PLACES_SHIFT;
}

/* Others may mark the lock meanwhile. */
static void set_places_locked(struct words *c, uint32_t places)
{
	uint32_t seen = wf_load_relaxed(&c->lock);

	while (!wf_cas_acq_rel(&c->lock, &seen,
			       (seen & LOCK) | places << PLACES_SHIFT))
		;
}

/* --- signals -------------------------------------------------------------- */

/* S4: until nobody looks at the group's signals. */
static void end_group_locked(struct words *c, uint32_t g)
{
	uint32_t refs;

	atomic_fetch_or(&c->signals[g], ENDED);
	/* acq_rel: who counts itself in later sees ENDED or `start`; pairs
	 * with the count in await_signal(), and here with drop_ref(). */
	refs = atomic_fetch_or(&c->refs[g], 0);
	if (refs >= ONE_REF)
		/* A signal of theirs may be on its way through another. */
		wf_shared_word_wake(&c->signals[g], INT_MAX);
	while (refs >= ONE_REF) {
		refs = atomic_fetch_or(&c->refs[g], AWAITED) | AWAITED;
		if (refs >= ONE_REF)
			wf_shared_word_wait(&c->refs[g], refs, WF_FOREVER);
		refs = wf_load_acquire(&c->refs[g]);
	}
}

/* S4. False: nobody waits. `next` is an earlier value. */
static bool next_group_locked(struct words *c, uint64_t next)
{
	uint32_t joined = next & GROUP, first = joined ^ 1;
	uint64_t start = wf_load_relaxed(&c->start) / ONE_PLACE;
	uint64_t end = start + places_locked(c), last;

	if ((uint32_t)(next / ONE_PLACE - end) + c->size[joined] == 0)
		return false;
	end_group_locked(c, first);
	wf_store_relaxed(&c->start, end * ONE_PLACE | first);
	/* release: pairs with the acquire in await_signal(). */
	wf_store_release(&c->signals[first], 0);
	/* release: pairs with the acquire of those that join `first`. */
	last = atomic_fetch_xor(&c->next, GROUP) / ONE_PLACE;
	set_places_locked(c, (uint32_t)(last - end));
	c->size[joined] += (uint32_t)(last - end); /* S2 */
	return c->size[joined] != 0;
}

static void post_locked(struct words *c, uint32_t g, uint32_t n)
{
	atomic_fetch_add(&c->signals[g], n * ONE_SIGNAL);
	c->size[g] -= n;
}

void wf_shared_cond_signal(pthread_cond_t *cond)
{
	struct words *c = words_of(cond);
	uint32_t first;
	uint64_t next;
	bool wakes;

	if (wf_load_relaxed(&c->users) < ONE_USER)
		return;
	lock(c);
	next = wf_load_relaxed(&c->next);
	first = (next & GROUP) ^ 1;
	wakes = c->size[first] != 0;
	if (!wakes && next_group_locked(c, next)) {
		wakes = true;
		first ^= 1;
	}
	if (wakes)
		post_locked(c, first, 1);
	unlock(c);
	if (wakes)
		wf_shared_word_wake(&c->signals[first], 1);
}

void wf_shared_cond_broadcast(pthread_cond_t *cond)
{
	struct words *c = words_of(cond);
	uint32_t first;
	uint64_t next;
	bool wakes;

	if (wf_load_relaxed(&c->users) < ONE_USER)
		return;
	lock(c);
	next = wf_load_relaxed(&c->next);
	first = (next & GROUP) ^ 1;
	if (c->size[first] != 0) {
		post_locked(c, first, c->size[first]);
		wf_shared_word_wake(&c->signals[first], INT_MAX);
	}
	wakes = next_group_locked(c, next);
	first ^= 1;
	if (wakes)
		post_locked(c, first, c->size[first]);
	unlock(c);
	if (wakes)
		wf_shared_word_wake(&c->signals[first], INT_MAX);
}

/* --- waiting -------------------------------------------------------------- */

static void drop_ref(struct waiter *w)
{
	_Atomic uint32_t *refs = &w->c->refs[w->group];

	/* release: pairs with the acquire in end_group_locked(). */
	if (atomic_fetch_sub(refs, ONE_REF) != (ONE_REF | AWAITED))
		return;
	atomic_fetch_and(refs, ~(uint32_t)AWAITED);
	wf_shared_word_wake(refs, INT_MAX);
}

/* The one place where a cancellation may come. */
static int sleep_on(_Atomic uint32_t *word, int64_t deadline_ns,
		    bool is_cancel_point)
{
	struct wf_thread *t = wf_self;
	int rc;

	t->at_cancel_point = is_cancel_point;
	rc = wf_io_futex_wait(word, 0, FUTEX_BITSET_MATCH_ANY, deadline_ns);
	t->at_cancel_point = false;
	return rc == -ETIMEDOUT || rc == -ECANCELED ? rc : 0;
}

/* Until there is a signal for the waiter: 0, -ETIMEDOUT or -ECANCELED. */
static int await_signal(struct waiter *w, int64_t deadline_ns,
			bool is_cancel_point)
{
	_Atomic uint32_t *signals = &w->c->signals[w->group];
	int rc = 0;

	atomic_fetch_add(&w->c->refs[w->group], ONE_REF); /* S5 */
	for (;;) {
		/* acquire: pairs with the release in next_group_locked(). */
		uint32_t seen = wf_load_acquire(signals);
		uint64_t start = wf_load_relaxed(&w->c->start);

		if ((seen & ENDED) || w->place < start / ONE_PLACE)
			rc = 0;
		else if (seen == 0 && rc == 0) {
			rc = sleep_on(signals, deadline_ns, is_cancel_point);
			continue;
		} else if (seen != 0 &&
			   !wf_cas_acq_rel(signals, &seen, seen - ONE_SIGNAL))
			continue;
		else if (seen != 0)
			rc = 0; /* it came first */
		break;
	}
	drop_ref(w);
	return rc;
}

/* S6 */
static void give_up(struct waiter *w)
{
	struct words *c = w->c;
	bool has_signal = false;
	uint64_t start;

	lock(c);
	start = wf_load_relaxed(&c->start) / ONE_PLACE;
	if (w->place < start) {
		has_signal = true;
	} else if (w->place < start + places_locked(c)) {
		has_signal = c->size[w->group] == 0;
		c->size[w->group] -= !has_signal;
	} else if (c->size[w->group] == (uint32_t)-MAX_WAITERS) {
		unlock(c); /* too many to count: all wake, and join anew */
		wf_shared_cond_broadcast((pthread_cond_t *)c);
		return;
	} else {
		c->size[w->group]--;
	}
	unlock(c);
	if (has_signal)
		wf_shared_cond_signal((pthread_cond_t *)c);
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

static int wait_at(struct waiter *w, pthread_mutex_t *mutex,
		   int64_t deadline_ns, bool is_cancel_point)
{
	int release_rc = release(mutex);
	int rc = release_rc, lock_rc;

	if (release_rc == 0)
		rc = await_signal(w, deadline_ns, is_cancel_point);
	if (rc != 0)
		give_up(w);
	/* release: pairs with wf_shared_cond_fini. S7 */
	if (atomic_fetch_sub(&w->c->users, ONE_USER) / DYING ==
	    (ONE_USER | DYING) / DYING)
		wf_shared_word_wake(&w->c->users, INT_MAX);
	if (release_rc != 0)
		return rc;
	lock_rc = retake(mutex);
	return lock_rc == 0 || rc == -ECANCELED ? rc : lock_rc;
}

int wf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			int64_t deadline_ns)
{
	struct wf_thread *t = wf_self;
	bool is_cancel_point = t->at_cancel_point;
	struct waiter w = { .c = words_of(cond) };
	/* acquire: pairs with the release in next_group_locked(). */
	uint64_t next = atomic_fetch_add(&w.c->next, ONE_PLACE);
	int rc;

	w.place = next / ONE_PLACE;
	w.group = next & GROUP;
	atomic_fetch_add(&w.c->users, ONE_USER);
	t->at_cancel_point = false; /* taking the mutex again is none */
	rc = wait_at(&w, mutex, deadline_ns, is_cancel_point);
	t->at_cancel_point = is_cancel_point;
	return rc;
}

void wf_shared_cond_fini(pthread_cond_t *cond)
{
	struct words *c = words_of(cond);
	uint32_t seen = atomic_fetch_or(&c->users, DYING) | DYING;

	while (seen >= ONE_USER) { /* S7 */
		wf_shared_word_wait(&c->users, seen, WF_FOREVER);
		/* acquire: pairs with the release in wait_at(). */
		seen = wf_load_acquire(&c->users);
	}
}

/* --- which protocol ------------------------------------------------------- */

enum step { SIGNAL, BROADCAST };

/* What libc's calls make of an object when so many more wait. */
static const struct {
	uint32_t joining;
	enum step step;
	struct words after;
} script[] = {
	{ 3,
	  SIGNAL,
	  { .next = 7,
	    .start = 1,
	    .size = { 2, 0 },
	    .lock = 12,
	    .users = 3 * ONE_USER | 1,
	    .signals = { 2, 0 } } },
	{ 2,
	  SIGNAL,
	  { .next = 11,
	    .start = 1,
	    .size = { 1, 0 },
	    .lock = 12,
	    .users = 5 * ONE_USER | 1,
	    .signals = { 4, 0 } } },
	{ 0,
	  BROADCAST,
	  { .next = 10,
	    .start = 6,
	    .size = { 0, 0 },
	    .lock = 8,
	    .users = 5 * ONE_USER | 1,
	    .signals = { 0, 4 } } },
	{ 1,
	  SIGNAL,
	  { .next = 13,
	    .start = 11,
	    .size = { 0, 0 },
	    .lock = 4,
	    .users = 6 * ONE_USER | 1,
	    .signals = { 2, 0 } } },
	{ 1,
	  BROADCAST,
	  { .next = 14,
	    .start = 12,
	    .size = { 0, 0 },
	    .lock = 4,
	    .users = 7 * ONE_USER | 1,
	    .signals = { 0, 2 } } },
};

static bool follow_script(void)
{
	union {
		pthread_cond_t libc;
		struct words words;
	} u;

	if (FLAGS_OFFSET != offsetof(struct words, users))
		return false;
	memset(&u, 0, sizeof(u));
	u.words.users = 1; /* process-shared */
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
		u.words.next += script[i].joining * ONE_PLACE;
		u.words.users += script[i].joining * ONE_USER;
		if (script[i].step == SIGNAL)
			wf_real.pthread_cond_signal(&u.libc);
		else
			wf_real.pthread_cond_broadcast(&u.libc);
		if (memcmp(&u.words, &script[i].after, sizeof(u.words)) != 0)
			return false;
	}
	return true;
}

static bool is_known(void)
{
	enum { UNKNOWN, KNOWN, OTHER };
	static _Atomic int protocol = UNKNOWN;
	int known = wf_load_relaxed(&protocol);

	if (WF_UNLIKELY(known == UNKNOWN)) {
		known = follow_script() ? KNOWN : OTHER;
		wf_store_relaxed(&protocol, known);
	}
	return known == KNOWN;
}

bool wf_shared_cond_can_wait(void)
{
	return wf_io_can_wait_futex() && is_known();
}

bool wf_shared_cond_will_wait(void)
{
	return wf_io_will_wait_futex() && is_known();
}
