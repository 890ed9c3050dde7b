/* SPDX-License-Identifier: MIT */
/*
 * Process-shared reader-writer locks, on libc's words and by its rules, since a
 * process without weft may use the same lock. `readers` is the lock: three
 * flags below the number of counted readers, which hold the lock or wait for
 * it. WRITER is set while one writer is the first: the next to hold the lock,
 * or its holder. The first writer holds the lock if WRITE_PHASE is set, too.
 * Readers and the first writer sleep on `phase`, other writers on `first`.
 * Unlocking is libc's function: it compares the caller's number with the
 * writer's, and while a writer holds the lock no other thread unlocks it.
 *
 * SHARED_RWLOCK-1. Counted readers hold the lock while WRITE_PHASE is clear. It
 *     is set only while no reader is counted and WRITER is set. The first
 *     writer sets it, or the last reader to leave does so for that writer.
 * SHARED_RWLOCK-2. WRITE_PHASE is cleared by a writer that leaves while readers
 *     are counted, and by a counted reader while WRITER is clear.
 * SHARED_RWLOCK-3. A thread that changes WRITE_PHASE for others then writes it
 *     to `phase`. This is its last access to the object; it may still wake by
 *     the word's address. A reader that was counted before the change, or the
 *     first writer, first sees the new phase in `readers`, then in `phase`.
 *     Before that it does not go on. So no thread can destroy the object before
 *     the changing thread has written `phase`.
 * SHARED_RWLOCK-4. A thread stops waiting only if it can undo its count in one
 *     step. A reader can while WRITE_PHASE is set, a first writer while it is
 *     clear. If the thread cannot, the lock is about to be handed to it, and it
 *     waits without a deadline.
 * SHARED_RWLOCK-5. `first` is 1 while writers may sleep until they become the
 *     first, and 0 before WRITER is passed on. An unlock wakes one of them.
 *     Once that one is the first, it sets SLEPT_ON again, since more may sleep.
 * SHARED_RWLOCK-6. If writers go first, `writers` counts those that wait to be
 *     the first. A writer that leaves sets HANDED_OVER there and keeps WRITER
 *     set. One of the counted writers clears HANDED_OVER and is the first. So
 *     the last of them may not stop waiting while it is set.
 * SHARED_RWLOCK-7. If readers do not lock recursively either, a new reader lets
 *     a waiting first writer pass. It sets READERS_WAIT and sleeps on
 *     `readers`, uncounted. The thread that ends this state clears the bit and
 *     wakes all.
 * SHARED_RWLOCK-8. Threads of two processes may have the same number. So a
 *     writer stores its process id and number in one step, while it holds the
 *     lock, in a field that libc does not use.
 */
#include "shared/rwlock.h"

#include "libc/fields.h"
#include "libc/real.h"
#include "sched/yield.h"
#include "shared/word.h"
#include "sync/owner.h"
#include "wait/sleep.h"

/* Bits of words.readers; the rest is the number of readers. */
enum {
	WRITE_PHASE = 1 << 0,
	WRITER = 1 << 1,
	READERS_WAIT = 1 << 2,
	ONE_READER = 1 << 3,
};
#define TOO_MANY_READERS (1U << 31)

#define HANDED_OVER (1U << 31) /* bit of words.writers */

/*
 * A bit of words.phase beside WRITE_PHASE, and of words.first beside 1: a
 * thread may sleep on the word.
 */
enum { SLEPT_ON = 1 << 1 };

static struct wf_libc_rwlock *words_of(pthread_rwlock_t *rwlock)
{
	return (struct wf_libc_rwlock *)rwlock;
}

static bool writers_go_first(const pthread_rwlock_t *rwlock)
{
	return rwlock->libc_flags != PTHREAD_RWLOCK_PREFER_READER_NP;
}

static uint64_t as_writer(uint32_t number)
{
	return (uint64_t)wf_os_getpid() << 32 | number;
}

