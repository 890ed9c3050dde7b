/* SPDX-License-Identifier: MIT */
/*
 * libc's words. `readers` is the lock: three bits below the number of readers
 * that hold it or wait for it. WRITER says that there is a first writer; it
 * holds the lock if WRITE_PHASE is set, too. Threads wait on words beside it.
 *
 * SHARED_RWLOCK-1. Readers that are counted hold the lock while WRITE_PHASE is
 *     not set. It is set only when none is counted and there is a first writer:
 *     by that writer, or for it by the last reader to leave.
 * SHARED_RWLOCK-2. It is taken away by a writer that leaves while readers are
 *     counted, and by a counted reader while there is no WRITER.
 * SHARED_RWLOCK-3. Who changes WRITE_PHASE for others then writes it to
 *     `phase`, as the last thing it does to the object apart from waking. Who
 *     was counted, or is first writer, before the change goes on only when it
 *     has seen both: the phase in `readers`, and after that `phase`. So nobody
 *     who changes the phase finds the object destroyed.
 * SHARED_RWLOCK-4. A wait is given up only by undoing, in one step, what
 *     SHARED_RWLOCK-1 counts: a reader while WRITE_PHASE is set, a first writer
 *     while it is not. If that fails the lock is as good as handed over, and it
 *     is waited for.
 * SHARED_RWLOCK-5. `first` is 1 while writers may sleep for the place of the
 *     first writer, and 0 before WRITER is given away. One is woken, and keeps
 *     SLEPT_ON there once it is first, for there may be others.
 * SHARED_RWLOCK-6. If writers go first, those that wait for that place are
 *     counted in `writers`. A writer that leaves sets HANDED_OVER there instead
 *     of giving WRITER away; one of the counted takes it and is first. So the
 *     last of them may not stop waiting while it is set.
 * SHARED_RWLOCK-7. If readers do not lock twice either, a reader that finds a
 *     first writer waiting for other readers sets READERS_WAIT and sleeps on
 *     `readers`, uncounted. Whoever ends this state takes the bit away and
 *     wakes all.
 * SHARED_RWLOCK-8. Threads of two processes may have the same number: a
 *     writer's process and number are noted in one step, while it holds the
 *     lock, in a field that libc does not use.
 *
 * Unlocking is libc's: only the writer can find its number in the lock that it
 * holds.
 */
#include "api/shared_rwlock.h"

#include <stddef.h>

#include "api/shared_word.h"
#include "libc/real.h"
#include "sched/yield.h"
#include "sync/owner.h"
#include "wait/sleep.h"

/* words.readers */
enum {
	WRITE_PHASE = 1 << 0,
	WRITER = 1 << 1,
	READERS_WAIT = 1 << 2,
	ONE_READER = 1 << 3,
};
#define TOO_MANY_READERS (1U << 31)

#define HANDED_OVER (1U << 31) /* words.writers */

/* words.phase, beside WRITE_PHASE, and words.first, beside 1 */
enum { SLEPT_ON = 1 << 1 };

struct words {
	_Atomic uint32_t readers, writers, phase, first;
	_Atomic uint64_t writer; /* SHARED_RWLOCK-8 */
	_Atomic uint32_t owner;	 /* a writer's number */
};

#define SAME_PLACE(ours, libcs)                                          \
	_Static_assert(offsetof(struct words, ours) ==                   \
			       offsetof(pthread_rwlock_t, __data.libcs), \
		       "the words are where libc has them")
SAME_PLACE(readers, __readers);
SAME_PLACE(writers, __writers);
SAME_PLACE(phase, __wrphase_futex);
SAME_PLACE(first, __writers_futex);
SAME_PLACE(writer, __pad3);
SAME_PLACE(owner, __cur_writer);

static struct words *words_of(pthread_rwlock_t *rwlock)
{
	return (struct words *)rwlock;
}

static bool writers_go_first(const pthread_rwlock_t *rwlock)
{
	return rwlock->__data.__flags != PTHREAD_RWLOCK_PREFER_READER_NP;
}

static uint64_t as_writer(uint32_t number)
{
	return (uint64_t)wf_os_getpid() << 32 | number;
}

/* SHARED_RWLOCK-8 */
static bool is_writer(struct words *l)
{
	uint32_t me = wf_owner_self();

	return wf_load_relaxed(&l->owner) == me &&
	       wf_load_relaxed(&l->writer) == as_writer(me);
}

static void note_writer(struct words *l)
{
	uint32_t me = wf_owner_self();

	wf_store_relaxed(&l->writer, as_writer(me));
	wf_store_relaxed(&l->owner, me);
}

/*
 * Until SHARED_RWLOCK-3 allows to go on in `phase` (0 or WRITE_PHASE). False:
 * the time is up, which SHARED_RWLOCK-4 may still forbid.
 */
static bool await_phase(struct words *l, uint32_t phase, int64_t deadline_ns)
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
		/* acquire: pairs with the release of who changed the phase,
		 * and shows what `phase` was before that. */
		has_changed = (wf_load_acquire(&l->readers) & WRITE_PHASE) ==
			      phase;
	}
}

/* --- readers -------------------------------------------------------------- */

/* SHARED_RWLOCK-7. False: the time is up. */
static bool let_writer_pass(struct words *l, int64_t deadline_ns)
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

/* SHARED_RWLOCK-4 */
static bool stop_reading(struct words *l)
{
	uint32_t seen = wf_load_relaxed(&l->readers);

	while (seen & WRITE_PHASE) {
		if (wf_cas_acq_rel(&l->readers, &seen, seen - ONE_READER))
			return true;
	}
	return false;
}

static int read_locked(struct words *l, uint32_t seen, int64_t deadline_ns)
{
	/* SHARED_RWLOCK-2 */
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
		deadline_ns = WF_FOREVER; /* SHARED_RWLOCK-4 */
	}
	return 0;
}

int wf_shared_rwlock_rdlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime)
{
	struct words *l = words_of(rwlock);
	int64_t deadline_ns;
	uint32_t seen;

	if (wf_deadline_from_abs(clock, abstime, &deadline_ns) != 0)
		return EINVAL;
	if (is_writer(l))
		return EDEADLK;
	if (rwlock->__data.__flags ==
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
		return 0; /* SHARED_RWLOCK-1 */
	return read_locked(l, seen, deadline_ns);
}

/* --- writers -------------------------------------------------------------- */

/* SHARED_RWLOCK-5. Also ends when another cannot be slept for. */
static int sleep_for_first(struct words *l, int64_t deadline_ns,
			   bool *ret_slept)
{
	uint32_t seen = wf_load_relaxed(&l->first);

	if (seen != (1 | SLEPT_ON) &&
	    (seen != 1 || !wf_cas_acq_rel(&l->first, &seen, 1 | SLEPT_ON))) {
		/* The first writer is just coming or going, and may need
		 * this VP for it. */
		wf_sched_yield();
		return 0;
	}
	*ret_slept = true;
	return wf_shared_word_wait(&l->first, 1 | SLEPT_ON, deadline_ns);
}

/* SHARED_RWLOCK-6: what was handed over becomes the caller's. */
static bool take_over(struct words *l)
{
	uint32_t writers = wf_load_relaxed(&l->writers);

	while (writers & HANDED_OVER) {
		/* acquire: pairs with the release of who handed over. */
		if (wf_cas_acq_rel(&l->writers, &writers,
				   writers - HANDED_OVER - 1))
			return true;
	}
	return false;
}

/* SHARED_RWLOCK-6. False: the caller is the first writer, after all. */
static bool stop_waiting_for_first(struct words *l)
{
	uint32_t writers = wf_load_relaxed(&l->writers);

	while (!wf_cas_acq_rel(&l->writers, &writers,
			       writers == HANDED_OVER + 1 ? 0 : writers - 1))
		;
	return writers != HANDED_OVER + 1;
}

/* Until the caller is the first writer: 0 or -ETIMEDOUT. */
static int become_first(struct words *l, bool in_order, int64_t deadline_ns,
			uint32_t *ret_readers)
{
	/* acquire, here and below: pairs with the release of the last first
	 * writer, whose store to `first` comes before ours. */
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
	/* SHARED_RWLOCK-5 */
	wf_store_relaxed(&l->first, has_slept ? 1 | SLEPT_ON : 1);
	*ret_readers = seen | WRITER;
	return 0;
}

/*
 * SHARED_RWLOCK-4, SHARED_RWLOCK-5, SHARED_RWLOCK-6: somebody else may be
 * first, or nobody.
 */
static bool stop_writing(struct words *l, bool in_order)
{
	/* Those that sleep are woken when the place has been given away. */
	bool wakes = (atomic_exchange(&l->first, 0) & SLEPT_ON) != 0;
	uint32_t writers = in_order ? wf_load_relaxed(&l->writers) : 0;
	uint32_t seen = 0;
	bool is_over = false;

	while (writers != 0 && !is_over) /* release: take_over() */
		is_over = wf_cas_acq_rel(&l->writers, &writers,
					 writers | HANDED_OVER);
	if (!is_over)
		seen = wf_load_relaxed(&l->readers);
	while ((seen & WRITE_PHASE) == 0 && !is_over) /* release: next first */
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
		wf_shared_word_wake(&l->readers, INT_MAX); /* SHARED_RWLOCK-7 */
	return true;
}

/* The caller is first. SHARED_RWLOCK-1, SHARED_RWLOCK-3 */
static int begin_writing(struct words *l, uint32_t seen, bool in_order,
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
		deadline_ns = WF_FOREVER; /* SHARED_RWLOCK-4 */
	}
	return 0;
}

int wf_shared_rwlock_wrlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime)
{
	struct words *l = words_of(rwlock);
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
	struct words *l = words_of(rwlock);

	if (is_writer(l))
		wf_store_relaxed(&l->writer, 0);
	return wf_real.pthread_rwlock_unlock(rwlock);
}