/* True if the caller holds the lock as the writer. SHARED_RWLOCK-8 */
static bool is_writer(struct wf_libc_rwlock *l)
{
	uint32_t me = wf_owner_self();

	return wf_load_relaxed(&l->owner) == me &&
	       wf_load_relaxed(&l->writer) == as_writer(me);
}

static void note_writer(struct wf_libc_rwlock *l)
{
	uint32_t me = wf_owner_self();

	wf_store_relaxed(&l->writer, as_writer(me));
	wf_store_relaxed(&l->owner, me);
}

/*
 * Waits until the caller may go on in `phase` (0 or WRITE_PHASE) by
 * SHARED_RWLOCK-3. Returns false if the deadline has passed. Then the caller
 * must try to undo its count (SHARED_RWLOCK-4).
 */
static bool await_phase(struct wf_libc_rwlock *l, uint32_t phase,
			int64_t deadline_ns)
{
	uint32_t other = phase ^ WRITE_PHASE, sleep_on = other | SLEPT_ON;
	bool has_changed = false;
	uint32_t seen;

	for (;;) {
		while ((seen = wf_load_relaxed(&l->phase)) == other ||
		       seen == sleep_on) {
			if (seen == other &&
			    !wf_cas_acq_rel(&l->phase, &seen, sleep_on))
				continue;
			if (wf_shared_word_wait(&l->phase, sleep_on,
						deadline_ns) < 0)
				return false;
		}
		if (has_changed)
			return true;
		/*
		 * acquire: pairs with the release of the thread that changed
		 * WRITE_PHASE. The next read of `phase` finds its value at that
		 * change, or a later one.
		 */
		has_changed = (wf_load_acquire(&l->readers) & WRITE_PHASE) ==
			      phase;
	}
}

/* --- readers -------------------------------------------------------------- */

/*
 * Waits, as a new reader, until the first writer has left (SHARED_RWLOCK-7).
 * Returns false if the deadline has passed.
 */
static bool let_writer_pass(struct wf_libc_rwlock *l, int64_t deadline_ns)
{
	uint32_t seen = wf_load_relaxed(&l->readers);

	while ((seen & (WRITE_PHASE | WRITER)) == WRITER &&
	       seen >= ONE_READER) {
		if (!wf_cas_acq_rel(&l->readers, &seen, seen | READERS_WAIT))
			continue;
		while ((seen = wf_load_relaxed(&l->readers)) & READERS_WAIT) {
			if (wf_shared_word_wait(&l->readers, seen,
						deadline_ns) < 0)
				return false;
		}
	}
	return true;
}

/*
 * Undoes the count of a reader. Returns false if that is not possible: the lock
 * is about to be handed to it. SHARED_RWLOCK-4
 */
static bool stop_reading(struct wf_libc_rwlock *l)
{
	uint32_t seen = wf_load_relaxed(&l->readers);

	while (seen & WRITE_PHASE) {
		if (wf_cas_acq_rel(&l->readers, &seen, seen - ONE_READER))
			return true;
	}
	return false;
}

static int read_locked(struct wf_libc_rwlock *l, uint32_t seen,
		       int64_t deadline_ns)
{
	/* SHARED_RWLOCK-2: a counted reader clears WRITE_PHASE. */
	while ((seen & (WRITE_PHASE | WRITER)) == WRITE_PHASE) {
		/* acquire: pairs with the release of the last writer. */
		if (!wf_cas_acq_rel(&l->readers, &seen, seen ^ WRITE_PHASE))
			continue;
		if (atomic_exchange(&l->phase, 0) & SLEPT_ON)
			wf_shared_word_wake(&l->phase, INT_MAX);
		return 0;
	}
	while (!await_phase(l, 0, deadline_ns)) {
		if (stop_reading(l))
			return ETIMEDOUT;
		/* SHARED_RWLOCK-4: it gets the lock */
		deadline_ns = WF_FOREVER;
	}
	return 0;
}

int wf_shared_rwlock_rdlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime)
{
	struct wf_libc_rwlock *l = words_of(rwlock);
	int64_t deadline_ns;
	uint32_t seen;

	if (wf_deadline_from_abs(clock, abstime, &deadline_ns) != 0)
		return EINVAL;
	if (is_writer(l))
		return EDEADLK;
	if (rwlock->libc_flags ==
		    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP &&
	    !let_writer_pass(l, deadline_ns))
		return ETIMEDOUT;
	/* acquire: pairs with the release of the last writer. */
	seen = atomic_fetch_add(&l->readers, ONE_READER) + ONE_READER;
	while (WF_UNLIKELY(seen >= TOO_MANY_READERS)) {
		if (wf_cas_acq_rel(&l->readers, &seen, seen - ONE_READER))
			return EAGAIN;
	}
	if ((seen & WRITE_PHASE) == 0)
		return 0; /* SHARED_RWLOCK-1: it holds the lock */
	return read_locked(l, seen, deadline_ns);
}

/* --- writers -------------------------------------------------------------- */

/*
 * Sleeps until the first writer leaves (SHARED_RWLOCK-5). Returns 0, also
 * without having slept, or -ETIMEDOUT.
 */
static int sleep_for_first(struct wf_libc_rwlock *l, int64_t deadline_ns,
			   bool *ret_slept)
{
	uint32_t seen = wf_load_relaxed(&l->first);

	if (seen != (1 | SLEPT_ON) &&
	    (seen != 1 || !wf_cas_acq_rel(&l->first, &seen, 1 | SLEPT_ON))) {
		/* A writer that is about to become the first, or to leave, may
		 * need this VP. */
		wf_sched_yield();
		return 0;
	}
	*ret_slept = true;
	return wf_shared_word_wait(&l->first, 1 | SLEPT_ON, deadline_ns);
}

/*
 * Takes the role of the first writer if it was handed over. Returns true if the
 * caller has it now. SHARED_RWLOCK-6
 */
static bool take_over(struct wf_libc_rwlock *l)
{
	uint32_t writers = wf_load_relaxed(&l->writers);

	while (writers & HANDED_OVER) {
		/* acquire: pairs with the release in stop_writing() and in
		 * libc's unlock. */
		if (wf_cas_acq_rel(&l->writers, &writers,
				   writers - HANDED_OVER - 1))
			return true;
	}
	return false;
}

/*
 * Undoes the count of a waiting writer. Returns false if the caller has become
 * the first writer. SHARED_RWLOCK-6
 */
static bool stop_waiting_for_first(struct wf_libc_rwlock *l)
{
	uint32_t writers = wf_load_relaxed(&l->writers);

	while (!wf_cas_acq_rel(&l->writers, &writers,
			       writers == HANDED_OVER + 1 ? 0 : writers - 1))
		;
	return writers != HANDED_OVER + 1;
}

/* Waits until the caller is the first writer. Returns 0 or -ETIMEDOUT. */
static int become_first(struct wf_libc_rwlock *l, bool in_order,
			int64_t deadline_ns, uint32_t *ret_readers)
{
	/*
	 * acquire, here and below: pairs with the release of the previous
	 * first writer. Its store to `first` comes before the caller's.
	 */
	uint32_t seen = atomic_fetch_or(&l->readers, WRITER);
	bool has_slept = false;
	int rc;

	if (WF_LIKELY((seen & WRITER) == 0))
		goto first;
	if (in_order)
		atomic_fetch_add(&l->writers, 1);
	for (;;) {
		if ((seen & WRITER) == 0) {
			if (!wf_cas_acq_rel(&l->readers, &seen, seen | WRITER))
				continue;
			if (in_order)
				atomic_fetch_sub(&l->writers, 1);
			break;
		}
		if (in_order && take_over(l)) {
			seen = wf_load_relaxed(&l->readers);
			break;
		}
		rc = sleep_for_first(l, deadline_ns, &has_slept);
		if (rc < 0 && (!in_order || stop_waiting_for_first(l)))
			return rc;
		seen = wf_load_relaxed(&l->readers);
		if (rc < 0)
			break;
	}
first:
	/* SHARED_RWLOCK-5: more writers may sleep. */
	wf_store_relaxed(&l->first, has_slept ? 1 | SLEPT_ON : 1);
	*ret_readers = seen | WRITER;
	return 0;
}

/*
 * Called when the first writer stops waiting: another writer becomes the first,
 * or none is. Returns false if the lock has been handed to the caller.
 * SHARED_RWLOCK-4 to SHARED_RWLOCK-6
 */
static bool stop_writing(struct wf_libc_rwlock *l, bool in_order)
{
	/* Writers that sleep are woken below, once another one may be the
	 * first. */
	bool wakes = (atomic_exchange(&l->first, 0) & SLEPT_ON) != 0;
	uint32_t writers = in_order ? wf_load_relaxed(&l->writers) : 0;
	uint32_t seen = 0;
	bool is_over = false;

	/* release: pairs with the acquire in take_over(). */
	while (writers != 0 && !is_over)
		is_over = wf_cas_acq_rel(&l->writers, &writers,
					 writers | HANDED_OVER);
	if (!is_over)
		seen = wf_load_relaxed(&l->readers);
	/* release: pairs with the acquire in become_first() of the next
	 * writer. */
	while ((seen & WRITE_PHASE) == 0 && !is_over)
		is_over = wf_cas_acq_rel(&l->readers, &seen,
					 seen & ~(uint32_t)(WRITER |
							    READERS_WAIT));
	if (!is_over) {
		wf_store_relaxed(&l->first, wakes ? 1 | SLEPT_ON : 1);
		return false;
	}
	if (wakes)
		wf_shared_word_wake(&l->first, 1);
	if (seen & READERS_WAIT)
		/* SHARED_RWLOCK-7: new readers */
		wf_shared_word_wake(&l->readers, INT_MAX);
	return true;
}

/*
 * Waits, as the first writer, until the caller holds the lock. SHARED_RWLOCK-1,
 * SHARED_RWLOCK-3
 */
static int begin_writing(struct wf_libc_rwlock *l, uint32_t seen, bool in_order,
			 int64_t deadline_ns)
{
	if (seen & WRITE_PHASE)
		return 0;
	while (seen < ONE_READER && (seen & WRITE_PHASE) == 0) {
		/* acquire: pairs with the release of the last readers. */
		if (wf_cas_acq_rel(&l->readers, &seen, seen | WRITE_PHASE)) {
			wf_store_relaxed(&l->phase, WRITE_PHASE);
			return 0;
		}
	}
	while (!await_phase(l, WRITE_PHASE, deadline_ns)) {
		if (stop_writing(l, in_order))
			return ETIMEDOUT;
		/* SHARED_RWLOCK-4: it gets the lock */
		deadline_ns = WF_FOREVER;
	}
	return 0;
}

int wf_shared_rwlock_wrlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime)
{
	struct wf_libc_rwlock *l = words_of(rwlock);
	bool in_order = writers_go_first(rwlock);
	int64_t deadline_ns;
	uint32_t seen;
	int rc;

	if (wf_deadline_from_abs(clock, abstime, &deadline_ns) != 0)
		return EINVAL;
	if (is_writer(l))
		return EDEADLK;
	if (become_first(l, in_order, deadline_ns, &seen) != 0)
		return ETIMEDOUT;
	rc = begin_writing(l, seen, in_order, deadline_ns);
	if (rc == 0)
		note_writer(l);
	return rc;
}

int wf_shared_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
	int rc = wf_real.pthread_rwlock_trywrlock(rwlock);

	if (rc == 0)
		note_writer(words_of(rwlock));
	return rc;
}

int wf_shared_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	struct wf_libc_rwlock *l = words_of(rwlock);

	if (is_writer(l))
		wf_store_relaxed(&l->writer, 0);
	return wf_real.pthread_rwlock_unlock(rwlock);
}
